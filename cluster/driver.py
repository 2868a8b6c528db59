"""The shell around the dispatcher: it carries commands out and brings events in; engine, sink, clock and signals."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from cluster.agent import Done, Fault, Order
from cluster.dispatch import (
    AgentJoined,
    AgentLost,
    AttemptFinished,
    BudgetExhausted,
    Cancel,
    Command,
    ConcurrencyChanged,
    Counts,
    Dispatcher,
    DrainRequested,
    Ending,
    Event,
    Finished,
    Job,
    JobsAdded,
    PauseRequested,
    Policy,
    Quarantined,
    RecordAttempt,
    RecordTerminal,
    ResumeRequested,
    RunEnding,
    Start,
    Step,
    StopRequested,
    Tick,
    WakeAt,
)
from cluster.engines import Engine, EngineEvent, Replied, ReplyLost
from cluster.interrupts import interrupts
from parsimony.errors import TemporaryError
from parsimony.execution import Execution

log = structlog.get_logger(__name__)

FLUSH_S: Final = 0.2
"""Seconds that a record may wait to become durable."""

BUDGET_S: Final = 1.0
"""Seconds between two looks at a budget while nothing ends."""

MakeOrder = Callable[[Job, int], Order]
"""Makes what an agent is told for an attempt (its number) at a job, when it is its turn. May raise what tasks and
patches raise: that is a fault of this attempt."""


class Sink(Protocol):
    """Where a run is recorded. Called from the event loop, one call at a time; what it raises ends the run."""

    def attempt_started(self, job: Job, attempt: int, agent: str) -> None:
        """An attempt is about to start."""
        ...

    def attempt_ended(self, job: Job, attempt: int, ending: Ending, fault: str, message: str) -> None:
        """An attempt ended. Once per attempt, and once more when something comes back from one that was lost.

        Args:
            fault: class name of the fault, `NodeLost` or `Cancelled`; empty when DONE.
        """
        ...

    def terminal(self, job: Job, execution: Execution | None, reasons: tuple[str, ...]) -> None:
        """The end of a job, once per job: its execution, or None and every reason why there is none."""
        ...

    def flush_if_due(self) -> None:
        """Called after every few records: make them durable if it is time."""
        ...

    def flush(self) -> None:
        """Make everything durable before returning."""
        ...


class Control:
    """Steers a run from outside, from the thread of its event loop. Before and after the run it does nothing."""

    def __init__(self) -> None:
        self._send: Callable[[Event], None] = _ignore

    def connect(self, send: Callable[[Event], None]) -> None:
        """For the driver: where events go from now on."""
        self._send = send

    def disconnect(self) -> None:
        """For the driver: the run is over."""
        self._send = _ignore

    def pause(self) -> None:
        """Start nothing more for now."""
        self._send(PauseRequested())

    def resume(self) -> None:
        """Start attempts again."""
        self._send(ResumeRequested())

    def limit(self, concurrency: int | None) -> None:
        """At most so many attempts at once, over all agents; None = as many as they take."""
        self._send(ConcurrencyChanged(concurrency))

    def drain(self) -> None:
        """Start nothing more and end when nothing runs."""
        self._send(DrainRequested())

    def stop(self) -> None:
        """Call everything off and end."""
        self._send(StopRequested())


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """How a run is driven.

    Attributes:
        policy: how faults are met.
        concurrency: attempts at once over all agents; None = as many as they take.
        progress: told of the counts, at most every `progress_s` seconds, and at the end.
        message: told what a person should know now, a sentence.
        signals: SIGINT and SIGTERM drain at first and stop when repeated (in the main thread only).
        settle_s: seconds that cancelled attempts get to end.
        control: steers the run.
        exhausted: says which cap of a budget is reached, None while none is. Asked after what has ended was recorded
            and before anything more is started, and every second.
    """

    policy: Policy = field(default_factory=Policy)
    concurrency: int | None = None
    progress: Callable[[Counts], None] | None = None
    message: Callable[[str], None] | None = None
    progress_s: float = 0.5
    signals: bool = True
    settle_s: float = 30.0
    control: Control | None = None
    exhausted: Callable[[], str | None] | None = None


@dataclass(frozen=True, slots=True)
class DriveResult:
    """How a run ended.

    Attributes:
        ending: COMPLETED, DRAINED, EXHAUSTED, STOPPED or HALTED.
        reason: why it did not complete; empty when it did.
        counts: jobs by state. What waits has no terminal record: it is for the next run.
        missing: job key -> every reason, for the jobs that are missing.
        story: what happened to a job, by its key.
    """

    ending: RunEnding
    reason: str
    counts: Counts
    missing: dict[str, tuple[str, ...]]
    story: Callable[[str], tuple[Step, ...]] = field(repr=False)


async def drive(
    jobs: Iterable[Job], make_order: MakeOrder, engine: Engine, sink: Sink, options: DriveOptions | None = None
) -> DriveResult:
    """Run `jobs` on `engine`, which has been entered, and record everything in `sink`.

    Everything recorded is durable when this returns, raises or is cancelled, and at most 200 ms late before that, as
    long as the event loop turns.

    Raises:
        InvalidEvent: two jobs have one key.
    """
    return await _Drive(jobs, make_order, engine, sink, options or DriveOptions()).run()


class _Drive:
    """One run."""

    def __init__(
        self, jobs: Iterable[Job], make_order: MakeOrder, engine: Engine, sink: Sink, options: DriveOptions
    ) -> None:
        self._jobs = tuple(jobs)
        self._make_order = make_order
        self._engine = engine
        self._sink = sink
        self._options = options
        self._dispatcher = Dispatcher(options.policy)
        self._loop = asyncio.get_running_loop()
        self._epoch = time.time() - self._loop.time()
        self._now = 0.0
        self._inbox: list[Event] = []
        self._executions: dict[tuple[str, int], Execution] = {}
        self._missing: dict[str, tuple[str, ...]] = {}
        self._awake = asyncio.Event()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._broken: Exception | None = None

    async def run(self) -> DriveResult:
        """The whole of it."""
        control = self._options.control or Control()
        control.connect(self._tell)
        self._tell(ConcurrencyChanged(self._options.concurrency))
        self._tell(JobsAdded(self._jobs))
        try:
            self._engine.attach(self._hear)
            with interrupts(self._on_signal) if self._options.signals else contextlib.nullcontext():
                while (ended := self._dispatcher.ended) is None:
                    await self._awake.wait()
                    self._step()
        except BaseException:
            with contextlib.suppress(Exception):  # what broke the run may break this too
                self._step(StopRequested())
            raise
        finally:
            control.disconnect()
            await self._leave()
        return DriveResult(ended.ending, ended.reason, self._dispatcher.counts, self._missing, self._dispatcher.story)

    async def _leave(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._engine.detach()
        try:
            await self._engine.settle(self._options.settle_s)
        finally:
            self._sink.flush()
        if self._options.progress is not None:
            self._options.progress(self._dispatcher.counts)

    # -- events in ------------------------------------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        self._inbox.append(event)
        self._awake.set()

    def _hear(self, event: EngineEvent) -> None:
        match event:
            case Replied(key, attempt, Done(execution)):
                self._executions[key, attempt] = execution
                self._tell(AttemptFinished(key, attempt, Ending.DONE))
            case Replied(key, attempt, Fault(kind, message, _, retry_after) as fault):
                self._tell(AttemptFinished(key, attempt, fault.ending, kind, message, retry_after))
            case ReplyLost(key, attempt, reason):
                self._tell(AttemptFinished(key, attempt, Ending.LOST, "ReplyLost", reason))
            case AgentJoined():
                log.info("agent.joined", agent=event.agent, slots=event.slots)
                self._tell(event)
            case AgentLost():
                log.warning("agent.lost", agent=event.agent, reason=event.reason)
                self._tell(event)

    def _on_signal(self, again: bool) -> None:
        if again:
            self._say("Stopping now; what is durable is kept, the same command goes on from there.")
            self._tell(StopRequested())
        else:
            running = self._dispatcher.counts.running
            self._say(f"Draining: {running} running, nothing new is started. Once more to stop at once.")
            self._tell(DrainRequested())

    def _step(self, *events: Event) -> None:
        """Hand over what has come in and carry out what comes back."""
        self._awake.clear()
        if self._broken is not None:
            raise self._broken
        inbox, self._inbox = [*self._inbox, *events], []
        self._now = max(self._now, self._epoch + self._loop.time())
        weighs = self._options.exhausted
        for command in self._dispatcher.handle(*inbox, now=self._now, start=weighs is None):
            self._obey(command)
        if weighs is not None:
            self._start_within(weighs)
        self._executions.clear()
        self._sink.flush_if_due()
        self._after("flush", FLUSH_S, self._flush)
        self._after("progress", self._options.progress_s, self._report)

    def _start_within(self, exhausted: Callable[[], str | None]) -> None:
        """Have more started, unless a budget forbids it."""
        reason = exhausted() if self._dispatcher.ended is None else None
        events = () if reason is None else (BudgetExhausted(reason),)
        for command in self._dispatcher.handle(*events, now=self._now):
            self._obey(command)
        self._after("budget", BUDGET_S, self._look_at_budget)

    def _look_at_budget(self) -> None:
        del self._timers["budget"]
        self._awake.set()

    # -- commands out ---------------------------------------------------------------------------------------------

    def _obey(self, command: Command) -> None:
        match command:
            case Start():
                self._start(command)
            case RecordAttempt(job, attempt, _, ending, fault, message):
                self._sink.attempt_ended(job, attempt, ending, fault, message)
            case RecordTerminal(job, None, reasons):
                self._missing[job.key] = reasons
                self._sink.terminal(job, None, reasons)
            case RecordTerminal(job, int(attempt), reasons):
                self._sink.terminal(job, self._executions[job.key, attempt], reasons)
            case Cancel(key, attempt, agent):
                self._engine.cancel(agent, key, attempt)
            case WakeAt(at):
                self._wake_at(at)
            case Quarantined(agent, until, reason):
                log.warning("agent.quarantined", agent=agent, seconds=round(until - self._now), reason=reason)
            case Finished(ending, reason):
                log.info("run.finished", ending=str(ending), reason=reason)
                if ending in {RunEnding.HALTED, RunEnding.EXHAUSTED}:
                    self._say(f"{ending.capitalize()}: {reason}.")

    def _start(self, start: Start) -> None:
        job, attempt = start.job, start.attempt
        self._sink.attempt_started(job, attempt, start.agent)
        try:
            order = self._make_order(job, attempt)
        except Exception as error:  # one task or patch that cannot be made into an order does not stop the others
            fault = Fault.of(error)
            ending = Ending.TEMPORARY if isinstance(error, TemporaryError) else Ending.PERMANENT
            self._tell(AttemptFinished(job.key, attempt, ending, fault.kind, fault.message, fault.retry_after))
        else:
            self._engine.submit(start.agent, job.key, attempt, order)

    def _wake_at(self, at: float | None) -> None:
        timer = self._timers.pop("wake", None)
        if timer is not None:
            timer.cancel()
        if at is not None:
            self._timers["wake"] = self._loop.call_at(at - self._epoch, self._ring, at)

    def _ring(self, at: float) -> None:
        self._now = max(self._now, at)  # a timer may ring a little early, and the dispatcher would not ask again
        self._tell(Tick())

    def _after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        """Have `call` called in `seconds`, unless that is arranged already."""
        if name not in self._timers:
            self._timers[name] = self._loop.call_later(seconds, call)

    def _flush(self) -> None:
        del self._timers["flush"]
        try:
            self._sink.flush()
        except Exception as error:  # raised by the next step, where it ends the run
            self._broken = error
            self._awake.set()

    def _report(self) -> None:
        del self._timers["progress"]
        if self._options.progress is not None:
            self._options.progress(self._dispatcher.counts)

    def _say(self, text: str) -> None:
        if self._options.message is not None:
            self._options.message(text)


def _ignore(event: Event) -> None:
    """Where control goes when there is no run."""
