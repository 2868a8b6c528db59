"""Leaderboards of measured footprints: medians, or means of net units with the certainty of the order.

`leaderboard` describes each agent's analysed successes by medians. `means` orders agents by mean net coding units over
measured in-scope attempts: over the solved ones in the ordering `measured-net-mean-v1`, over all of them in
`all-measured`. Correctness does not enter the order; resolve rate and coverage stand beside it. Rank intervals come
from a paired bootstrap: tasks are drawn with replacement, and every agent meets the same draw.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from parsimony.measurements import (
    FULL_FILE,
    Evaluation,
    Metrics,
    Record,
    by_agent,
    require_one_analyzer,
    require_one_rate,
    require_one_track,
)
from parsimony.resampling import Floats, interval_95, ranks, weighted_mean_draws

MEDIANS: Final = "medians"
SOLVED_MEANS: Final = "measured-net-mean-v1"
ALL_MEANS: Final = "all-measured"
ORDERINGS: Final = (MEDIANS, SOLVED_MEANS, ALL_MEANS)

Row = dict[str, object]

_MEDIAN_FIELDS: Final[Mapping[str, Callable[[Metrics], int | None]]] = {
    "median_net_units": lambda metrics: metrics.net_units,
    "median_churn": lambda metrics: metrics.churn,
    "median_net_tokens": lambda metrics: metrics.net_tokens,
    "median_token_churn": lambda metrics: metrics.token_churn,
    "median_files_changed": lambda metrics: metrics.files_changed,
    "median_ast_delta": lambda metrics: metrics.ast_delta,
    "median_complexity_delta": lambda metrics: metrics.complexity_delta,
}


def leaderboard(
    records: Sequence[Record], *, agents: Sequence[str] | None = None, shared: bool = False, mode: str = FULL_FILE
) -> list[Row]:
    """Medians over each agent's analysed successes, sorted by median net units; agents without one come last.

    Args:
        agents: only these, also those without a record; None for all.
        shared: only tasks that every one of the agents solved and that were analysed for all of them. That takes the
            mix of tasks out of the comparison, and favours easy tasks.
        mode: only metrics of this kind, `full_file` or `patch_only`; the two are never pooled.

    Raises:
        InputError: a record twice, records of two tracks, or an agent with two resolve rates.
    """
    chosen = _chosen(records, agents)
    successes = {
        agent: {task: record for task, record in tasks.items() if record.resolved and _analyzed(record, mode)}
        for agent, tasks in chosen.items()
    }
    if shared:
        successes = _shared(successes)
    rows = [
        _median_row(agent, tasks, mode, require_one_rate(chosen[agent].values()), shared=shared)
        for agent, tasks in successes.items()
    ]
    return sorted(rows, key=_median_key)


def means(
    records: Sequence[Record],
    *,
    agents: Sequence[str] | None = None,
    shared: bool = False,
    include_failed: bool = False,
    draws: int = 2000,
    seed: int = 42,
) -> list[Row]:
    """Mean net units over each agent's measured in-scope attempts, fewest first, with rank intervals.

    Only full-file metrics count. `coverage` is the share of an agent's attempts (solved ones, or all with
    `include_failed`) that are measured and in scope; the others are left out of the mean and never count as zero.

    Args:
        agents: only these, also those without a record; None for all.
        shared: only tasks where the attempt of every one of the agents counts.
        include_failed: every measured attempt counts, however it ended.
        draws: of tasks, for `rank_interval_95`; 0 leaves the intervals out. An agent without an attempt in a draw is
            last there.

    Raises:
        InputError: as `leaderboard`, or records of two analyzers.
    """
    if records:
        require_one_analyzer(records)
    chosen = _chosen(records, agents)
    attempts = {agent: _attempts(tasks, include_failed=include_failed) for agent, tasks in chosen.items()}
    counted = {
        agent: {task: record for task, record in tasks.items() if _counts(record)} for agent, tasks in attempts.items()
    }
    if shared:
        counted = _shared(counted)
    nets = {agent: [_net(record) for record in tasks.values()] for agent, tasks in counted.items()}
    average = np.array([[statistics.fmean(net) if net else np.nan for net in nets.values()]])
    rank = ranks(average, largest_first=False)[0] if nets else ()
    intervals = _rank_intervals(counted, draws, seed) if draws and nets else {}
    rows = [
        _mean_row(
            agent,
            counted[agent],
            attempts[agent],
            {"rank": int(place) if nets[agent] else None, "rank_interval_95": intervals.get(agent)},
            {
                "ordering": ALL_MEANS if include_failed else SOLVED_MEANS,
                "comparison": "shared" if shared else "individual",
                "resolve_rate": require_one_rate(chosen[agent].values()),
            },
        )
        for agent, place in zip(chosen, rank, strict=True)
    ]
    return sorted(rows, key=lambda row: (row["rank"] is None, row["rank"] or 0, row["agent"]))


def _chosen(records: Sequence[Record], agents: Sequence[str] | None) -> dict[str, dict[str, Record]]:
    require_one_track(records)
    found = by_agent(records)
    return found if agents is None else {agent: found.get(agent, {}) for agent in sorted(set(agents))}


def _analyzed(record: Record, mode: str) -> bool:
    return record.analyzed is not None and record.analyzed.mode == mode


def _attempts(tasks: Mapping[str, Record], *, include_failed: bool) -> dict[str, Record]:
    """The attempts that an ordering is about; with failures also those whose outcome is not known."""
    return {
        task: record
        for task, record in tasks.items()
        if record.resolved or (include_failed and record.evaluation is not Evaluation.NO_ATTEMPT)
    }


def _counts(record: Record) -> bool:
    metrics = record.measured
    return metrics is not None and metrics.mode == FULL_FILE and not metrics.out_of_scope


def _net(record: Record) -> int:
    assert record.metrics is not None
    assert record.metrics.net_units is not None
    return record.metrics.net_units


def _shared(tasks: Mapping[str, Mapping[str, Record]]) -> dict[str, dict[str, Record]]:
    """Each agent's records of the tasks that all agents have."""
    common = set.intersection(*(set(one) for one in tasks.values())) if tasks else set()
    return {agent: {task: one[task] for task in sorted(common)} for agent, one in tasks.items()}


