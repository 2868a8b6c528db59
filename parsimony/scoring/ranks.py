"""How sure the order of a score list is: rank intervals by the paired bootstrap over tasks.

Tasks are drawn with replacement, attempts of one task (`task#1`, `task#2`) always together, and every agent meets the
same draw. `rank_interval_95` is where an agent's rank by the middle of its bounds falls. Where tasks have bounds only,
`rank_envelope_95` also takes in every rank that the bounds of a draw allow: the agent best and all others worst, and
the reverse. With complete scores the two differ by ties alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parsimony.resampling import TIE, Floats, interval_95, ranks, weighted_mean_draws
from parsimony.scoring.score import AgentScore

_ATTEMPT = re.compile(r"#\d+\Z")


def rank_intervals(rows: Sequence[AgentScore], *, draws: int = 2000, seed: int = 42) -> list[dict[str, object]]:
    """Rank, interval and envelope of every agent, best first by the middle of its bounds.

    Args:
        rows: scores against one panel.
    """
    if not rows:
        return []
    lower, upper = _matrix(rows, "lower"), _matrix(rows, "upper")
    middle = (lower + upper) / 2
    ranked = ranks(middle.mean(axis=0)[None, :], largest_first=True)[0]
    clusters = task_clusters(list(rows[0].tasks))
    drawn = [cluster_draws(part, clusters, draws, seed) for part in (lower, middle, upper)]
    inner = interval_95(ranks(drawn[1], largest_first=True))
    best, worst = possible_ranks(drawn[0], drawn[2])
    outer = interval_95(best)[0], interval_95(worst)[1]
    order = sorted(range(len(rows)), key=lambda at: (ranked[at], rows[at].agent))
    return [
        {
            "agent": rows[at].agent,
            "rank": int(ranked[at]),
            "rank_interval_95": [int(inner[0][at]), int(inner[1][at])],
            "rank_envelope_95": [int(outer[0][at]), int(outer[1][at])],
            "score": rows[at].score,
            "lower": rows[at].lower,
            "upper": rows[at].upper,
        }
        for at in order
    ]


def task_clusters(tasks: Sequence[str]) -> NDArray[np.int64]:
    """For each task the number of its cluster, from 0: attempts `task#k` of one task are one."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(_ATTEMPT.sub("", task), len(numbers)) for task in tasks], dtype=np.int64)


def cluster_draws(values: Floats, clusters: NDArray[np.int64], draws: int, seed: int) -> Floats:
    """Means over draws of whole clusters.

    Args:
        values: (tasks, agents). clusters: (tasks,), from `task_clusters`.

    Returns:
        (draws, agents): each the mean over the tasks of the drawn clusters.
    """
    members = np.bincount(clusters).astype(np.float64)
    means = np.zeros((len(members), values.shape[1]))
    np.add.at(means, clusters, values)
    means /= members[:, None]
    return weighted_mean_draws(means, np.broadcast_to(members[:, None], means.shape), draws, seed)


def possible_ranks(lower: Floats, upper: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The best and the worst rank that bounds allow each agent, per row; a tie can fall either way.

    Args:
        lower, upper: (rows, agents).
    """
    best, worst = np.empty(lower.shape, dtype=np.int64), np.empty(lower.shape, dtype=np.int64)
    for agent in range(lower.shape[1]):
        best[:, agent] = 1 + (lower > upper[:, agent, None] + TIE).sum(axis=1)
        worst[:, agent] = (upper >= lower[:, agent, None] - TIE).sum(axis=1)  # counts the agent itself
    return best, worst


def _matrix(rows: Sequence[AgentScore], end: str) -> Floats:
    """(tasks, agents) of one end of the bounds; all rows have the panel's tasks in the panel's order."""
    return np.array([[getattr(task, end) for task in row.tasks.values()] for row in rows], dtype=np.float64).T
