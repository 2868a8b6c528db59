"""The scheduler, a pure state machine: `Dispatcher.handle(*events, now) -> commands`; others carry them out."""

from cluster.dispatch.commands import (
    Cancel,
    Command,
    Finished,
    Quarantined,
    RecordAttempt,
    RecordTerminal,
    Start,
    WakeAt,
)
from cluster.dispatch.dispatcher import Dispatcher
from cluster.dispatch.events import (
    AgentJoined,
    AgentLost,
    AttemptFinished,
    ConcurrencyChanged,
    DrainRequested,
    Event,
    JobsAdded,
    PauseRequested,
    ResumeRequested,
    StopRequested,
    Tick,
)
from cluster.dispatch.model import Counts, Ending, InvalidEvent, Job, JobState, Policy, RunEnding, Step

__all__ = [
    "AgentJoined",
    "AgentLost",
    "AttemptFinished",
    "Cancel",
    "Command",
    "ConcurrencyChanged",
    "Counts",
    "Dispatcher",
    "DrainRequested",
    "Ending",
    "Event",
    "Finished",
    "InvalidEvent",
    "Job",
    "JobState",
    "JobsAdded",
    "PauseRequested",
    "Policy",
    "Quarantined",
    "RecordAttempt",
    "RecordTerminal",
    "ResumeRequested",
    "RunEnding",
    "Start",
    "Step",
    "StopRequested",
    "Tick",
    "WakeAt",
]
