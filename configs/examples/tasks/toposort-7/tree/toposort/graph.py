"""Who needs whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class CycleError(ValueError):
    """Things that need each other. `cycle` starts and ends with the same one."""

    def __init__(self, cycle: list[str]) -> None:
        self.cycle = cycle
        super().__init__("a cycle: " + " -> ".join(cycle))


class Graph:
    """Names and the names they need, in the order of their first mention."""

    def __init__(self, needs: Mapping[str, Iterable[str]]) -> None:
        self.needs: dict[str, list[str]] = {}
        for name, needed in needs.items():
            mine = self.needs.setdefault(name, [])
            for other in needed:
                self.needs.setdefault(other, [])
                mine.append(other)

    def __iter__(self):
        return iter(self.needs)

    def __len__(self) -> int:
        return len(self.needs)
