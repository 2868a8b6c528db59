"""A map from keys to priorities that knows its smallest."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K")


class PriorityMap(Generic[K]):
    """Keys with priorities that may change; `first` is the key of the smallest.

    A heap with lazy deletion: entries that no longer say the truth are dropped when they come up, and all at once when
    they are the majority. Amortised O(log n) per operation. Priorities must be comparable; no two keys may have equal
    priorities unless the keys are comparable too.
    """

    __slots__ = ("_heap", "_priorities")

    def __init__(self) -> None:
        self._heap: list[tuple[Any, K]] = []
        self._priorities: dict[K, Any] = {}

    def __len__(self) -> int:
        return len(self._priorities)

    def __contains__(self, key: K) -> bool:
        return key in self._priorities

    def __iter__(self) -> Iterator[K]:
        return iter(self._priorities)

    def __getitem__(self, key: K) -> Any:
        return self._priorities[key]

    def set(self, key: K, priority: Any) -> None:
        """Put `key` in, or move it."""
        if self._priorities.get(key) == priority:
            return
        self._priorities[key] = priority
        heapq.heappush(self._heap, (priority, key))
        if len(self._heap) > 2 * len(self._priorities) + 64:
            self._heap = [(priority, key) for key, priority in self._priorities.items()]
            heapq.heapify(self._heap)

    def discard(self, key: K) -> None:
        """Take `key` out if it is in."""
        self._priorities.pop(key, None)

    def first(self) -> K | None:
        """The key with the smallest priority; None when the map is empty."""
        heap, priorities = self._heap, self._priorities
        while heap:
            priority, key = heap[0]
            if key in priorities and priorities[key] == priority:
                return key
            heapq.heappop(heap)
        return None

    def first_priority(self) -> Any:
        """The smallest priority; None when the map is empty."""
        return None if self.first() is None else self._heap[0][0]
