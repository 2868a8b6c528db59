"""Metrics of runs for Prometheus, read off the ledger: what it holds is what they say, also after a restart.

`series` is the catalogue of names; `totals` adds up rows; `folder` follows the folder of a run or of nights; and
`exposition` is all that knows the Prometheus client. docs/metrics.md is for people.
"""
