"""Whatever happens, in whatever order: every job ends once, nothing runs twice at a time, nothing is lost."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cluster.dispatch import (
    AgentJoined,
    AgentLost,
    AttemptFinished,
    BudgetExhausted,
    Cancel,
    Command,
    ConcurrencyChanged,
    Dispatcher,
    DrainRequested,
    Ending,
    Event,
    Finished,
    Job,
    JobsAdded,
    PauseRequested,
    Policy,
    RecordAttempt,
    RecordTerminal,
    ResumeRequested,
    RunEnding,
    Start,
    StopRequested,
    Tick,
    WakeAt,
)

IMAGES = st.sampled_from([None, "a", "b", "c"])
REPLIES = st.sampled_from([Ending.DONE, Ending.DONE, Ending.TEMPORARY, Ending.PERMANENT, Ending.LOST])
POLICIES = st.builds(
    Policy,
    max_faults=st.integers(1, 4),
    max_losses=st.integers(1, 4),
    backoff_seconds=st.sampled_from([0.0, 1.0]),
    quarantine_after=st.integers(1, 4),
    quarantine_seconds=st.sampled_from([0.0, 5.0]),
    breaker_jobs=st.sampled_from([1000, 1000, 1000, 2]),
    agentless_seconds=st.sampled_from([1e6, 1e6, 1e6, 3.0]),
)


class AnyRun(RuleBasedStateMachine):
    """Plays driver and engine, keeps books of its own, and compares."""

    @initialize(policy=POLICIES, images=st.lists(IMAGES, max_size=12), agents=st.integers(0, 3))
    def begin(self, policy: Policy, images: list[str | None], agents: int) -> None:
        self.dispatcher = Dispatcher(policy)
        self.now = 0.0
        self.jobs: set[str] = set()
        self.windows: dict[str, int] = {}
        self.joined = 0
        self.live: dict[str, tuple[int, str]] = {}
        self.numbers: dict[str, int] = {}
        self.given_up: list[tuple[str, int]] = []
        self.recorded: Counter[tuple[str, int]] = Counter()
        self.terminal: Counter[str] = Counter()
        self.limit: int | None = None
        self.paused = self.draining = self.exhausted = False
        self.wake: float | None = None
        self.finished: list[Finished] = []
        for slots in range(1, agents + 1):
            self.join(slots, prefetch=slots % 2, images=frozenset())
        if images:
            self.add_jobs(images, 1.0, 0)

    # -- the books ------------------------------------------------------------------------------------------------

    def send(self, *events: Event) -> None:
        for command in self.dispatcher.handle(*events, now=self.now):
            self.obey(command)

    def obey(self, command: Command) -> None:
        assert not self.finished or isinstance(command, WakeAt), "commanded after the end"
        match command:
            case Start(job, attempt, agent):
                assert not self.paused, "started although paused"
                assert not self.draining, "started although draining"
                assert job.key not in self.live, "two live attempts"
                assert not self.terminal[job.key], "started a job that is over"
                assert attempt == self.numbers.get(job.key, job.attempted) + 1, "attempt number reused or skipped"
                self.live[job.key] = (attempt, agent)
                self.numbers[job.key] = attempt
                assert sum(name == agent for _, name in self.live.values()) <= self.windows[agent], "too many"
                assert self.limit is None or len(self.live) <= self.limit, "more than the limit at once"
            case RecordAttempt(job, attempt, agent, ending):
                self.recorded[job.key, attempt] += 1
                if command.superseded:
                    assert self.live.get(job.key) != (attempt, agent), "a live attempt was called superseded"
                else:
                    assert self.live.pop(job.key) == (attempt, agent), "the end of an attempt that does not run"
                    if ending in {Ending.LOST, Ending.CANCELLED}:
                        self.given_up.append((job.key, attempt))
            case RecordTerminal(job, attempt):
                assert job.key not in self.live, "over although it runs"
                assert attempt in {None, self.numbers[job.key]}
                assert (attempt is None) == bool(command.reasons), "missing without a reason, or done with one"
                self.terminal[job.key] += 1
            case Cancel(key, attempt, agent):
                assert self.live[key] == (attempt, agent)
            case WakeAt(time):
                self.wake = time
            case Finished():
                self.finished.append(command)

    # -- what can happen ------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.finished)
    @rule(
        images=st.lists(IMAGES, max_size=6),
        seconds=st.sampled_from([None, 1.0, 9.0]),
        attempted=st.integers(0, 2),
    )
    def add_jobs(self, images: list[str | None], seconds: float | None, attempted: int) -> None:
        first = len(self.jobs)
        jobs = tuple(
            Job(f"job-{first + i}", image, seconds, rank=i, attempted=attempted) for i, image in enumerate(images)
        )
        self.jobs.update(job.key for job in jobs)
        self.send(JobsAdded(jobs))

    @rule(slots=st.integers(1, 3), prefetch=st.integers(0, 2), images=st.frozensets(st.sampled_from("abc")))
    def join(self, slots: int, prefetch: int, images: frozenset[str]) -> None:
        if len(self.windows) >= 4:
            return
        self.joined += 1
        name = f"agent-{self.joined}"
        self.windows[name] = slots + prefetch
        self.send(AgentJoined(name, slots, images, prefetch))

    @precondition(lambda self: self.windows)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.windows)))
        del self.windows[name]
        self.send(AgentLost(name, "gone"))
        assert not any(agent == name for _, agent in self.live.values()) or self.finished

    @precondition(lambda self: self.live and not self.finished)
    @rule(data=st.data(), retry_after=st.sampled_from([0.0, 4.0]))
    def reply(self, data: st.DataObject, retry_after: float) -> None:
        events = []
        for key in data.draw(st.lists(st.sampled_from(sorted(self.live)), min_size=1, max_size=4, unique=True)):
            ending = data.draw(REPLIES)
            fault = "" if ending is Ending.DONE else "Fault"
            events.append(AttemptFinished(key, self.live[key][0], ending, fault, "said so", retry_after))
        self.send(*events)

    @precondition(lambda self: self.given_up and not self.finished)
    @rule(data=st.data(), ending=REPLIES)
    def late_reply(self, data: st.DataObject, ending: Ending) -> None:
        key, attempt = data.draw(st.sampled_from(self.given_up))
        before, rows = dict(self.terminal), self.recorded[key, attempt]
        self.send(AttemptFinished(key, attempt, ending, "", "late"))
        assert self.recorded[key, attempt] == rows + 1
        assert dict(self.terminal) == before, "a superseded attempt decided something"

    @rule(seconds=st.sampled_from([0.0, 0.5, 3.0, 60.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.send(Tick())

    @rule(limit=st.sampled_from([None, None, 0, 1, 3]))
    def change_concurrency(self, limit: int | None) -> None:
        self.limit = limit
        self.send(ConcurrencyChanged(limit))

    @rule()
    def pause(self) -> None:
        self.paused = not self.paused
        self.send(PauseRequested() if self.paused else ResumeRequested())

    @precondition(lambda self: self.terminal.total() > 6)
    @rule()
    def drain(self) -> None:
        self.draining = True
        self.send(DrainRequested())

    @precondition(lambda self: self.terminal.total() > 6)
    @rule()
    def exhaust(self) -> None:
        """A budget is a drain: what runs finishes, nothing more starts, and the end says which cap it was."""
        running = dict(self.live)
        self.exhausted = self.exhausted or not self.draining
        self.draining = True
        self.send(BudgetExhausted("the cap of tokens"))
        assert self.live == running, "a budget called off what runs"

    @precondition(lambda self: self.live and not self.finished)
    @rule(data=st.data(), spent=st.booleans())
    def weigh(self, data: st.DataObject, spent: bool) -> None:
        """What has ended is weighed before anything starts in its place."""
        key = data.draw(st.sampled_from(sorted(self.live)))
        commands = self.dispatcher.handle(
            AttemptFinished(key, self.live[key][0], Ending.DONE), now=self.now, start=False
        )
        assert not any(isinstance(command, Start) for command in commands), "started before it was weighed"
        for command in commands:
            self.obey(command)
        assert key not in self.live
        if spent and self.terminal.total() > 6:
            self.exhaust()
        else:
            self.send(Tick())

    @precondition(lambda self: self.terminal.total() > 6)
    @rule()
    def stop(self) -> None:
        self.send(StopRequested())
        assert self.finished
        assert not self.live

    # -- what must hold -------------------------------------------------------------------------------------------

    @invariant()
    def sound(self) -> None:
        self.dispatcher.validate()
        assert len(self.finished) <= 1
        counts = self.dispatcher.counts
        assert counts.total == len(self.jobs)
        assert counts.running == len(self.live)
        assert counts.done + counts.missing == self.terminal.total()
        assert all(times == 1 for times in self.terminal.values()), "ended twice"
        if not self.finished and not (self.paused or self.draining) and self.limit is None:
            idle = [name for name in self.windows if not any(agent == name for _, agent in self.live.values())]
            waiting = counts.waiting - counts.delayed
            assert not (waiting and len(idle) == len(self.windows) > 0 and self.wake is None), "idles beside work"

    def teardown(self) -> None:
        """With fair agents, every run comes to its end, and every job to exactly one."""
        if not hasattr(self, "dispatcher"):
            return
        self.limit, self.paused = None, False
        self.send(ConcurrencyChanged(None), ResumeRequested(), JobsAdded(()) if not self.finished else Tick())
        if not self.finished:
            self.joined += 1
            self.windows["fair"] = 2
            self.send(AgentJoined("fair", 2))
        for _ in range(20 * len(self.jobs) + 20):
            if self.finished:
                break
            for key, (attempt, _) in sorted(self.live.items()):
                self.send(AttemptFinished(key, attempt, Ending.DONE))
            if not self.live and self.wake is not None:
                self.now = max(self.now, self.wake)
                self.send(Tick())
        self.sound()
        (end,) = self.finished
        if end.ending is RunEnding.COMPLETED:
            assert set(self.terminal) == self.jobs
        assert self.exhausted or end.ending is not RunEnding.EXHAUSTED
        assert end.ending is not RunEnding.EXHAUSTED or end.reason == "the cap of tokens"
        assert not (self.exhausted and end.ending is RunEnding.DRAINED), "the first reason to drain is the one told"
        assert not self.live


AnyRun.TestCase.settings = settings(
    max_examples=100, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestAnyRun = AnyRun.TestCase
