"""What the dispatcher wants done, in the order in which it wants it done."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.dispatch.model import Ending, Job, RunEnding


@dataclass(frozen=True, slots=True)
class Start:
    """Start attempt `attempt` (they count from 1) of `job` on `agent`."""

    job: Job
    attempt: int
    agent: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Call off an attempt that still runs. Its end is recorded already: what it may still reply is of no interest."""

    job_key: str
    attempt: int
    agent: str


@dataclass(frozen=True, slots=True)
class RecordAttempt:
    """Record the end of an attempt.

    Attributes:
        superseded: the attempt was given up before; its end changes nothing.
    """

    job: Job
    attempt: int
    agent: str
    ending: Ending
    fault: str = ""
    message: str = ""
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class RecordTerminal:
    """Record the one terminal result of a job.

    Attributes:
        attempt: the attempt whose execution counts; None = the job is missing.
        reasons: every fault that the job met, oldest first.
    """

    job: Job
    attempt: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An agent gets no work until `until`. For the log; nothing needs to be done."""

    agent: str
    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Call again at `time` at the latest. Each one replaces the one before; None = no need."""

    time: float | None


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over; nothing will be commanded any more. `reason` says why when it did not complete."""

    ending: RunEnding
    reason: str = ""


Command = Start | Cancel | RecordAttempt | RecordTerminal | Quarantined | WakeAt | Finished
