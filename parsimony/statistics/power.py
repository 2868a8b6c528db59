"""How much can be seen: sample sizes, the smallest effect that would be found, and seeds that are still needed.

All of it is the normal approximation of a paired two-sided test (Miller 2024, arXiv:2411.00640, section 5): n tasks,
with variance omega² of the true differences between tasks and sigma² of one seed's outcome around its task's rate in
both arms together, have (z_alpha/2 + z_power)² (omega² + sigma² / K) = n delta².
"""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def sample_size(delta: float, variance: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Tasks that are needed to find a mean difference `delta` of paired differences with `variance`."""
    if delta == 0:
        raise ValueError("no number of tasks finds a difference of 0")
    return max(1, math.ceil(_reach(power, alpha) ** 2 * _not_negative(variance) / delta**2))


def minimum_detectable_effect(n: int, variance: float, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest mean difference that `n` tasks find with that power; None without tasks."""
    return _reach(power, alpha) * math.sqrt(_not_negative(variance) / n) if n > 0 else None


def power_of(delta: float, n: int, variance: float, alpha: float = 0.05, *, df: float | None = None) -> float | None:
    """The probability of finding a mean difference `delta`, in either direction.

    Args:
        variance: n times the squared standard error of the mean difference, of the clustered one where there are
            clusters.
        df: degrees of freedom of the test, those of `jackknife_spread` where there are clusters. None = tasks stand
            alone, n - 1.

    Returns:
        None with fewer than two tasks.
    """
    if n < 2:
        return None
    if variance == 0:
        return 1.0 if delta else alpha
    from scipy.stats import nct, t  # noqa: PLC0415 - slow to load

    df, shift = df or n - 1, delta / math.sqrt(_not_negative(variance) / n)
    edge = t.isf(alpha / 2, df)
    return float(nct.sf(edge, df, shift) + nct.cdf(-edge, df, shift))


def seeds_needed(
    delta: float, n: int, *, task_variance: float, seed_variance: float, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Seeds per task and arm that find a mean difference `delta` on `n` tasks.

    Args:
        task_variance: omega², of the true differences between tasks.
        seed_variance: sigma², of one seed's outcome around its task's rate, both arms added.

    Returns:
        None where no number of seeds is enough: then only more tasks help.
    """
    if delta == 0 or n <= 0:
        return None
    room = n * delta**2 / _reach(power, alpha) ** 2 - _not_negative(task_variance)
    if room <= 0:
        return None
    return max(1, math.ceil(_not_negative(seed_variance) / room))


def _reach(power: float, alpha: float) -> float:
    if not (0 < power < 1 and 0 < alpha < 1):
        raise ValueError(f"power {power} and alpha {alpha} must be between 0 and 1")
    return _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)


def _not_negative(variance: float) -> float:
    if not variance >= 0:
        raise ValueError(f"variance {variance} must be 0 or more")
    return variance
