"""The `kubernetes` sandbox: every execution in a pod of its own, run to completion (docs/sandboxes.md, decision 0013).

Only `api` knows the client. What a pod is made of is in `pod`, what its events mean in `faults`, its life in `run`;
`inpod` is what runs inside it, beside the candidate.
"""
