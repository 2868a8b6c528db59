"""The nouns of dispatch: jobs, how attempts and runs end, the policy, and what can be asked about a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from parsimony.errors import InputError, ParsimonyError

Order = tuple[float, int, str]
"""Where a job stands in line: smaller goes first, no two jobs are equal."""


UNKNOWN_S: Final = 60.0
"""Weight of a job of unknown length. Where none is known, only that they weigh the same matters."""


class InvalidEvent(ParsimonyError):
    """An event that cannot have happened: the driver or an engine is wrong."""


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work, known by its content.

    Attributes:
        key: the content key; two jobs of a run never share one.
        image: what its sandbox runs; None = no image.
        expected_seconds: how long it is expected to run; None = unknown.
        rank: tie-breaker among jobs of equal length, smaller first.
        attempted: attempts that earlier runs made; numbers go on after them, so that none is ever used twice.
    """

    key: str
    image: str | None = None
    expected_seconds: float | None = None
    rank: int = 0
    attempted: int = 0

    @property
    def order(self) -> Order:
        """Longest first, so that no long job is left for the end; an unknown length may be long and goes before all."""
        seconds = inf if self.expected_seconds is None else self.expected_seconds
        return (-seconds, self.rank, self.key)

    @property
    def weight(self) -> float:
        """Seconds that it counts for among others; a job of unknown length for `UNKNOWN_S`."""
        return UNKNOWN_S if self.expected_seconds is None else self.expected_seconds


@dataclass(frozen=True, slots=True)
class Policy:
    """How faults are met. All times in seconds.

    Attributes:
        max_faults: temporary faults of one job before it is missing.
        max_losses: lost agents that one job may see before it is missing: it may be what kills them.
        backoff_seconds: wait after the first fault of a job; doubles with each further one.
        backoff_limit_seconds: the longest such wait, before jitter.
        jitter: share by which a wait is lengthened at most; how much of it, the job's key and attempt decide.
        quarantine_after: faults in a row after which an agent gets no work for `quarantine_seconds`, and then one
            attempt at a time until one succeeds.
        quarantine_seconds: see `quarantine_after`.
        breaker_jobs: the run is halted when its first so many jobs all met infrastructure faults.
        agentless_seconds: the run is halted when it had work but no agent for so long.
        pulls: images that others hold are pulled only while all pulls stay under so many per image or agent, whichever
            are more.
        prefetch_share: a job waits at an agent whose slots are taken only if it takes at most this share of what is
            left to do per slot: what waits there, no other agent can take.
    """

    max_faults: int = 3
    max_losses: int = 5
    backoff_seconds: float = 2.0
    backoff_limit_seconds: float = 120.0
    jitter: float = 0.5
    quarantine_after: int = 6
    quarantine_seconds: float = 60.0
    breaker_jobs: int = 6
    agentless_seconds: float = 300.0
    pulls: float = 1.2
    prefetch_share: float = 0.1

    def __post_init__(self) -> None:
        for name in ("max_faults", "max_losses", "quarantine_after", "breaker_jobs"):
            if getattr(self, name) < 1:
                raise InputError("must be at least 1", mend="give a positive whole number", field=name)
        for name in _TIMES:
            if not 0 <= getattr(self, name) < inf:
                raise InputError("must be a number of at least 0", mend="give a finite number", field=name)
        if not self.prefetch_share >= 0:
            raise InputError("must be at least 0", mend="give a share, for example 0.1", field="prefetch_share")
        if not 1 <= self.pulls < inf:
            raise InputError("must be at least 1", mend="every image is pulled once at least", field="pulls")


_TIMES: Final = ("backoff_seconds", "backoff_limit_seconds", "jitter", "quarantine_seconds", "agentless_seconds")


class JobState(StrEnum):
    """Where a job is. DONE and MISSING are terminal."""

    WAITING = "waiting"
    DELAYED = "delayed"
    RUNNING = "running"
    DONE = "done"
    MISSING = "missing"


class Ending(StrEnum):
    """How an attempt ended: with an execution, with a fault of either kind, with its agent, or called off."""

    DONE = "done"
    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    LOST = "lost"
    CANCELLED = "cancelled"


class RunEnding(StrEnum):
    """How a run ended: every job terminal, drained, drained because a budget was exhausted, stopped, or halted because
    going on was pointless."""

    COMPLETED = "completed"
    DRAINED = "drained"
    EXHAUSTED = "exhausted"
    STOPPED = "stopped"
    HALTED = "halted"


class Step(NamedTuple):
    """One line of a job's story.

    Attributes:
        at: seconds, by the clock that the dispatcher is told.
        state: what the job became.
        attempt: the attempt concerned; 0 = none.
        agent: the agent concerned; empty = none.
        note: why, in plain words.
    """

    at: float
    state: JobState
    attempt: int = 0
    agent: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """Jobs by state, and how many attempts were second or later ones. `waiting` includes the delayed."""

    total: int
    waiting: int
    delayed: int
    running: int
    done: int
    missing: int
    retried: int
