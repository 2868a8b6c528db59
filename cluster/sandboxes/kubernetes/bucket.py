"""A token bucket: so many calls at once, so many a second in the long run."""

from __future__ import annotations

import threading
import time
from typing import Final

from cluster.sandboxes.workers import Aborted

_LOOK_S: Final = 0.25


class Bucket:
    """Shared by threads.

    Args:
        rate: tokens a second.
        burst: tokens that a rest may save up.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(max(1, burst))
        self._tokens = self._burst
        self._at = time.monotonic()
        self._lock = threading.Lock()

    def take(self, aborted: threading.Event | None = None) -> None:
        """Wait for a token and take it.

        Raises:
            Aborted: `aborted` was set meanwhile.
        """
        wait = self._reserve()
        give_up = time.monotonic() + wait
        while (left := give_up - time.monotonic()) > 0:
            if aborted is not None and aborted.wait(min(left, _LOOK_S)):
                raise Aborted
            if aborted is None:
                time.sleep(left)

    def pause(self, seconds: float) -> None:
        """Nobody gets a token for so long: the server asked for it."""
        with self._lock:
            self._refill()
            self._tokens = min(self._tokens, -seconds * self._rate)

    def _reserve(self) -> float:
        """Seconds until the token that is taken now is there."""
        with self._lock:
            self._refill()
            self._tokens -= 1
            return max(0.0, -self._tokens / self._rate)

    def _refill(self) -> None:
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
