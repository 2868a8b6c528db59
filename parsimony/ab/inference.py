"""How large the difference is, how sure that is, and where its variance comes from (docs/comparisons.md)."""

from __future__ import annotations

import math
import statistics as basic
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from parsimony.ab.cells import Floats, Grid
from parsimony.ab.counts import CountTest, welch
from parsimony.statistics import (
    Components,
    Interval,
    clopper_pearson,
    mcnemar_exact,
    mean_interval,
    minimum_detectable_effect,
    paired_test,
    pass_at_k,
    pass_hat_k,
    seeds_needed,
    variance_components,
    wilson,
)

FEWEST_CLUSTERS: Final = 6
"""Repositories that it takes to cluster by them: five changes of sign have no p-value under 2/32."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The paired difference of two full tables of verdicts.

    Attributes:
        delta: of the mean resolve rates, candidate less baseline.
        interval: of `delta`; None with fewer than two units.
        p_value: of the paired permutation test. exact: whether it was counted or drawn.
        standard_error: None with fewer than two units.
        seed_variance: of `delta` by what all tasks of a seed share.
        moving: clusters in which the arms differ: no p-value is under 2 / 2^moving.
    """

    delta: float
    interval: Interval | None
    p_value: float
    exact: bool
    standard_error: float | None
    seed_variance: float
    moving: int


@dataclass(frozen=True, slots=True)
class Clusters:
    """What tasks are clustered by. `name` is `repository` or `task`; `of` has one entry per task."""

    name: str
    of: tuple[Hashable, ...]

    @property
    def number(self) -> int:
        """How many there are."""
        return len(set(self.of))


def clusters_of(grid: Grid) -> Clusters:
    """Repositories, where at least `FEWEST_CLUSTERS` are known; else every task stands alone."""
    repos = tuple(grid.facts[name].repo if name in grid.facts else name for name in grid.tasks)
    number = len(set(repos))
    by_repository = FEWEST_CLUSTERS <= number < len(grid.tasks)
    return Clusters("repository", repos) if by_repository else Clusters("task", grid.tasks)


def read(baseline: Floats, candidate: Floats, clusters: Clusters, level: float) -> Reading:
    """Test two tables (tasks, seeds) without missing verdicts; each task counts once, by its rate over seeds."""
    a, b = (table.astype(int).tolist() for table in (baseline, candidate))
    found = paired_test(a, b, clusters.of, level=level)
    assert found is not None, "a grid holds a task"
    one = found.difference
    return Reading(
        delta=float(candidate.mean() - baseline.mean()),
        interval=one.interval,
        p_value=found.p_value,
        exact=found.exact,
        standard_error=one.standard_error,
        seed_variance=found.seed_variance,
        moving=_moving(candidate.sum(axis=1) - baseline.sum(axis=1), clusters),
    )


def _moving(differences: Floats, clusters: Clusters) -> int:
    sums: dict[Hashable, float] = {}
    for name, value in zip(clusters.of, differences.tolist(), strict=True):
        sums[name] = sums.get(name, 0.0) + value
    return sum(value != 0 for value in sums.values())


