"""The paired bootstrap over tasks: tasks are drawn with replacement, and one draw counts for all agents alike.

The draws are those of `random.Random(seed).choices(tasks, k=len(tasks))` repeated, number for number, so results are
equal to those of programs that draw so; numpy makes them all at once from the same state of the Mersenne Twister.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TIE: Final = 1e-12
"""Means that differ by no more are equal: sums in another order differ in the last digits."""

_CELLS: Final = 4_000_000
"""Numbers drawn at once, at 8 bytes each."""


def draw_counts(tasks: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each task is in each draw, in blocks of (some draws, tasks); every row sums to `tasks`.

    Args:
        tasks, draws: both 1 or more.
        seed: of `random.Random`.
    """
    generator = _generator(seed)
    left = draws
    while left:
        rows = min(left, max(1, _CELLS // tasks))
        chosen = np.floor(generator.random_sample((rows, tasks)) * tasks).astype(np.int64)
        chosen += np.arange(rows, dtype=np.int64)[:, None] * tasks
        counts = np.bincount(chosen.ravel(), minlength=rows * tasks)
        yield counts.reshape(rows, tasks).astype(np.float64)
        left -= rows


def _generator(seed: int) -> np.random.RandomState:
    """A numpy generator in the state of `random.Random(seed)`, whose next numbers are the same."""
    _, words, _ = random.Random(seed).getstate()  # noqa: S311 - statistics, not secrets
    generator = np.random.RandomState()
    generator.set_state(("MT19937", np.array(words[:-1], dtype=np.uint32), words[-1], 0, 0.0))
    return generator


def mean_draws(values: Floats, draws: int, seed: int) -> Floats:
    """The mean over each draw of tasks.

    Args:
        values: (tasks, agents).

    Returns:
        (draws, agents).
    """
    tasks = len(values)
    return np.concatenate([counts @ values / tasks for counts in draw_counts(tasks, draws, seed)])


def weighted_mean_draws(values: Floats, weights: Floats, draws: int, seed: int) -> Floats:
    """The weighted mean over each draw of tasks; NaN where a draw has no weight for an agent.

    Args:
        values, weights: (tasks, agents); where a weight is 0, the value does not count and must be finite.

    Returns:
        (draws, agents).
    """
    parts = []
    for counts in draw_counts(len(values), draws, seed):
        total = counts @ weights
        with np.errstate(invalid="ignore"):
            parts.append(np.where(total > 0, counts @ (values * weights) / total, np.nan))
    return np.concatenate(parts)


def ranks(values: Floats, *, largest_first: bool) -> NDArray[np.int64]:
    """Rank of each agent in each row, from 1; ties share the better one. NaN comes after all numbers.

    Args:
        values: (rows, agents).
    """
    keys = np.where(np.isnan(values), np.inf, -values if largest_first else values)
    found = np.empty(keys.shape, dtype=np.int64)
    for agent in range(keys.shape[1]):  # one at a time: rows x agents x agents would not fit for many of both
        found[:, agent] = 1 + (keys < keys[:, agent, None] - TIE).sum(axis=1)
    return found


def interval_95(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each column the order statistics at 2.5 % and 97.5 %: the sorted values at `int(p * (rows - 1))`.

    Args:
        values: (rows, columns), one row at least.
    """
    ordered = np.sort(values, axis=0)
    last = len(ordered) - 1
    return ordered[int(0.025 * last)], ordered[int(0.975 * last)]
