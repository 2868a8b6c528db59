"""Does the mid-range set rank respondents as the full set does? Rank correlations, with a bootstrap over tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parsimony.difficulty.bank import Bank
from parsimony.resampling import TIE, weighted_mean_draws
from parsimony.statistics import quantile

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Correlation:
    """A rank correlation; None where one side has no two ranks, or there are no draws.

    Attributes:
        interval: the value ± 1.96 standard deviations over draws of tasks, within -1 and 1; draws without a correlation
            are left out. No percentiles: a draw holds some tasks twice, so it agrees less than the bank does, and in a
            large bank nearly every draw lies below the value.
    """

    value: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Stability:
    """The full set against the mid-range set.

    Attributes:
        full, middle: mean share solved of each respondent; None where it tried no task of the set. The latter orders
            respondents and is no score of the benchmark.
        full_ranks, middle_ranks: 1 = best; equal means share their middle rank.
        kendall, spearman: Kendall's tau-b, Spearman's rho, over respondents that have both means.
        by_chance: the median of tau-b of random sets of as many tasks: what saving so many tasks does anyway.
        compared: how many respondents have both means.
        draws: of tasks.
    """

    full: tuple[float | None, ...]
    middle: tuple[float | None, ...]
    full_ranks: tuple[float | None, ...]
    middle_ranks: tuple[float | None, ...]
    kendall: Correlation
    spearman: Correlation
    by_chance: float | None
    compared: int
    draws: int


def stability(bank: Bank, chosen: NDArray[np.bool_], draws: int, seed: int) -> Stability:
    """Compare the ranks.

    Args:
        chosen: (tasks,), the mid-range set.
        draws: of the bootstrap and of random sets; 0 = neither.
    """
    shares, known = bank.shares.T, bank.known.T.astype(float)
    full, middle = _means(shares, known), _means(shares, known * chosen[:, None])
    both = np.flatnonzero(~np.isnan(full) & ~np.isnan(middle))
    pairs: list[tuple[Floats, Floats]] = []
    if draws and chosen.any() and len(both) > 1:
        # The same seed draws the same tasks for both sets.
        pairs = list(
            zip(
                weighted_mean_draws(shares, known, draws, seed)[:, both],
                weighted_mean_draws(shares, known * chosen[:, None], draws, seed)[:, both],
                strict=True,
            )
        )
    return Stability(
        _plain(full),
        _plain(middle),
        _plain(_ranks(full)),
        _plain(_ranks(middle)),
        _correlation(kendall_tau, full[both], middle[both], pairs),
        _correlation(spearman_rho, full[both], middle[both], pairs),
        _by_chance(bank, full, int(chosen.sum()), draws, seed),
        len(both),
        draws,
    )


def kendall_tau(one: Floats, other: Floats) -> float | None:
    """Kendall's tau-b, (concordant - discordant) / √(pairs not tied in one · in the other); None without such pairs."""
    first, second = _signs(one), _signs(other)
    scale = math.sqrt(float(np.abs(first).sum()) * float(np.abs(second).sum()))
    return float((first * second).sum()) / scale if scale else None


def spearman_rho(one: Floats, other: Floats) -> float | None:
    """Spearman's rho: the correlation of ranks, ties at their middle; None where all are equal."""
    first, second = (ranks - ranks.mean() for ranks in (_ranks(one), _ranks(other)))
    scale = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / scale if scale else None


def _correlation(
    measure: Callable[[Floats, Floats], float | None],
    full: Floats,
    middle: Floats,
    pairs: Sequence[tuple[Floats, Floats]],
) -> Correlation:
    value = measure(full, middle) if len(full) > 1 else None
    usable = [(one, other) for one, other in pairs if not np.isnan(one + other).any()]
    drawn = [found for one, other in usable if (found := measure(one, other)) is not None]
    if value is None or not drawn:
        return Correlation(value, None)
    reach = 1.96 * float(np.std(drawn))
    return Correlation(value, (max(value - reach, -1.0), min(value + reach, 1.0)))


def _by_chance(bank: Bank, full: Floats, size: int, draws: int, seed: int) -> float | None:
    """The median tau-b of random sets of a size with the full set."""
    random = np.random.default_rng(seed)
    shares, known = bank.shares.T, bank.known.T.astype(float)
    found = []
    for _ in range(draws if size else 0):
        chosen = random.choice(len(shares), size, replace=False)
        means = _means(shares[chosen], known[chosen])
        both = ~np.isnan(full) & ~np.isnan(means)
        tau = kendall_tau(full[both], means[both]) if both.sum() > 1 else None
        if tau is not None:
            found.append(tau)
    return quantile(found, 0.5) if found else None


def _means(shares: Floats, weights: Floats) -> Floats:
    """Of each respondent, (respondents,); NaN without a weight."""
    total = weights.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.where(total > 0, (shares * weights).sum(axis=0) / total, np.nan)
    return means


def _signs(values: Floats) -> Floats:
    """The sign of every pair's difference, up to rounding: (pairs,)."""
    upper = np.triu_indices(len(values), 1)
    differences = values[upper[0]] - values[upper[1]]
    return np.where(np.abs(differences) <= TIE, 0.0, np.sign(differences))


def _ranks(values: Floats) -> Floats:
    """Ranks from the best, 1; equal up to rounding share their middle; NaN stays."""
    known = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    _, places, counts = np.unique(-np.round(values[known], 11), return_inverse=True, return_counts=True)
    ranks[known] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def _plain(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(value) else float(value) for value in values)