def _median_row(agent: str, tasks: Mapping[str, Record], mode: str, rate: float | None, *, shared: bool) -> Row:
    metrics = [record.metrics for record in tasks.values() if record.metrics is not None]
    ratios = [record.model_human_ratio for record in tasks.values() if record.model_human_ratio is not None]
    return {
        "agent": agent,
        "comparison": "shared" if shared else "individual",
        "mode": mode,
        "resolve_rate": rate,
        "successful_tasks_analyzed": len(tasks),
        "task_ids": sorted(tasks),
        "human_ratio_tasks": len(ratios),
        "median_model_human_ratio": _median(ratios),
        "structure_tasks": sum(one.ast_delta is not None for one in metrics),
        **{
            name: _median([value for one in metrics if (value := pick(one)) is not None])
            for name, pick in _MEDIAN_FIELDS.items()
        },
    }


def _median(values: Sequence[float]) -> float | None:
    """The median, an integer where it is one of an odd number of integers; None of nothing."""
    return statistics.median(values) if values else None


def _median_key(row: Row) -> tuple[bool, float, str]:
    net = row["median_net_units"]
    return net is None, net if isinstance(net, int | float) else 0, str(row["agent"])


def _mean_row(
    agent: str, counted: Mapping[str, Record], attempts: Mapping[str, Record], place: Row, context: Row
) -> Row:
    metrics = [record.metrics for record in counted.values() if record.metrics is not None]
    return {
        "agent": agent,
        **context,
        **place,
        "mean_net_units": statistics.fmean(one.net_units or 0 for one in metrics) if metrics else None,
        "mean_churn": statistics.fmean(one.churn or 0 for one in metrics) if metrics else None,
        "attempts": len(attempts),
        "solved": sum(record.resolved for record in attempts.values()),
        "measured_tasks": len(counted),
        "out_of_scope": sum(one.measured is not None and one.measured.out_of_scope for one in attempts.values()),
        "coverage": len(counted) / len(attempts) if attempts else None,
    }


def _rank_intervals(counted: Mapping[str, Mapping[str, Record]], draws: int, seed: int) -> dict[str, list[int]]:
    """The 95 % interval of each agent's rank. Tasks where no attempt counts are not drawn: they say nothing."""
    tasks = sorted({record.task_id for records in counted.values() for record in records.values()})
    if not tasks:
        return {}
    rows = {task: row for row, task in enumerate(tasks)}
    values: Floats = np.zeros((len(tasks), len(counted)))
    weights: Floats = np.zeros_like(values)
    for column, records in enumerate(counted.values()):
        for record in records.values():  # several of a task where the agent has several seeds: they are drawn together
            values[rows[record.task_id], column] += _net(record)
            weights[rows[record.task_id], column] += 1
    values /= np.maximum(weights, 1)
    lower, upper = interval_95(ranks(weighted_mean_draws(values, weights, draws, seed), largest_first=False))
    return {
        agent: [int(lower[column]), int(upper[column])]
        for column, (agent, records) in enumerate(counted.items())
        if records
    }
