"""The interval set: sorted, half-open runs that neither overlap nor touch."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class IntervalSet:
    """A set of integers. Runs are half-open: (2, 5) holds 2, 3 and 4."""

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._runs: list[tuple[int, int]] = []
        for start, stop in runs:
            self.add(start, stop)

    def add(self, start: int, stop: int) -> None:
        """Put every integer of [start, stop) in, joining runs that overlap or touch."""
        _check(start, stop)
        first = bisect_left([run[1] for run in self._runs], start)
        after = bisect_right([run[0] for run in self._runs], stop)
        if first < after:
            start = min(start, self._runs[first][0])
            stop = max(stop, self._runs[after - 1][1])
        self._runs[first:after] = [(start, stop)]

    def remove(self, start: int, stop: int) -> None:
        """Take every integer of [start, stop) out."""
        _check(start, stop)
        kept = []
        for low, high in self._runs:
            if high <= start or stop <= low:
                kept.append((low, high))
            elif low < start:
                kept.append((low, start))
            elif stop < high:
                kept.append((stop, high))
        self._runs = kept

    def __contains__(self, number: int) -> bool:
        after = bisect_right([run[0] for run in self._runs], number)
        return after > 0 and number < self._runs[after - 1][1]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._runs)

    def __len__(self) -> int:
        return sum(high - low for low, high in self._runs)

    def __eq__(self, other: object) -> bool:
        return self._runs == other._runs if isinstance(other, IntervalSet) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: IntervalSet) -> IntervalSet:
        return IntervalSet([*self, *other])

    def __sub__(self, other: IntervalSet) -> IntervalSet:
        rest = IntervalSet(self)
        for low, high in other:
            rest.remove(low, high)
        return rest

    def __str__(self) -> str:
        return ", ".join(str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in self._runs)

    def __repr__(self) -> str:
        return f"IntervalSet({self._runs!r})"


def _check(start: int, stop: int) -> None:
    if start >= stop:
        raise ValueError(f"an empty run: [{start}, {stop})")
