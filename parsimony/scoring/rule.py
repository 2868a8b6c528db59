"""The rule `parsimony-80-20-v0.5`: what one attempt is worth beside the frozen successes of its task.

A success is placed among the references by percentile, in net units and in churn, and the two are blended 80 to 20. A
known failure costs a bounded share of 25 points for the code it would have left behind, and deletion earns it nothing.
Even the largest success is worth more (1) than the best failure (0).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

SCORE_VERSION: Final = "parsimony-80-20-v0.5"
NET_WEIGHT: Final = 0.8
CHURN_WEIGHT: Final = 0.2
FAILURE_CAP: Final = 25

SOLVED_BOUNDS: Final = (1, 100)
FAILED_BOUNDS: Final = (-FAILURE_CAP, 0)
UNKNOWN_BOUNDS: Final = (-FAILURE_CAP, 100)
"""Ends of what an attempt can be worth whose outcome is known to be a success, a failure, or not known."""


def percentile(value: int, ordered: Sequence[int]) -> float:
    """Share of references with a larger value, those with an equal one counted half. Small is good: 1 beats all.

    Args:
        ordered: the references' values in ascending order, at least one.
    """
    at, behind = bisect_left(ordered, value), bisect_right(ordered, value)
    return ((len(ordered) - behind) + 0.5 * (behind - at)) / len(ordered)


@dataclass(frozen=True, slots=True)
class Scale:
    """What one task's references make of a footprint.

    Attributes:
        nets, churns: of the references, ascending, in units.
        failure_scale: the churn at which half of a failure's churn burden is reached.
    """

    nets: tuple[int, ...]
    churns: tuple[int, ...]
    failure_scale: float

    @classmethod
    def of(cls, footprints: Sequence[tuple[int, int]], *, net_floor: int | None = None) -> Scale:
        """The scale of references with these (net, churn), of which there is one at least.

        Args:
            net_floor: net units below it count as it, here and for what is measured with the scale.
        """
        nets = sorted(floored(net, net_floor) for net, _ in footprints)
        churns = sorted(churn for _, churn in footprints)
        return cls(tuple(nets), tuple(churns), max(1, median(churns)))

    def percentiles(self, net: int, churn: int) -> tuple[float, float]:
        """Those of net units and of churn, each 0 to 1."""
        return percentile(net, self.nets), percentile(churn, self.churns)

    def burdens(self, net: int, churn: int) -> tuple[float, float]:
        """The burden of growth and that of churn, each 0 to below 1."""
        growth = max(net, 0)
        return growth / (self.failure_scale + growth), churn / (self.failure_scale + churn)


def floored(net: int, floor: int | None) -> int:
    """Net units, not below the floor where there is one."""
    return net if floor is None else max(net, floor)


def blend(net_part: float, churn_part: float) -> float:
    """Both parts by their weights."""
    return NET_WEIGHT * net_part + CHURN_WEIGHT * churn_part


def success_score(footprint_percentile: float) -> float:
    """1 to 100."""
    return 1 + 99 * footprint_percentile


def failure_score(burden: float) -> float:
    """-25 to 0."""
    return -FAILURE_CAP * burden
