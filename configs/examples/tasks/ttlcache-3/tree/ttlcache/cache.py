"""The cache: least recently used goes first, too old goes at once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from typing import Any


class TTLCache(MutableMapping):
    """At most `size` entries, none older than `ttl` seconds by `clock`."""

    def __init__(self, size: int, ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        if size < 1 or ttl <= 0:
            raise ValueError("size and ttl must be positive")
        self.size, self.ttl, self.evicted = size, ttl, 0
        self._clock = clock
        self._entries: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def __setitem__(self, key: Hashable, value: Any) -> None:
        self._entries.pop(key, None)
        while len(self._entries) >= self.size:
            self._entries.popitem(last=False)
            self.evicted += 1
        self._entries[key] = (self._clock() + self.ttl, value)

    def __getitem__(self, key: Hashable) -> Any:
        expires, value = self._entries[key]
        if expires <= self._clock():
            del self._entries[key]
            raise KeyError(key)
        self._entries.move_to_end(key)
        return value

    def __delitem__(self, key: Hashable) -> None:
        del self._entries[key]

    def __iter__(self) -> Iterator[Hashable]:
        now = self._clock()
        return iter([key for key, (expires, _) in self._entries.items() if expires > now])

    def __len__(self) -> int:
        return sum(1 for _ in self)
