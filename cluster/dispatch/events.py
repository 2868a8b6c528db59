"""What can happen to a run. Everything the dispatcher knows, it was told by one of these."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.dispatch.model import Ending, Job


@dataclass(frozen=True, slots=True)
class JobsAdded:
    """More work. A key that is already known refuses the whole event."""

    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class AgentJoined:
    """An agent is ready.

    Attributes:
        agent: its name, not in use by another.
        slots: attempts that it runs at once.
        images: images that it holds already.
        prefetch: attempts that it takes on top of its slots and keeps waiting, so that a slot never idles for the
            time of a message.
    """

    agent: str
    slots: int
    images: frozenset[str] = frozenset()
    prefetch: int = 0


@dataclass(frozen=True, slots=True)
class AgentLost:
    """An agent is gone, and with it whatever it ran."""

    agent: str
    reason: str


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """An attempt came back.

    Attributes:
        ending: DONE, TEMPORARY, PERMANENT, or LOST when only its reply is gone.
        fault: class name of the fault; empty when DONE.
        message: what it said.
        retry_after: seconds that the fault asks to wait at least.
    """

    job_key: str
    attempt: int
    ending: Ending
    fault: str = ""
    message: str = ""
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed, nothing else."""


@dataclass(frozen=True, slots=True)
class DrainRequested:
    """Start nothing more; the run is over when nothing runs."""


@dataclass(frozen=True, slots=True)
class BudgetExhausted:
    """A cap of the budget is reached, `reason` says which: a drain that nobody asked for."""

    reason: str


@dataclass(frozen=True, slots=True)
class StopRequested:
    """Call everything off; the run is over."""


@dataclass(frozen=True, slots=True)
class ConcurrencyChanged:
    """At most `limit` attempts at once over all agents from now on; None = as many as the agents take."""

    limit: int | None


@dataclass(frozen=True, slots=True)
class PauseRequested:
    """Start nothing more until `ResumeRequested`; what runs goes on."""


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    """Start attempts again."""


Event = (
    JobsAdded
    | AgentJoined
    | AgentLost
    | AttemptFinished
    | Tick
    | DrainRequested
    | BudgetExhausted
    | StopRequested
    | ConcurrencyChanged
    | PauseRequested
    | ResumeRequested
)
