"""Two groups of tasks that share nothing: an exact test of the difference of their mean rates, and an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final

MOST_STEPS: Final = 1 << 30
"""Additions that the exact distribution may take (seconds); beyond, draws take its place."""
DRAWS: Final = 100_000
_SEED: Final = 20_240_307


@dataclass(frozen=True, slots=True)
class Permutation:
    """Two-sided p-value. `exact`: the whole distribution was counted."""

    p_value: float
    exact: bool


def permutation_test(a: Sequence[Fraction], b: Sequence[Fraction]) -> Permutation | None:
    """Fisher and Pitman's test (Pitman 1937): how often a random split of all tasks into groups of these sizes has
    means at least as far apart. With rates of 0 and 1 it is Fisher's exact test, two-sided by distance of the means.

    The distribution of the sum over a random subset comes from adding the tasks one by one, each chosen with the chance
    that sampling without replacement gives it.

    Returns:
        None where a group is empty.
    """
    if not a or not b:
        return None
    small, n = min(len(a), len(b)), len(a) + len(b)
    group = a if len(a) == small else b
    everything = [*a, *b]
    grid, least = math.lcm(*(one.denominator for one in everything)), min(everything)
    steps = [int((one - least) * grid) for one in everything]
    shared = math.gcd(*steps) or 1
    steps = [step // shared for step in steps]
    chosen = sum(int((one - least) * grid) // shared for one in group)
    total = sum(steps)
    observed = abs(n * chosen - small * total)
    most = sum(sorted(steps)[-small:])
    if n * small * (most + 1) <= MOST_STEPS:
        return Permutation(_counted(steps, small, total, most, observed), exact=True)
    return Permutation(_drawn(steps, small, total, observed), exact=False)


def _counted(steps: Sequence[int], small: int, total: int, most: int, observed: int) -> float:
    import numpy as np  # noqa: PLC0415 - slow to load

    n = len(steps)
    chances = np.zeros((small + 1, most + 1))  # [chosen so far, their sum]
    chances[0, 0] = 1.0
    for done, step in enumerate(steps):
        take = np.clip((small - np.arange(small + 1)) / (n - done), 0.0, 1.0)[:, None]
        taken = chances * take
        chances -= taken
        chances[1:, step:] += taken[:-1, : most + 1 - step]
    sums = np.arange(most + 1, dtype=np.int64)
    far = np.abs(n * sums - small * total) >= observed
    return min(1.0, float(chances[small, far].sum()))


def _drawn(steps: Sequence[int], small: int, total: int, observed: int) -> float:
    """By draws; the observed split counts as one of them (Phipson and Smyth 2010)."""
    import numpy as np  # noqa: PLC0415 - slow to load

    values, random = np.array(steps, dtype=np.int64), np.random.default_rng(_SEED)
    far = 0
    for _ in range(DRAWS):
        subset = random.choice(values, size=small, replace=False, shuffle=False)
        far += int(abs(len(values) * int(subset.sum()) - small * total) >= observed)
    return (far + 1) / (DRAWS + 1)


def mean_interval(rate: float, tasks: int, level: float = 0.95) -> tuple[float, float] | None:
    """Wilson's interval for a mean of `tasks` rates in 0..1; for rates of 0 and 1 it is that of a proportion.

    Repeated seeds of a task are one rate. The variance of such a rate is at most p(1 - p), so the interval is never
    narrower than it should be.
    """
    if tasks == 0:
        return None
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    centre = rate + z2 / (2 * tasks)
    spread = math.sqrt(z2 * (rate * (1 - rate) / tasks + z2 / (4 * tasks**2)))
    scale = 1 + z2 / tasks
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def difference_interval(
    first: float, of_first: int, second: float, of_second: int, level: float = 0.95
) -> tuple[float, float] | None:
    """Interval for second - first (Newcombe 1998, method 10), from the two of `mean_interval`."""
    one, two = mean_interval(first, of_first, level), mean_interval(second, of_second, level)
    if one is None or two is None:
        return None
    difference = second - first
    below = math.hypot(second - two[0], one[1] - first)
    above = math.hypot(two[1] - second, first - one[0])
    return difference - below, difference + above
