"""A few numbers that stand for many: quantiles, and the mean of per-seed rates with its interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from parsimony.statistics.proportions import Interval


def quantile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile (0..1) of `values` by linear interpolation (type 7 of Hyndman and Fan 1996); None when empty."""
    if not values:
        return None
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean.

    Attributes:
        variance: of the values, with n - 1; 0 for a single one.
        interval: Student's t; None for a single value, about whose spread nothing is known.
    """

    mean: float
    variance: float
    interval: Interval | None
    n: int


def mean_interval(values: Sequence[float], level: float = 0.95) -> Mean | None:
    """Mean, variance and Student's t interval of independent values such as per-seed rates; None when empty."""
    if not values:
        return None
    mean, n = math.fsum(values) / len(values), len(values)
    if n == 1:
        return Mean(mean, 0.0, None, 1)
    variance = statistics.variance(values)
    half = student_quantile((1 + level) / 2, n - 1) * math.sqrt(variance / n)
    return Mean(mean, variance, (mean - half, mean + half), n)


def student_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t with `df` degrees of freedom."""
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to load

    return float(stdtrit(df, probability))


def student_two_sided(t: float, df: float) -> float:
    """The probability that Student's t is at least as far from 0 as `t`."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to load

    return float(2 * stdtr(df, -abs(t)))


def chi_squared_tail(value: float, df: int) -> float:
    """The probability that chi-squared with `df` degrees of freedom is at least `value`."""
    from scipy.special import chdtrc  # noqa: PLC0415 - slow to load

    return float(chdtrc(df, value))
