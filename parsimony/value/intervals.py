"""How sure sums of payouts are: a bootstrap over clusters of tasks, the same draws for every sum."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from parsimony.statistics import Interval


def intervals(
    columns: Sequence[Sequence[Fraction]],
    payouts: Sequence[int],
    clusters: Sequence[Hashable],
    *,
    draws: int,
    seed: int,
) -> list[Interval | None]:
    """95 % percentile intervals of the sums of some columns over tasks (Efron and Tibshirani 1993, chapter 13).

    Clusters are drawn with replacement. A draw's sum is taken as a share of what its tasks pay, times what all tasks
    pay: the ratio estimator, so that a draw of dear tasks is not taken for a better arm.

    Args:
        columns: micro-dollars per task. payouts: micro-dollars that each task pays.
        clusters: what each task belongs to. draws: 0 = no intervals.

    Returns:
        One per column; None with fewer than two clusters that pay anything, and where all of them agree (nothing or
        everything was earned): the draws would then show a certainty that is not there.
    """
    import numpy as np  # noqa: PLC0415 - slow to load

    from parsimony.resampling import interval_95, weighted_mean_draws  # noqa: PLC0415 - loads numpy

    names = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    place = np.array([names[name] for name in clusters], dtype=np.int64)
    weights = np.bincount(place, np.array(payouts, dtype=np.float64), len(names))
    paying = weights > 0
    if draws < 1 or paying.sum() < 2:
        return [None] * len(columns)
    sums = [np.bincount(place, np.array([float(one) for one in column]), len(names)) for column in columns]
    shares = np.stack([some[paying] / weights[paying] for some in sums], axis=1)
    drawn = weighted_mean_draws(shares, np.repeat(weights[paying, None], len(columns), axis=1), draws, seed)
    low, high = interval_95(drawn)
    whole = float(sum(payouts))
    flat = np.ptp(shares, axis=0) == 0
    return [
        None if flat[number] else (float(low[number]) * whole, float(high[number]) * whole)
        for number in range(len(columns))
    ]
