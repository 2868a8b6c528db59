"""The processors of a machine, given to executions while they run: `limits.cpus` is what one reserves.

More executions at once than processors would stretch each other's time, and a time limit would then say more about the
neighbours than about the candidate (decision 0011). Those that wait do so before their clock starts.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cluster.sandboxes.workers import Aborted

PREPARED_PER_RUNNING: Final = 2
"""Executions that are made ready for each that runs, so that a free processor never waits for the engine."""

_LOOK_S: Final = 0.25
"""Seconds between two looks at whether a waiting execution was called off."""


class Processors:
    """Reservations of one sandbox, first come, first served. Used by the threads of its executions.

    Args:
        total: processors of the machine. Who wants more gets them all.
    """

    def __init__(self, total: float) -> None:
        self._ready = _Turnstile(PREPARED_PER_RUNNING * total)
        self._running = _Turnstile(total)

    @contextmanager
    def prepared(self, cpus: float, aborted: threading.Event) -> Iterator[None]:
        """Held from the making of a sandbox to the end of its run: what is made ready waits at most one turn.

        Raises:
            Aborted: `aborted` was set while it waited.
        """
        with self._ready.passed(cpus, aborted):
            yield

    @contextmanager
    def running(self, cpus: float, aborted: threading.Event) -> Iterator[None]:
        """Held while it runs. Raises as `prepared`."""
        with self._running.passed(cpus, aborted):
            yield


class _Turnstile:
    """A weighted semaphore in the order of arrival, so that who wants much is not passed by for ever."""

    def __init__(self, total: float) -> None:
        self._total = self._free = total
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()

    @contextmanager
    def passed(self, weight: float, aborted: threading.Event) -> Iterator[None]:
        weight = min(weight, self._total)
        self._enter(weight, aborted)
        try:
            yield
        finally:
            with self._changed:
                self._free += weight
                self._changed.notify_all()

    def _enter(self, weight: float, aborted: threading.Event) -> None:
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                # The sums of fractions are not exact: a thousandth of a processor is nobody's.
                while self._queue[0] is not ticket or self._free < weight - 1e-3:
                    if aborted.is_set():
                        raise Aborted
                    self._changed.wait(_LOOK_S)
                self._free -= weight
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
