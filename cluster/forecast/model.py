"""A forecast: numbers with intervals, where each comes from, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

SCHEMA: Final = 1
"""Version of `plan.json`."""

LEVEL: Final = 0.9
"""Share of forecasts whose truth should lie inside the interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of a forecast.

    Attributes:
        expected: the median; None = unknown.
        low, high: the interval of level `LEVEL` around it; None where there is none.
        at_most: the time limits allow no more; None = no such bound.
        why: why it is unknown, or what it leaves out.
    """

    expected: float | None = None
    low: float | None = None
    high: float | None = None
    at_most: float | None = None
    why: str = ""

    def holds(self, actual: float | None) -> bool | None:
        """Whether `actual` is inside the interval; None where one of the two is not known."""
        if actual is None or self.low is None or self.high is None:
            return None
        return self.low <= actual <= self.high


@dataclass(frozen=True, slots=True)
class Jobs:
    """What is to be done.

    Attributes:
        candidates: planned task × arm × seed. units: those × repeats.
        settled: units that need no execution, by outcome (an empty patch, no candidate).
        shared: units whose execution another unit has already asked for.
        distinct: executions. done: of them those that the folder has. pending: the rest.
    """

    candidates: int
    units: int
    settled: Mapping[str, int]
    shared: int
    distinct: int
    done: int
    pending: int


@dataclass(frozen=True, slots=True)
class Images:
    """Images that the pending jobs need.

    Attributes:
        distinct: how many. here: of them those that the local engine holds; None = no engine was asked.
        pulls: over all nodes. pulls_per_node: of the node that pulls most.
        bytes_per_node: of images that a node has to pull, as the local engine tells their size.
        unknown_sizes: images whose size nobody here knows; `bytes_per_node` leaves them out.
    """

    distinct: int
    here: int | None
    pulls: Estimate
    pulls_per_node: Estimate
    bytes_per_node: Estimate
    unknown_sizes: int


@dataclass(frozen=True, slots=True)
class Producing:
    """What making the candidates has cost already, as their rows tell. `dollars` is None where not all are known."""

    tokens: int
    dollars: float | None
    without_usage: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Everything that `parsimony plan` says.

    Attributes:
        sources: pending jobs by what their durations come from: `task`, `image`, `repository`, `all`, `unknown`.
        history: executions by past run.
        assumed: what no record tells and was assumed, in words.
        disk_results: bytes that ledger and logs will take.
    """

    sweep: str
    nodes: int
    slots: int
    jobs: Jobs
    sources: Mapping[str, int]
    history: Mapping[str, int]
    cpu_hours: Estimate
    wall_seconds: Estimate
    dollars: Estimate
    producing: Producing
    images: Images
    disk_results: Estimate
    assumed: tuple[str, ...] = ()
    made_at: float = 0.0
    level: float = field(default=LEVEL)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data; see docs/planning.md."""
        return {"schema": SCHEMA, **asdict(self)}
