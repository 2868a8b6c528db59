"""How sure sums of payouts are: a bootstrap over clusters of tasks, the same draws for every sum."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from parsimony.statistics import Interval
from parsimony.statistics.clusters import cluster_sums
from parsimony.statistics.summaries import student_quantile

LEVEL: Final = 0.95
_FEWEST: Final = 1.5
"""Effective clusters that the correction for few of them is made for at least: at 1 it has no end."""


def effective_number(payouts: Sequence[int], clusters: Sequence[Hashable]) -> float:
    """How many clusters of equal pay would tell as much: (sum)² over the sum of squares of their pay (Kish 1965).

    Returns 0 where nothing pays.
    """
    sums = cluster_sums(map(float, payouts), clusters).values()
    squares = math.fsum(one**2 for one in sums)
    return math.fsum(sums) ** 2 / squares if squares else 0.0


def intervals(
    columns: Sequence[Sequence[Fraction]],
    payouts: Sequence[int],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    seed: int,
) -> list[Interval | None]:
    """95 % intervals of the sums of some columns over tasks.

    Clusters are drawn with replacement. A draw's sum is taken as a share of what its tasks pay, times what all tasks
    pay: the ratio estimator, so that a draw of dear tasks is not taken for a better arm. The percentiles are those of
    the expanded interval (Hesterberg 2015, arXiv:1411.5279), for the effective number of clusters: plain percentiles
    are too narrow when clusters are few or one of them pays a large part (docs/value.md has the coverage of both).

    Args:
        columns: micro-dollars per task. payouts: micro-dollars that each task pays.
        clusters: what each task belongs to. draws: 0 = no intervals.

    Returns:
        One per column; None with fewer than two clusters that pay anything, and where all of them agree (nothing or
        everything was earned): the draws would then show a certainty that is not there.
    """
    import numpy as np  # noqa: PLC0415 - slow to load

    from parsimony.resampling import weighted_mean_draws  # noqa: PLC0415 - loads numpy

    names = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    place = np.array([names[name] for name in clusters], dtype=np.int64)
    weights = np.bincount(place, np.array(payouts, dtype=np.float64), len(names))
    paying = weights > 0
    if draws < 1 or paying.sum() < 2:
        return [None] * len(columns)
    sums = [np.bincount(place, np.array([float(one) for one in column]), len(names)) for column in columns]
    shares = np.stack([some[paying] / weights[paying] for some in sums], axis=1)
    drawn = weighted_mean_draws(shares, np.repeat(weights[paying, None], len(columns), axis=1), draws, seed)
    tail = _tail(effective_number(payouts, clusters))
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    whole = float(sum(payouts))
    flat = np.ptp(shares, axis=0) == 0
    return [
        None if flat[number] else (float(low[number]) * whole, float(high[number]) * whole)
        for number in range(len(columns))
    ]


def _tail(clusters: float) -> float:
    """The share of draws to leave out at each end, for an effective number of clusters."""
    n = max(_FEWEST, clusters)
    reach = math.sqrt(n / (n - 1)) * student_quantile((1 + LEVEL) / 2, n - 1)
    return NormalDist().cdf(-reach)
