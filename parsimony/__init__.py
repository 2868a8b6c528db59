"""Parsimony: executed evidence on whether a coding system really got better.

`parsimony` is the instrument: it is deterministic and, in its scoring path, touches no network, no container engine
and no learned model. `cluster` runs the instrument at scale.
"""

__version__ = "0.1.0"
