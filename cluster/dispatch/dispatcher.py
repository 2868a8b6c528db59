"""The scheduler as a state machine: events in, commands out. No I/O, no clock, no randomness of its own."""

from __future__ import annotations

from collections.abc import Iterable

from cluster.dispatch import events as on
from cluster.dispatch import invariants
from cluster.dispatch.agents import Agents, AgentState
from cluster.dispatch.breaker import Breaker
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
from cluster.dispatch.jobs import Entry, Jobs
from cluster.dispatch.model import Counts, Ending, InvalidEvent, Job, JobState, Policy, RunEnding, Step
from cluster.dispatch.priorities import PriorityMap
from cluster.dispatch.retry import backoff
from cluster.dispatch.waiting import WaitingJobs

_JOB, _AGENT, _AGENTLESS = "job", "agent", "agentless"
_REASON_LENGTH = 300


class Dispatcher:
    """Decides which attempt runs where and when, what a fault leads to, and when a run is over.

    One call of `handle` costs O(log jobs) amortised per event and per command (times the agents that hold an image,
    see `WaitingJobs`). Equal events at equal times give equal commands, always.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self._jobs = Jobs()
        self._agents = Agents(self.policy)
        self._waiting = WaitingJobs(self._agents.room, self.policy.pulls, self.policy.prefetch_share)
        self._parked: dict[str, AgentState] = {}  # agents that found nothing, which holds until something changes
        self._parked_at = 0
        self._breaker = Breaker(self.policy)
        self._timers: PriorityMap[tuple[str, str]] = PriorityMap()
        self._limit: int | None = None
        self._paused = False
        self._drain: Finished | None = None  # how a run that starts nothing more will end
        self._expecting = True  # no job was ever announced
        self._ended: Finished | None = None
        self._last_loss = ""
        self._now = float("-inf")
        self._wake: float | None = None
        self._out: list[Command] = []

    @property
    def counts(self) -> Counts:
        """Jobs by state."""
        return self._jobs.counts

    @property
    def ended(self) -> Finished | None:
        """How the run ended; None while it goes on."""
        return self._ended

    def story(self, key: str) -> tuple[Step, ...]:
        """What happened to a job, oldest first.

        Raises:
            InvalidEvent: there is no such job.
        """
        return tuple(self._jobs[key].story)

    def reasons(self, key: str) -> tuple[str, ...]:
        """Every fault and loss that a job met, one line each, oldest first."""
        return self._jobs[key].reasons

    def validate(self) -> None:
        """Check every invariant, at a cost of O(jobs): for tests and for hunting faults.

        Raises:
            AssertionError: one does not hold.
        """
        invariants.check(self)

    def handle(self, *events: on.Event, now: float, start: bool = True) -> list[Command]:
        """Take note of `events`, which happened until `now`, and say what is to be done.

        Args:
            now: seconds on any clock that never goes back.
            start: False starts nothing in this call, for whoever must weigh what has ended before more is started.

        Raises:
            InvalidEvent: an event that cannot have happened. The dispatcher must not be used any further.
        """
        if now < self._now:
            raise InvalidEvent(f"time went back from {self._now} to {now}")
        self._now = now
        out: list[Command] = []
        self._out = out
        for event in events:
            self._take_note(event)
        assign = (self._assign,) if start else ()
        for settle in (self._check_breaker, self._fire_timers, *assign, self._watch_agents, self._check_finished):
            if self._ended is None:
                settle()
        self._arm_wake()
        return out

    def _take_note(self, event: on.Event) -> None:
        if self._ended is not None:
            if isinstance(event, on.JobsAdded):
                raise InvalidEvent("jobs were added after the end of the run")
            return
        match event:
            case on.AttemptFinished():
                self._attempt_finished(event)
            case on.JobsAdded(jobs):
                self._add(jobs)
            case on.AgentJoined(agent, slots, images, prefetch):
                self._agents.join(agent, slots, prefetch)
                self._waiting.join(agent, images, slots)
            case on.AgentLost(agent, reason):
                self._agent_lost(agent, reason)
            case on.DrainRequested() | on.BudgetExhausted():
                self._drain = self._drain or _end_of_drain(event)
            case on.StopRequested():
                self._call_off(Finished(RunEnding.STOPPED, "stopped on request"))
            case on.ConcurrencyChanged(limit):
                self._limit = limit
            case on.PauseRequested():
                self._paused = True
            case on.ResumeRequested():
                self._paused = False
            case on.Tick():
                pass

    def _add(self, jobs: tuple[Job, ...]) -> None:
        self._jobs.add(jobs, self._now)
        self._expecting = False
        for job in jobs:
            self._waiting.announce(job)
            self._waiting.put(job)

    # -- attempts that end ----------------------------------------------------------------------------------------

    def _attempt_finished(self, event: on.AttemptFinished) -> None:
        entry = self._jobs[event.job_key]
        if not entry.job.attempted < event.attempt <= entry.attempts:
            raise InvalidEvent(f"job {event.job_key} never had an attempt {event.attempt}")
        live = entry.state is JobState.RUNNING and event.attempt == entry.attempts
        agent = entry.agent_of(event.attempt)
        self._out.append(
            RecordAttempt(
                entry.job, event.attempt, agent, event.ending, event.fault, event.message, superseded=not live
            )
        )
        if not live:
            return
        self._release(entry, agent)
        match event.ending:
            case Ending.DONE:
                self._done(entry, agent)
            case Ending.TEMPORARY:
                self._temporary(entry, agent, event)
            case Ending.PERMANENT:
                self._note_fault(entry, agent, event.fault, event.message)
                self._missing(entry)
            case Ending.LOST:
                self._blame(agent, event.message)
                self._lost(entry, agent, event.message)
            case Ending.CANCELLED:
                raise InvalidEvent(f"attempt {event.attempt} of job {event.job_key} was cancelled by nobody")

    def _done(self, entry: Entry, agent: str) -> None:
        self._jobs.move(entry, JobState.DONE, self._now, agent=agent)
        self._waiting.ended(entry.job)
        self._out.append(RecordTerminal(entry.job, entry.attempts, ()))
        self._breaker.succeeded()
        if self._agents.succeeded(agent):
            self._timers.discard((_AGENT, agent))
            self._waiting.trust(agent)

    def _temporary(self, entry: Entry, agent: str, event: on.AttemptFinished) -> None:
        note = self._note_fault(entry, agent, event.fault, event.message)
        entry.faults += 1
        self._blame(agent, note)
        if entry.faults >= self.policy.max_faults:
            self._missing(entry)
        else:
            wait = backoff(self.policy, entry.job.key, event.attempt, entry.faults, event.retry_after)
            entry.avoid = agent
            self._jobs.move(entry, JobState.DELAYED, self._now, agent=agent, note=note)
            self._timers.set((_JOB, entry.job.key), self._now + wait)

    def _lost(self, entry: Entry, agent: str, message: str) -> None:
        """An attempt went with its agent: not the job's fault, unless it happens too often."""
        note = self._note_fault(entry, agent, "lost", message)
        entry.losses += 1
        if entry.losses >= self.policy.max_losses:
            self._missing(entry)
        else:
            self._jobs.move(entry, JobState.WAITING, self._now, agent=agent, note=note)
            self._waiting.put(entry.job, avoid=agent)

    def _missing(self, entry: Entry) -> None:
        self._jobs.move(entry, JobState.MISSING, self._now, note=entry.reasons[-1])
        self._waiting.ended(entry.job)
        self._out.append(RecordTerminal(entry.job, None, entry.reasons))

    def _release(self, entry: Entry, agent: str) -> None:
        entry.agent = None
        self._agents.end(agent, entry.job.key)

    def _note_fault(self, entry: Entry, agent: str, fault: str, message: str) -> str:
        note = f"attempt {entry.attempts} on {agent}: {fault}: {_summary(message)}"
        entry.reasons = (*entry.reasons, note)
        self._breaker.failed(entry.job, note)
        return note

    def _blame(self, agent: str, reason: str) -> None:
        if self._agents.failed(agent):
            until = self._now + self.policy.quarantine_seconds
            self._timers.set((_AGENT, agent), until)
            self._waiting.distrust(agent)
            self._out.append(Quarantined(agent, until, reason))

    def _check_breaker(self) -> None:
        if self._jobs.open > 0 and self._breaker.tripped(len(self._jobs.images)):
            fault = self._breaker.last_fault
            reason = f"no job has succeeded and all that were tried met faults of the infrastructure, the last: {fault}"
            self._call_off(Finished(RunEnding.HALTED, reason))

    # -- agents, time, and the end --------------------------------------------------------------------------------

    def _agent_lost(self, name: str, reason: str) -> None:
        agent = self._agents.leave(name)
        self._parked.pop(name, None)
        self._last_loss = f"{name}: {_summary(reason)}"
        self._waiting.leave(name)
        self._timers.discard((_AGENT, name))
        for key in sorted(agent.live):
            entry = self._jobs[key]
            entry.agent = None
            self._out.append(RecordAttempt(entry.job, entry.attempts, name, Ending.LOST, "NodeLost", reason))
            self._lost(entry, name, reason)

    def _fire_timers(self) -> None:
        while (timer := self._timers.first()) is not None and self._timers[timer] <= self._now:
            self._timers.discard(timer)
            match timer:
                case (kind, key) if kind == _JOB:
                    entry = self._jobs[key]
                    self._jobs.move(entry, JobState.WAITING, self._now)
                    self._waiting.put(entry.job, avoid=entry.avoid)
                case (kind, name) if kind == _AGENT:
                    self._agents.release(name)
                case _:
                    self._call_off(Finished(RunEnding.HALTED, self._agentless()))
                    return

    def _agentless(self) -> str:
        reason = f"there was work but no agent for {self.policy.agentless_seconds:g} s"
        return f"{reason}; the last one was lost: {self._last_loss}" if self._last_loss else reason

    def _assign(self) -> None:
        """Give waiting jobs to agents, the least loaded first, until one of the two runs out."""
        if self._waiting.changes != self._parked_at:
            self._wake_parked(self._parked)
        while self._may_start():
            agent = self._agents.least_loaded() or self._parked_for_a_pull()
            if agent is None:
                break
            alone = self._agents.usable == 1
            job = self._waiting.take(agent.name, alone=alone, idle=agent.load < 1)
            if job is None:
                self._agents.set_aside(agent)
                self._parked[agent.name] = agent
                self._parked_at = self._waiting.changes
            else:
                self._start(job, agent)

    def _parked_for_a_pull(self) -> AgentState | None:
        """An agent that found nothing before and may now pull what the agents that hold it have no slot for."""
        if not self._parked or not self._waiting.worth_a_pull():
            return None
        agent = min(self._parked.values(), key=lambda one: (-one.room, one.name))
        if agent.room == 0:
            return None
        self._wake_parked([agent.name])
        return agent

    def _wake_parked(self, names: Iterable[str]) -> None:
        for name in list(names):
            self._agents.offer_again(self._parked.pop(name))

    def _may_start(self) -> bool:
        if self._drain is not None or self._paused or not self._waiting:
            return False
        return self._limit is None or self._jobs.count(JobState.RUNNING) < self._limit

    def _start(self, job: Job, agent: AgentState) -> None:
        entry = self._jobs[job.key]
        self._jobs.begin(entry, agent.name, self._now)
        self._agents.begin(agent, job.key)
        self._out.append(Start(job, entry.attempts, agent.name))

    def _watch_agents(self) -> None:
        timer = (_AGENTLESS, "")
        if len(self._agents) > 0 or self._jobs.open == 0:
            self._timers.discard(timer)
        elif timer not in self._timers:
            self._timers.set(timer, self._now + self.policy.agentless_seconds)

    def _call_off(self, finished: Finished) -> None:
        """End the run now. What runs is called off and stays without a terminal record, as what waits does."""
        for agent in self._agents:
            for key in sorted(agent.live):
                entry = self._jobs[key]
                number = entry.attempts
                entry.agent = None
                self._jobs.move(entry, JobState.WAITING, self._now, agent=agent.name, note=finished.reason)
                self._waiting.put(entry.job)
                self._out.append(Cancel(key, number, agent.name))
                self._out.append(
                    RecordAttempt(entry.job, number, agent.name, Ending.CANCELLED, "Cancelled", finished.reason)
                )
            agent.live.clear()
        self._finish(finished)

    def _check_finished(self) -> None:
        if self._jobs.open == 0 and not self._expecting:
            self._finish(Finished(RunEnding.COMPLETED))
        elif self._drain is not None and self._jobs.count(JobState.RUNNING) == 0:
            self._finish(self._drain)

    def _finish(self, finished: Finished) -> None:
        self._ended = finished
        self._out.append(finished)

    def _arm_wake(self) -> None:
        wake = None if self._ended else self._timers.first_priority()
        if wake != self._wake:
            self._wake = wake
            self._out.append(WakeAt(wake))


def _end_of_drain(event: on.DrainRequested | on.BudgetExhausted) -> Finished:
    if isinstance(event, on.BudgetExhausted):
        return Finished(RunEnding.EXHAUSTED, event.reason)
    return Finished(RunEnding.DRAINED, "drained on request")


def _summary(message: str) -> str:
    """The last line that says something (of a traceback: the error itself), cut to a bearable length."""
    lines = [line for line in message.splitlines() if line.strip()]
    return lines[-1].strip()[:_REASON_LENGTH] if lines else "no message"
