"""How long a job waits after a fault."""

from __future__ import annotations

import hashlib

from cluster.dispatch.model import Policy


def backoff(policy: Policy, key: str, attempt: int, faults: int, retry_after: float = 0.0) -> float:
    """Seconds to wait before the next attempt: exponential in `faults`, with jitter that only key and attempt decide.

    Args:
        key: of the job.
        attempt: the one that just failed.
        faults: how many temporary faults the job has met, this one included.
        retry_after: what the fault asked for; never undercut.
    """
    doublings = min(faults - 1, 30)
    wait = min(policy.backoff_seconds * 2.0**doublings, policy.backoff_limit_seconds)
    return max(wait, retry_after) * (1.0 + policy.jitter * _fraction(key, attempt))


def _fraction(key: str, attempt: int) -> float:
    """A number in [0, 1) that looks random and is always the same for the same attempt."""
    digest = hashlib.blake2b(f"{attempt} {key}".encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
