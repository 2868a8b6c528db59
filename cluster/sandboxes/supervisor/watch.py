"""Looking at a running tree often enough, and never for more than a twentieth of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from cluster.sandboxes.supervisor import tree
from cluster.sandboxes.supervisor.spec import Spec, Stop

MEMORY_EVERY_S: Final = 0.05
CPU_EVERY_S: Final = 1.0
DISK_EVERY_S: Final = 1.0
SHARE: Final = 20


class Watch:
    """Holds a process tree to its limits by looking at it.

    Args:
        spec: the limits.
        pids: the command's processes at this moment.
    """

    def __init__(self, spec: Spec, pids: Callable[[], Iterable[int]]) -> None:
        self._spec = spec
        self._pids = pids
        self.peak_memory_bytes = 0
        self._disk_before = tree.disk_bytes(spec.base)
        now = time.monotonic()
        self._looks: list[_Look] = [
            _Look(self._memory, MEMORY_EVERY_S, now),
            _Look(self._cpu, CPU_EVERY_S, now + CPU_EVERY_S),
            _Look(self._disk, DISK_EVERY_S, now + DISK_EVERY_S),
        ]

    @property
    def next_at(self) -> float:
        """When to look again, by the monotonic clock."""
        return min(look.due for look in self._looks)

    def breach(self) -> Stop | None:
        """Look at what is due; which limit is exceeded, if any."""
        for look in self._looks:
            if time.monotonic() >= look.due and (stop := look.take()) is not None:
                return stop
        return None

    def _memory(self) -> Stop | None:
        pids = list(self._pids())
        resident = tree.resident_bytes(pids)
        if resident > self.peak_memory_bytes:  # only then can the exact figure, which is dear, be a new high
            self.peak_memory_bytes = max(self.peak_memory_bytes, tree.proportional_bytes(pids))
        if self.peak_memory_bytes > self._spec.memory_bytes:
            return "memory"
        return "processes" if len(pids) > self._spec.pids else None

    def _cpu(self) -> Stop | None:
        return "cpu" if tree.cpu_seconds(self._pids()) > self._spec.cpu_s else None

    def _disk(self) -> Stop | None:
        written = tree.disk_bytes(self._spec.base) - self._disk_before
        return "disk" if written > self._spec.disk_bytes else None


class _Look:
    def __init__(self, take: Callable[[], Stop | None], every_s: float, first: float) -> None:
        self._take = take
        self._every_s = every_s
        self.due = first

    def take(self) -> Stop | None:
        began = time.monotonic()
        stop = self._take()
        ended = time.monotonic()
        self.due = ended + max(self._every_s, SHARE * (ended - began))
        return stop
