"""How sure the order of a score list is: rank intervals by the paired bootstrap over tasks.

Tasks are drawn with replacement, attempts of one task (`task#1`, `task#2`) always together, and every agent meets the
same draw. Only an agent whose score is complete has a rank, and its interval is among such agents: withholding data
must not improve a place. What bounds allow is told for all: by their middles, and as the envelope from an agent at its
upper and all others at their lower bounds to the reverse.
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
    """Ranks of agents and how they vary over draws, in the order of `rows`.

    Args:
        rows: scores against one panel, as `score` gives them.

    Returns:
        Per agent `rank` and `rank_interval_95` among the agents with a complete score, None for the others;
        `midpoint_interval_95` among all agents by the middle of their bounds; `rank_envelope_95` among all agents, from
        the best to the worst rank that bounds allow. Intervals are at 95 % of the draws.
    """
    if not rows:
        return []
    lower, upper = _matrix(rows, "lower"), _matrix(rows, "upper")
    middle = (lower + upper) / 2
    clusters = task_clusters(list(rows[0].tasks))
    drawn = [cluster_draws(part, clusters, draws, seed) for part in (lower, middle, upper)]
    midpoints = interval_95(ranks(drawn[1], largest_first=True))
    best, worst = possible_ranks(drawn[0], drawn[2])
    envelope = interval_95(best)[0], interval_95(worst)[1]
    complete = [at for at, row in enumerate(rows) if row.score is not None]
    places = _places(middle[:, complete], drawn[1][:, complete]) if complete else []
    ranked = dict(zip(complete, places, strict=True))
    return [
        {
            "agent": row.agent,
            "score": row.score,
            "lower": row.lower,
            "upper": row.upper,
            "rank": ranked[at][0] if at in ranked else None,
            "rank_interval_95": ranked[at][1] if at in ranked else None,
            "midpoint_interval_95": [int(end[at]) for end in midpoints],
            "rank_envelope_95": [int(end[at]) for end in envelope],
        }
        for at, row in enumerate(rows)
    ]


def _places(values: Floats, drawn: Floats) -> list[tuple[int, list[int]]]:
    """Rank and interval of each column."""
    ranked = ranks(values.mean(axis=0)[None, :], largest_first=True)[0]
    lower, upper = interval_95(ranks(drawn, largest_first=True))
    return [(int(rank), [int(low), int(high)]) for rank, low, high in zip(ranked, lower, upper, strict=True)]


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