def extremes(baseline: Floats, candidate: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """The two tables with what is missing counted against the candidate, and in its favour."""
    low = np.nan_to_num(baseline, nan=1.0), np.nan_to_num(candidate, nan=0.0)
    high = np.nan_to_num(baseline, nan=0.0), np.nan_to_num(candidate, nan=1.0)
    return low, high


@dataclass(frozen=True, slots=True)
class ArmReading:
    """One arm alone.

    Attributes:
        resolved: per seed, how many tasks are known to be resolved.
        missing: per seed.
        mean: of the per-seed rates; with missing verdicts the middle of `bounds`, so that they count for neither side.
        variance: of the per-seed rates (n - 1).
        interval: for the mean over seeds, Student's t, within 0..1; with one seed that of Wilson over tasks; taken as
            far as missing verdicts can move it.
        bounds: of the mean, missing verdicts counted both ways.
        wilson, clopper_pearson: of the share of candidates, as if they were independent; at the bounds.
        at_k, hat_k: pass@k and pass^k for k = 1 to the number of seeds; bounds where something is missing.
        components: variance between tasks, seeds and repeats; None where something is missing.
    """

    label: str
    harness: str
    resolved: tuple[int, ...]
    missing: tuple[int, ...]
    mean: float
    variance: float
    interval: Interval
    bounds: Interval
    wilson: Interval
    clopper_pearson: Interval
    at_k: tuple[Interval, ...]
    hat_k: tuple[Interval, ...]
    components: Components | None


def read_arm(grid: Grid, level: float) -> ArmReading:
    """What one arm shows alone."""
    table = grid.verdicts
    low, high = np.nan_to_num(table, nan=0.0), np.nan_to_num(table, nan=1.0)
    middle = (low.mean(axis=0) + high.mean(axis=0)) / 2
    return ArmReading(
        label=grid.label,
        harness=grid.settings.harness_version or grid.label,
        resolved=tuple(int(count) for count in low.sum(axis=0)),
        missing=tuple(int(count) for count in np.isnan(table).sum(axis=0)),
        mean=float(middle.mean()),
        variance=basic.variance(middle.tolist()) if len(middle) > 1 else 0.0,
        interval=_span([_mean_interval(one, level) for one in (low, high)]),
        bounds=(float(low.mean()), float(high.mean())),
        wilson=_span([_share(wilson, one, level) for one in (low, high)]),
        clopper_pearson=_span([_share(clopper_pearson, one, level) for one in (low, high)]),
        at_k=_by_k(pass_at_k, low, high),
        hat_k=_by_k(pass_hat_k, low, high),
        components=None if np.isnan(table).any() else variance_components(_observations(grid)),
    )


def _mean_interval(table: Floats, level: float) -> Interval:
    found = mean_interval(table.mean(axis=0).tolist(), level)
    if found is None or found.interval is None:
        return _share(wilson, table, level)
    return max(0.0, found.interval[0]), min(1.0, found.interval[1])


def _share(interval: Callable[[int, int, float], Interval | None], table: Floats, level: float) -> Interval:
    found = interval(int(table.sum()), table.size, level)
    assert found is not None, "a grid holds a task"
    return found


def _span(intervals: Sequence[Interval]) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _by_k(measure: Callable[[int, int, int], float], low: Floats, high: Floats) -> tuple[Interval, ...]:
    seeds = low.shape[1]
    found = []
    for k in range(1, seeds + 1):
        by_count = [measure(seeds, c, k) for c in range(seeds + 1)]
        ends = [math.fsum(by_count[int(c)] for c in table.sum(axis=1)) / len(table) for table in (low, high)]
        found.append((ends[0], ends[1]))
    return tuple(found)


def _observations(grid: Grid) -> list[list[list[float]]]:
    """Per task and seed the outcomes of the repeats that have one."""
    return [
        [
            [float(t.resolved) for t in grid.cells[task, seed].trials if t.resolved is not None]
            for seed in grid.seeds
            if (task, seed) in grid.cells
        ]
        for task in grid.tasks
    ]


@dataclass(frozen=True, slots=True)
class Others:
    """Tests beside the one that decides, each with what it takes for granted.

    Attributes:
        mcnemar: (lost, won, p): tasks that changed sides; with one seed per arm only.
        seeds: over the rates of seeds, these tasks alone; with two seeds or more per arm only.
    """

    mcnemar: tuple[int, int, float] | None
    seeds: CountTest | None


def others(baseline: Floats, candidate: Floats, level: float) -> Others:
    """The other tests; tables without missing verdicts."""
    if baseline.shape[1] == 1:
        lost = int(((baseline == 1) & (candidate == 0)).sum())
        won = int(((baseline == 0) & (candidate == 1)).sum())
        return Others((lost, won, mcnemar_exact(lost, won)), None)
    a, b = (tuple(int(count) for count in table.sum(axis=0)) for table in (baseline, candidate))
    return Others(None, welch(a, b, len(baseline), level))


@dataclass(frozen=True, slots=True)
class Power:
    """What this comparison could see.

    Attributes:
        detectable: the smallest difference that it finds with `power`; None when nothing is known of the variance.
        target: the difference that `seeds` is about: the smallest effect of interest.
        seeds: per arm and task, all told, to find `target`; None where no number is enough, or it cannot be told.
        tellable: whether the variance of seeds is known, which takes two.
        limited: whether only more tasks help.
    """

    detectable: float | None
    power: float
    target: float
    seeds: int | None
    tellable: bool

    @property
    def limited(self) -> bool:
        """Whether more seeds do not help, and only more tasks do."""
        return self.tellable and self.seeds is None


def power_of_this(
    reading: Reading,
    arms: tuple[ArmReading, ArmReading],
    shape: tuple[int, int],
    *,
    target: float,
    alpha: float,
    power: float,
) -> Power:
    """What a comparison of `shape` (tasks, seeds) with this variance finds."""
    tasks, seeds = shape
    if reading.standard_error is None:
        return Power(None, power, target, None, tellable=False)
    variance = tasks * (reading.standard_error**2 + reading.seed_variance)
    detectable = minimum_detectable_effect(tasks, variance, power, alpha)
    parts = [arm.components for arm in arms]
    if seeds < 2 or any(part is None or part.seed is None for part in parts):
        return Power(detectable, power, target, None, tellable=False)
    by_seed = math.fsum((part.seed or 0.0) + (part.flake or 0.0) for part in parts if part is not None)
    by_seed = min(by_seed, seeds * variance)  # an estimate may be more than all that was seen
    by_task = variance - by_seed / seeds
    needed = seeds_needed(target, tasks, task_variance=by_task, seed_variance=by_seed, power=power, alpha=alpha)
    return Power(detectable, power, target, needed, tellable=True)
