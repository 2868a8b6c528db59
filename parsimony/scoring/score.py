"""Scores of candidates against a panel: a value per task where everything is known, and bounds where it is not."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from parsimony.measurements import Evaluation, Record, by_agent, require_one_rate
from parsimony.scoring.panel import Panel, measured_in_full, units
from parsimony.scoring.rule import (
    FAILED_BOUNDS,
    SCORE_VERSION,
    SOLVED_BOUNDS,
    UNKNOWN_BOUNDS,
    Scale,
    blend,
    failure_score,
    success_score,
)


class State(StrEnum):
    """What is known about an attempt, and so how it counts."""

    RESOLVED = "resolved"
    FAILED = "failed"
    NO_ATTEMPT = "no_attempt"
    UNKNOWN = "unknown"
    MISSING_METRICS = "missing_metrics"
    OUT_OF_SCOPE = "out_of_scope"
    UNCALIBRATED = "uncalibrated"


@dataclass(frozen=True, slots=True)
class TaskScore:
    """One task's part of an agent's score.

    Attributes:
        score: None when only bounds are known.
        lower, upper: what the score can be; equal to it when it is known.
        parts: the percentiles of a success, or scale and burden of a failure.
    """

    state: State
    score: float | None
    lower: float
    upper: float
    parts: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As the score file holds it."""
        told = {"status": self.state.value, "score": self.score, "lower": self.lower, "upper": self.upper}
        return {**told, **self.parts}


@dataclass(frozen=True, slots=True)
class AgentScore:
    """An agent's score over all tasks of a panel, each with the same weight.

    Attributes:
        score: -25 to 100, larger is better; None as soon as one task has bounds only.
        success_credit, failure_penalty: its parts, `score` = credit - penalty; None with it.
        published_resolve_rate: 0 to 1, as the publisher states it.
    """

    agent: str
    panel: str
    score: float | None
    lower: float
    upper: float
    success_credit: float | None
    failure_penalty: float | None
    published_resolve_rate: float | None
    tasks: Mapping[str, TaskScore]

    @property
    def scored_tasks(self) -> int:
        """Tasks with a value, not only bounds."""
        return sum(task.score is not None for task in self.tasks.values())

    def to_json(self) -> dict[str, object]:
        """As the score file holds it."""
        return {
            "agent": self.agent,
            "score_version": SCORE_VERSION,
            "panel": self.panel,
            "score": self.score,
            "lower": self.lower,
            "upper": self.upper,
            "success_credit": self.success_credit,
            "failure_penalty": self.failure_penalty,
            "task_count": len(self.tasks),
            "scored_tasks": self.scored_tasks,
            "published_resolve_rate": self.published_resolve_rate,
            "tasks": {name: task.to_json() for name, task in self.tasks.items()},
        }


def score(panel: Panel, records: Sequence[Record]) -> list[AgentScore]:
    """The scores of all agents that have records, best first; agents without a score come after all that have one.

    Records of tasks that are not in the panel do not count, unless the panel is of a frozen population: there they are
    an error.

    Raises:
        InputError: a record was not made as the panel's were, is there twice, or contradicts itself.
    """
    agents = by_agent(records)
    for record in records:
        panel.require_comparable(record)
    scales = {task: panel.scale(task) for task in panel.tasks}
    rows = [_agent_score(agent, panel, scales, tasks) for agent, tasks in agents.items()]
    return sorted(rows, key=lambda row: (row.score is None, -(row.score or 0.0), row.agent))


def _agent_score(
    agent: str, panel: Panel, scales: Mapping[str, Scale | None], records: Mapping[str, Record]
) -> AgentScore:
    tasks = {task: task_score(records.get(task), scale) for task, scale in scales.items()}
    points = [task.score for task in tasks.values() if task.score is not None]
    count, complete = len(tasks), len(points) == len(tasks)
    return AgentScore(
        agent=agent,
        panel=panel.name,
        score=statistics.mean(points) if complete else None,
        lower=sum(task.lower for task in tasks.values()) / count,
        upper=sum(task.upper for task in tasks.values()) / count,
        success_credit=_total(tasks, State.RESOLVED) / count if complete else None,
        failure_penalty=-_total(tasks, State.FAILED) / count if complete else None,
        published_resolve_rate=require_one_rate(records.values()),
        tasks=tasks,
    )


def task_score(record: Record | None, scale: Scale | None) -> TaskScore:
    """What an attempt is worth.

    Args:
        record: None when there is none.
        scale: of the task's references; None when it has none.

    Raises:
        InputError: an attempt that was never made has a patch or metrics, or metrics are estimates from hunks.
    """
    if record is None or record.evaluation is Evaluation.UNKNOWN:
        return TaskScore(State.UNKNOWN, None, *UNKNOWN_BOUNDS)
    if record.evaluation is Evaluation.NO_ATTEMPT:
        return _no_attempt(record)
    lower, upper = SOLVED_BOUNDS if record.resolved else FAILED_BOUNDS
    if not record.resolved and record.analysis_status == "empty_patch" and record.metrics is None:
        net, churn = 0, 0  # evaluated and explicitly empty: nothing to measure, and a footprint of nothing
    elif (metrics := measured_in_full(record)) is None:
        return TaskScore(State.MISSING_METRICS, None, lower, upper)
    elif metrics.out_of_scope:
        return TaskScore(State.OUT_OF_SCOPE, None, lower, upper)
    else:
        net, churn = units(metrics)
    if scale is None:
        return TaskScore(State.UNCALIBRATED, None, lower, upper)
    return _success(scale, net, churn) if record.resolved else _failure(scale, net, churn)


def _no_attempt(record: Record) -> TaskScore:
    for there, what in ((record.has_patch, "a patch that is not empty"), (record.metrics is not None, "metrics")):
        if there:
            mend = "remove the category or what contradicts it"
            raise record.error(f"is said to have made no attempt, and has {what}", mend, "published_result_categories")
    return TaskScore(State.NO_ATTEMPT, 0, 0, 0)


def _success(scale: Scale, net: int, churn: int) -> TaskScore:
    net_percentile, churn_percentile = scale.percentiles(net, churn)
    value = success_score(blend(net_percentile, churn_percentile))
    parts = {"net_percentile": net_percentile, "churn_percentile": churn_percentile}
    return TaskScore(State.RESOLVED, value, value, value, parts)


def _failure(scale: Scale, net: int, churn: int) -> TaskScore:
    burden = blend(*scale.burdens(net, churn))
    value = failure_score(burden)
    parts = {"failure_scale": scale.failure_scale, "failure_burden": burden}
    return TaskScore(State.FAILED, value, value, value, parts)


def _total(tasks: Mapping[str, TaskScore], state: State) -> float:
    return sum(task.score for task in tasks.values() if task.state is state and task.score is not None)
