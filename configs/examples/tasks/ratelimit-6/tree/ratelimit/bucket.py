"""The token bucket."""

from __future__ import annotations

import time
from collections.abc import Callable


class TokenBucket:
    """Holds at most `burst` tokens and gets `rate` new ones a second; each permission costs tokens."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError("rate and burst must be positive")
        self.rate, self.burst = rate, burst
        self._clock = clock
        self._tokens = burst
        self._filled_at = clock()

    def take(self, tokens: int = 1) -> bool:
        """Take `tokens` if there are that many."""
        self._fill()
        if tokens > self._tokens:
            return False
        self._tokens -= tokens
        return True

    def wait_for(self, tokens: int = 1) -> float:
        """Seconds until `tokens` can be taken; 0 when they are there. Raises ValueError when they never will be."""
        if tokens > self.burst:
            raise ValueError(f"{tokens} tokens will never fit into a bucket of {self.burst}")
        self._fill()
        return max(0.0, (tokens - self._tokens) / self.rate)

    def _fill(self) -> None:
        now = self._clock()
        new = int((now - self._filled_at) * self.rate)
        self._tokens = min(self.burst, self._tokens + new)
        self._filled_at = now
