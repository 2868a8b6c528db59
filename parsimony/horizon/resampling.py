"""The hierarchical bootstrap: families are drawn with replacement, in each its tasks, in each of these its runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parsimony.horizon.observations import TimedTask

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def draw(tasks: Sequence[TimedTask], weights: Floats, draws: int, seed: int) -> tuple[Floats, Floats]:
    """The weight of successes and of all runs of each task in each draw, both (draws, tasks).

    A family that is drawn k times has k · n draws among its n tasks, and a task that is drawn m times m · r among its r
    runs, so counts are multinomial at every level. Each drawn run keeps the weight that it has in the data: the weights
    of a draw are not made to sum to 1 again, as METR does not.

    Args:
        weights: (tasks,), of one run of each task.
    """
    random = np.random.default_rng(seed)
    chosen = _tasks_drawn(tasks, draws, random)
    successes = np.zeros((draws, len(tasks)))
    totals = np.zeros((draws, len(tasks)))
    for column, (task, weight) in enumerate(zip(tasks, weights, strict=True)):
        scores, counts = np.unique(task.scores, return_counts=True)
        runs = random.multinomial(chosen[:, column] * len(task.scores), counts / len(task.scores))
        successes[:, column] = weight * (runs @ scores)
        totals[:, column] = weight * runs.sum(axis=1)
    return successes, totals


def _tasks_drawn(tasks: Sequence[TimedTask], draws: int, random: np.random.Generator) -> Counts:
    """How often each task is drawn, (draws, tasks)."""
    members: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        members.setdefault(task.family, []).append(place)
    families = random.multinomial(len(members), np.full(len(members), 1 / len(members)), size=draws)
    chosen = np.zeros((draws, len(tasks)), dtype=np.int64)
    for column, places in enumerate(members.values()):
        chosen[:, places] = random.multinomial(families[:, column] * len(places), np.full(len(places), 1 / len(places)))
    return chosen
