"""The labels that mark what is ours. The reaper goes by nothing else."""

from __future__ import annotations

MANAGED_BY = "parsimony.dev/managed-by"
RUN = "parsimony.dev/run"
EXECUTION = "parsimony.dev/execution"
ATTEMPT = "parsimony.dev/attempt"
DRIVER = "parsimony.dev/driver"
EXPIRES = "parsimony.dev/expires-at"

OURS = "parsimony"
