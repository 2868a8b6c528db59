"""Statistics of rates. Golden values in tests/parsimony/test_statistics.py."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a proportion, both ends in 0..1 (Wilson 1927; Brown, Cai and DasGupta 2001).

    Args:
        successes: 0 <= successes <= trials.
        confidence: two-sided, in (0, 1).

    Returns:
        (lower, upper); None when there were no trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    if trials == 0:
        return None
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    rate = successes / trials
    centre = rate + z2 / (2 * trials)
    spread = math.sqrt(z2 * (rate * (1 - rate) / trials + z2 / (4 * trials**2)))
    scale = 1 + z2 / trials
    lower = 0.0 if successes == 0 else (centre - spread) / scale
    upper = 1.0 if successes == trials else (centre + spread) / scale
    return lower, upper


def quantile(values: list[float], q: float) -> float | None:
    """The q-quantile (0..1) of `values` by linear interpolation (type 7 of Hyndman and Fan 1996); None when empty."""
    if not values:
        return None
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
