"""One bucket a caller."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from ratelimit.bucket import TokenBucket


class Keeper:
    """Gives each caller a bucket of its own."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._make = lambda: TokenBucket(rate, burst, clock)
        self._buckets: dict[Hashable, TokenBucket] = {}

    def allow(self, caller: Hashable) -> bool:
        """Whether `caller` may go on now."""
        return self._buckets.setdefault(caller, self._make()).take()
