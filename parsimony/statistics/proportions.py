"""Intervals of a single proportion."""

from __future__ import annotations

import math
from statistics import NormalDist

Interval = tuple[float, float]


def wilson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """Wilson score interval of a proportion, both ends in 0..1 (Wilson 1927; Brown, Cai and DasGupta 2001).

    Args:
        successes: 0 <= successes <= n.
        level: two-sided confidence, in (0, 1).

    Returns:
        (lower, upper); None when there were no trials.
    """
    _check(successes, n, level)
    if n == 0:
        return None
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    rate = successes / n
    centre = rate + z2 / (2 * n)
    spread = math.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n**2)))
    scale = 1 + z2 / n
    lower = 0.0 if successes == 0 else (centre - spread) / scale
    upper = 1.0 if successes == n else (centre + spread) / scale
    return lower, upper


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """Exact interval of a proportion: it covers at least at its level whatever the proportion (Clopper, Pearson 1934).

    Arguments and result as `wilson`.
    """
    _check(successes, n, level)
    if n == 0:
        return None
    from scipy.special import betaincinv  # noqa: PLC0415 - slow to load

    tail = (1 - level) / 2
    lower = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    upper = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return lower, upper


def _check(successes: int, n: int, level: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials")
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1")
