"""The small program that stands between the `process` sandbox and a command: it starts it, watches it, ends it.

It runs in an interpreter of its own, with nothing but the standard library and no site packages, so that it costs
some 30 ms. See `main`.
"""
