"""Every job of a run and its state. The one place where a state changes, and where the story of a job is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cluster.dispatch.model import Counts, InvalidEvent, Job, JobState, Step

EDGES: Final[Mapping[JobState, frozenset[JobState]]] = {
    JobState.WAITING: frozenset({JobState.RUNNING}),
    JobState.DELAYED: frozenset({JobState.WAITING}),
    JobState.RUNNING: frozenset({JobState.DONE, JobState.MISSING, JobState.DELAYED, JobState.WAITING}),
    JobState.DONE: frozenset(),
    JobState.MISSING: frozenset(),
}
"""Which state may follow which. RUNNING -> WAITING: its agent was lost, or the attempt was called off."""


@dataclass(slots=True)
class Entry:
    """What is known of one job.

    Attributes:
        attempts: the number of the last one; 0 when there never was one.
        agent: who has the live attempt; None when there is none.
        avoid: the agent that failed it last.
        faults, losses: how many temporary faults and lost agents it has met.
        reasons: one line for each fault or loss.
    """

    job: Job
    state: JobState = JobState.WAITING
    attempts: int = 0
    agent: str | None = None
    avoid: str | None = None
    faults: int = 0
    losses: int = 0
    reasons: tuple[str, ...] = ()
    story: list[Step] = field(default_factory=list)

    def agent_of(self, attempt: int) -> str:
        """Who ran `attempt`."""
        return next(step.agent for step in self.story if step.attempt == attempt and step.state is JobState.RUNNING)


class Jobs:
    """Jobs by key, with counts by state."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._by_state = dict.fromkeys(JobState, 0)
        self.images: set[str | None] = set()
        self.retried = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __getitem__(self, key: str) -> Entry:
        entry = self._entries.get(key)
        if entry is None:
            raise InvalidEvent(f"there is no job {key}")
        return entry

    def count(self, state: JobState) -> int:
        """Jobs in `state`."""
        return self._by_state[state]

    @property
    def open(self) -> int:
        """Jobs that are not terminal."""
        return len(self._entries) - self._by_state[JobState.DONE] - self._by_state[JobState.MISSING]

    @property
    def counts(self) -> Counts:
        """All of them at once."""
        of = self._by_state
        return Counts(
            total=len(self._entries),
            waiting=of[JobState.WAITING] + of[JobState.DELAYED],
            delayed=of[JobState.DELAYED],
            running=of[JobState.RUNNING],
            done=of[JobState.DONE],
            missing=of[JobState.MISSING],
            retried=self.retried,
        )

    def add(self, jobs: Iterable[Job], now: float) -> None:
        """Add jobs, all or none.

        Raises:
            InvalidEvent: a key came twice.
        """
        new: dict[str, Job] = {}
        for job in jobs:
            if job.key in new or job.key in self._entries:
                raise InvalidEvent(f"job {job.key} was added twice: identical work must be planned once")
            new[job.key] = job
        for key, job in new.items():
            self._entries[key] = Entry(job, attempts=job.attempted, story=[Step(now, JobState.WAITING)])
            self.images.add(job.image)
        self._by_state[JobState.WAITING] += len(new)

    def begin(self, entry: Entry, agent: str, now: float) -> None:
        """The next attempt of a waiting job starts on `agent`."""
        entry.attempts += 1
        entry.agent = agent
        self.retried += entry.attempts > entry.job.attempted + 1
        self.move(entry, JobState.RUNNING, now, agent=agent)

    def move(self, entry: Entry, state: JobState, now: float, *, agent: str = "", note: str = "") -> None:
        """Change the state of a job and write it into its story.

        Raises:
            InvalidEvent: there is no such edge; the message tells the story so far.
        """
        if state not in EDGES[entry.state]:
            told = "; ".join(f"{step.at:g} {step.state} {step.note}".rstrip() for step in entry.story)
            raise InvalidEvent(f"job {entry.job.key} cannot go from {entry.state} to {state}; its story: {told}")
        self._by_state[entry.state] -= 1
        self._by_state[state] += 1
        entry.state = state
        entry.story.append(Step(now, state, entry.attempts, agent, note))
