"""The catalogue of every series that is exported. docs/metrics.md, rules and dashboards are held to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

PREFIX: Final = "parsimony_"

LABEL_VALUES: Final = 50
"""A label that people fill (arms, faults, phases) has at most so many values; the rest are added up as `OTHER`."""
OTHER: Final = "(other)"


class Kind(StrEnum):
    """Types of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Series:
    """One name.

    Attributes:
        name: as it is scraped, `_total` of counters included.
        labels: in the order of their values.
        unit: of a value, in words.
        help: one sentence.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    unit: str
    help: str

    @property
    def samples(self) -> tuple[str, ...]:
        """Names that queries may use."""
        if self.kind is Kind.HISTOGRAM:
            return tuple(f"{self.name}{suffix}" for suffix in ("_bucket", "_sum", "_count"))
        return (self.name,)


def _counter(name: str, labels: str, unit: str, help: str) -> Series:  # noqa: A002 - Prometheus' own word
    return Series(f"{PREFIX}{name}_total", Kind.COUNTER, tuple(labels.split()), unit, help)


def _gauge(name: str, labels: str, unit: str, help: str) -> Series:  # noqa: A002
    return Series(f"{PREFIX}{name}", Kind.GAUGE, tuple(labels.split()), unit, help)


ALL: Final = (
    _gauge("build_info", "version", "always 1", "Which parsimony exports this."),
    _gauge("ledger_readable", "sweep", "0 or 1", "Whether the last look at the ledger went well; 0 = older numbers."),
    _counter("jobs", "sweep outcome", "jobs", "Distinct executions that ended, by outcome; `missing` = given up."),
    _gauge("planned_jobs", "sweep", "jobs", "Distinct executions of the newest plan."),
    _gauge(
        "queue_jobs",
        "sweep state",
        "jobs",
        "Jobs of the newest plan by state; `running` is told by the driver alone, elsewhere they are `pending`.",
    ),
    _gauge("planned_candidates", "sweep", "candidates", "Planned task × arm × seed × repeat of the newest plan."),
    _gauge("candidates", "sweep arm outcome", "candidates", "Candidates and repeats by their newest verdict."),
    _counter("attempts", "sweep outcome", "attempts", "Attempts at jobs that ended, by how they ended."),
    _counter("faults", "sweep fault", "attempts", "Attempts that a fault of infrastructure ended, by its class."),
    _counter("retries", "sweep fault", "attempts", "Attempts at a job after one that a fault ended, by it."),
    _counter("tokens", "sweep arm kind", "tokens", "Of producing the candidates, as predictions tell."),
    _counter("calls", "sweep arm", "calls", "Of models, in producing the candidates, as predictions tell."),
    _counter("cpu_seconds", "sweep arm kind", "seconds", "Of processors: `llm` producing, `compute` grading, once."),
    _counter("container_seconds", "sweep arm", "seconds", "Wall time of executions in sandboxes, each once."),
    _counter("cost_dollars", "sweep arm kind", "dollars", "What was spent and is known: `llm` and `compute`."),
    _counter(
        "attributed_cost_dollars",
        "sweep arm",
        "dollars",
        "What grading would have cost each candidate alone; beside, never added to, what was spent.",
    ),
    _counter("unpriced_costs", "sweep arm kind", "costs", "Costs whose dollars nobody knows: they are in no sum."),
    Series(
        f"{PREFIX}job_phase_seconds",
        Kind.HISTOGRAM,
        ("sweep", "phase"),
        "seconds",
        "How long jobs were in each phase of their execution.",
    ),
    _counter("image_pulls", "sweep", "pulls", "Images that had to be pulled for a job."),
    _counter("orphans_removed", "sweep", "sandboxes", "What dead drivers left behind and a later one removed."),
    _gauge("budget_limit_dollars", "sweep", "dollars", "Cap of the run's budget."),
    _gauge("budget_spent_dollars", "sweep", "dollars", "What counts against that cap and is known."),
    _gauge("budget_limit_tokens", "sweep", "tokens", "Cap of the run's budget."),
    _gauge("budget_spent_tokens", "sweep", "tokens", "What counts against that cap."),
    _gauge("budget_limit_seconds", "sweep", "seconds", "Cap on the wall time of all commands together."),
    _gauge("budget_spent_seconds", "sweep", "seconds", "Wall time of all commands that worked on the run."),
    _gauge("forecast_dollars", "sweep", "dollars", "What grading the jobs of the newest forecast was to cost."),
    _gauge("forecast_seconds", "sweep", "seconds", "Wall time that it was to take."),
    _gauge("sweep_started_timestamp_seconds", "sweep", "seconds since 1970", "When the newest command on it began."),
    _gauge(
        "sweep_ended_timestamp_seconds",
        "sweep",
        "seconds since 1970",
        "When the newest command on it ended; absent while one is at work, or was killed.",
    ),
    _gauge(
        "last_progress_timestamp_seconds",
        "sweep",
        "seconds since 1970",
        "When a job last ended, or the newest plan was made.",
    ),
    _gauge(
        "last_success_timestamp_seconds",
        "sweep",
        "seconds since 1970",
        "When the newest command ended, if every planned candidate has its verdict.",
    ),
    _gauge(
        "nightly_timestamp_seconds",
        "sweep outcome",
        "seconds since 1970",
        "When a night of the nightly last came to this outcome.",
    ),
)

BY_NAME: Final = MappingProxyType({series.name: series for series in ALL})
