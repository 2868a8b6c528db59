"""Values by labels, bounded: the arms of a sweep are texts that people write."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cluster.metrics.series import LABEL_VALUES, OTHER

BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
"""Upper bounds in seconds: from the creation of a container to a suite that takes half an hour."""


class Bounded:
    """The values of one label: the first `limit` as they are, all others `OTHER`.

    A value that has its name keeps it, so that no series changes its meaning.
    """

    def __init__(self, limit: int = LABEL_VALUES) -> None:
        self._limit = limit
        self._known: dict[str, None] = {}

    def __call__(self, value: str | None) -> str:
        """The value to export."""
        text = value or "none"
        if text in self._known:
            return text
        if len(self._known) >= self._limit:
            return OTHER
        self._known[text] = None
        return text


@dataclass(slots=True)
class Histogram:
    """Counts by bucket (not cumulative; the last is above all bounds), and the sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """One more observation."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """(upper bound, observations up to it), as Prometheus has it."""
        found, count = [], 0
        for bound, own in zip([*map(str, BUCKETS), "+Inf"], self.counts, strict=True):
            count += own
            found.append((bound, float(count)))
        return found


Labels = tuple[str, ...]
Value = float | Histogram
Values = Mapping[str, Mapping[Labels, Value]]
"""Name of a series -> its label values -> what it stands at. A series without values is not exported."""
