"""Where variance comes from: tasks, seeds within a task, repeats of one candidate (test flake)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Components:
    """Variance of one observation, split.

    Attributes:
        task: between the rates of tasks.
        seed: between candidates of one task; with single repeats it holds the flake as well.
        flake: between repeats of one candidate; None without repeats.
        tasks, seeds, repeats: degrees of freedom that each estimate rests on.
    """

    task: float | None
    seed: float | None
    flake: float | None
    tasks: int
    seeds: int
    repeats: int

    @property
    def total(self) -> float | None:
        """The sum of what is known; None where nothing is."""
        known = [one for one in (self.task, self.seed, self.flake) if one is not None]
        return sum(known) if known else None


def variance_components(observations: Sequence[Sequence[Sequence[float]]]) -> Components:
    """Split the variance of outcomes by the method of moments (nested analysis of variance; Searle, Casella, McCulloch
    1992, chapter 3), unbiased also where numbers of seeds and repeats differ. A negative estimate is given as 0.

    Args:
        observations: per task, per seed, the outcomes of the repeats (0 or 1); each at least one.
    """
    cells = [[list(map(float, repeats)) for repeats in task] for task in observations if task]
    within = [(statistics.variance(cell), len(cell) - 1) for task in cells for cell in task if len(cell) > 1]
    flake, repeats_df = _pooled(within)
    means = [[statistics.fmean(cell) for cell in task] for task in cells]
    # The mean over repeats of a cell carries flake / repeats of it.
    inner = [(statistics.fmean(1 / len(cell) for cell in task), len(task)) for task in cells]
    between = [
        (statistics.variance(of_task) - (flake or 0.0) * share, number - 1)
        for of_task, (share, number) in zip(means, inner, strict=True)
        if number > 1
    ]
    seed, seeds_df = _pooled(between)
    seed = None if seed is None else max(0.0, seed)
    task = None
    if len(cells) > 1:
        noise = statistics.fmean(((seed or 0.0) + (flake or 0.0) * share) / number for share, number in inner)
        task = max(0.0, statistics.variance([statistics.fmean(of_task) for of_task in means]) - noise)
    return Components(task, seed, flake, max(0, len(cells) - 1), seeds_df, repeats_df)


def _pooled(parts: Sequence[tuple[float, int]]) -> tuple[float | None, int]:
    df = sum(weight for _, weight in parts)
    return (sum(value * weight for value, weight in parts) / df if df else None), df
