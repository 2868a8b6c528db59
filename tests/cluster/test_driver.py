"""The driver between a dispatcher, an engine and a sink: in virtual time, with an engine in memory."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.agent import Done, Fault
from cluster.dispatch import AgentJoined, AgentLost, Counts, InvalidEvent, Job, JobState, Policy, RunEnding
from cluster.driver import FLUSH_S, Control, DriveOptions, DriveResult, drive
from cluster.engines import Replied, ReplyLost
from cluster.engines.protocol import EngineEvent, Post
from parsimony.errors import InputError, SandboxUnavailable
from parsimony.execution import (
    ApplyRecord,
    CapturedOutput,
    Evidence,
    Execution,
    ExecutionOutcome,
    ResourceUsage,
)

ROOT = Path(__file__).parents[2]

EXECUTION = Execution(
    execution_key="",
    outcome=ExecutionOutcome.COMPLETED,
    exit_status=0,
    tests={},
    evidence=Evidence.NONE,
    reasons=(),
    apply=ApplyRecord(),
    usage=ResourceUsage(1.0),
    phases={},
    log=CapturedOutput(),
    sandbox="none",
    runner_version="0",
    started_at=0.0,
)
FLAKY = Fault("ImagePullFailed", "no route", temporary=True)
BROKEN = Fault("PermanentError", "no git", temporary=False)
QUICK = DriveOptions(policy=Policy(backoff_seconds=1, breaker_jobs=1000), signals=False)

Script = Callable[[str, int, str], Done | Fault | str]
"""Job, attempt, agent -> the reply, or `lose` (the agent goes), `drop` (the reply is lost), `hang`."""


class MemoryEngine:
    """Agents that are nothing but names; attempts take a second."""

    def __init__(self, script: Script | None = None, agents: dict[str, int] | None = None) -> None:
        self.script = script or (lambda key, attempt, agent: Done(replace(EXECUTION, execution_key=key)))
        self.agents = {"m": 2, "n": 2} if agents is None else agents
        self.live: dict[tuple[str, int], tuple[str, asyncio.TimerHandle]] = {}
        self.most_at_once = 0
        self.cancelled: list[tuple[str, int]] = []
        self.post: Post | None = None
        self.settled: list[float] = []

    def attach(self, post: Post) -> None:
        self.post = post
        for agent, slots in self.agents.items():
            post(AgentJoined(agent, slots))

    def detach(self) -> None:
        self.post = None
        for key, attempt in list(self.live):
            self.cancel("", key, attempt)

    def submit(self, agent: str, job_key: str, attempt: int, order: Any) -> None:
        assert order.request.name == f"{job_key}-{attempt}"
        if agent not in self.agents:
            return
        timer = asyncio.get_running_loop().call_later(1.0, self._end, agent, job_key, attempt)
        self.live[job_key, attempt] = (agent, timer)
        self.most_at_once = max(self.most_at_once, len(self.live))

    def _end(self, agent: str, job_key: str, attempt: int) -> None:
        reply = self.script(job_key, attempt, agent)
        if reply == "hang":
            return
        del self.live[job_key, attempt]
        if reply == "lose":
            self._lose(agent)
        elif reply == "drop":
            self._send(ReplyLost(job_key, attempt, "connection reset"))
        elif not isinstance(reply, str):
            self._send(Replied(job_key, attempt, reply))

    def _lose(self, agent: str) -> None:
        slots = self.agents.pop(agent)
        for key in [key for key, (name, _) in self.live.items() if name == agent]:
            self.live.pop(key)[1].cancel()
        self._send(AgentLost(agent, "node died"))
        self.agents[f"{agent}+"] = slots
        self._send(AgentJoined(f"{agent}+", slots))

    def _send(self, event: EngineEvent) -> None:
        if self.post is not None:
            self.post(event)

    def cancel(self, agent: str, job_key: str, attempt: int) -> None:
        self.live.pop((job_key, attempt))[1].cancel()
        self.cancelled.append((job_key, attempt))

    async def settle(self, timeout_s: float) -> None:
        self.settled.append(timeout_s)


def jobs(count: int) -> list[Job]:
    return [Job(f"j{number}", rank=number) for number in range(count)]


@pytest.fixture
def run(virtually: Any, sink: Any, make_order: Any) -> Callable[..., DriveResult]:
    """Drives jobs on an engine in virtual time."""

    def running(
        engine: Any, count: int = 6, options: DriveOptions = QUICK, orders: Any = make_order, **more: Any
    ) -> DriveResult:
        result: DriveResult = virtually(drive(jobs(count), orders, engine, more.get("sink", sink), options))
        return result

    return running


def test_every_job_is_started_ended_and_terminal_once(run: Any, sink: Any) -> None:
    engine: Any = MemoryEngine()
    result = run(engine)
    assert (result.ending, result.reason, result.missing) == (RunEnding.COMPLETED, "", {})
    assert result.counts == Counts(total=6, waiting=0, delayed=0, running=0, done=6, missing=0, retried=0)
    assert {key: execution.execution_key for key, execution in sink.executions.items()} == {
        f"j{i}": f"j{i}" for i in range(6)
    }
    for number in range(6):
        lines = [line[0] for line in sink.lines if line[1] == f"j{number}"]
        assert lines == ["started", "ended", "terminal"]
    assert engine.most_at_once == 4
    assert engine.post is None
    assert not sink.unflushed
    assert [step.state for step in result.story("j5")] == [JobState.WAITING, JobState.RUNNING, JobState.DONE]


def test_nothing_to_do_is_done(run: Any) -> None:
    assert run(MemoryEngine(), 0).ending is RunEnding.COMPLETED


def test_a_fault_is_retried_elsewhere_and_three_make_a_job_missing(run: Any, sink: Any) -> None:
    def script(key: str, attempt: int, agent: str) -> Done | Fault:
        return FLAKY if key == "j0" or (key == "j1" and attempt == 1) else Done(EXECUTION)

    result = run(MemoryEngine(script))
    assert result.counts.missing == 1
    assert result.counts.retried == 3
    assert [ending for _, ending, _ in sink.endings("j0")] == ["temporary"] * 3
    agents = [line[3] for line in sink.lines if line[:2] == ("started", "j0")]
    assert agents[0] != agents[1] != agents[2]
    assert sink.endings("j1") == [(1, "temporary", "ImagePullFailed"), (2, "done", "")]
    assert result.missing == sink.missing
    assert result.missing["j0"][0] == f"attempt 1 on {agents[0]}: ImagePullFailed: no route"


def test_a_permanent_fault_costs_one_attempt(run: Any, sink: Any) -> None:
    result = run(MemoryEngine(lambda key, attempt, agent: BROKEN if key == "j3" else Done(EXECUTION)))
    assert list(result.missing) == ["j3"]
    assert sink.endings("j3") == [(1, "permanent", "PermanentError")]


def test_what_a_lost_agent_ran_runs_again_at_once(run: Any, sink: Any) -> None:
    lost: list[str] = []

    def script(key: str, attempt: int, agent: str) -> Done | str:
        if not lost:
            lost.append(agent)
            return "lose"
        return Done(EXECUTION)

    result = run(MemoryEngine(script))
    assert result.counts.done == 6
    again = [line for line in sink.lines if line[0] == "ended" and line[3] == "lost"]
    assert len(again) == 2
    assert all(line[4] == "NodeLost" for line in again)


def test_a_lost_reply_costs_an_attempt_and_no_verdict(run: Any, sink: Any) -> None:
    result = run(MemoryEngine(lambda key, attempt, agent: "drop" if attempt == 1 else Done(EXECUTION)), 2)
    assert result.counts.done == 2
    assert sink.endings("j0") == [(1, "lost", "ReplyLost"), (2, "done", "")]


def test_an_order_that_cannot_be_made_is_one_missing_job(run: Any, sink: Any, make_order: Any) -> None:
    def orders(job: Job, attempt: int) -> Any:
        if job.key == "j0":
            raise InputError("has no tests", mend="name some")
        if job.key == "j1":
            raise ZeroDivisionError
        if job.key == "j2" and attempt == 1:
            raise SandboxUnavailable("not yet")
        return make_order(job, attempt)

    result = run(MemoryEngine(), orders=orders)
    assert sorted(result.missing) == ["j0", "j1"]
    assert result.missing["j0"][0].endswith("InputError: has no tests; name some")
    assert sink.endings("j1") == [(1, "permanent", "AgentError")]
    assert sink.endings("j2")[0] == (1, "temporary", "SandboxUnavailable")


def test_records_become_durable_soon_even_while_nothing_happens(run: Any, sink: Any) -> None:
    def script(key: str, attempt: int, agent: str) -> Done | Fault:
        return Fault("SandboxUnavailable", "busy", True, 500.0) if attempt == 1 and key == "j0" else Done(EXECUTION)

    assert run(MemoryEngine(script)).counts.done == 6
    assert 0 < sink.latest_flush_s <= FLUSH_S + 0.001


@pytest.mark.parametrize("method", ["terminal", "flush", "attempt_started"])
def test_a_sink_that_fails_ends_the_run(method: str, run: Any, sink: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "no space left")

    engine: Any = MemoryEngine()
    monkeypatch.setattr(sink, method, full)
    with pytest.raises(OSError, match="no space left"):
        run(engine)
    assert engine.post is None
    assert not engine.live


def test_a_cancelled_drive_calls_everything_off_and_records_it(virtually: Any, sink: Any, make_order: Any) -> None:
    engine: Any = MemoryEngine(lambda *_: "hang")

    async def cancelled() -> None:
        task = asyncio.create_task(drive(jobs(6), make_order, engine, sink, QUICK))
        await asyncio.sleep(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    virtually(cancelled())
    assert sorted(engine.cancelled) == [(f"j{i}", 1) for i in range(4)]
    assert sink.endings("j0") == [(1, "cancelled", "Cancelled")]
    assert engine.settled == [QUICK.settle_s]
    assert not sink.unflushed


def test_identical_jobs_are_refused(virtually: Any, sink: Any, make_order: Any) -> None:
    engine: Any = MemoryEngine()
    with pytest.raises(InvalidEvent, match="identical work"):
        virtually(drive([Job("a"), Job("a")], make_order, engine, sink, QUICK))
    assert not sink.lines
    assert engine.post is None


def test_a_run_is_steered_from_outside(virtually: Any, sink: Any, make_order: Any) -> None:
    control = Control()
    control.stop()  # before a run there is nothing to stop
    engine: Any = MemoryEngine()

    async def steered() -> tuple[DriveResult, list[int]]:
        seen = []
        options = replace(QUICK, control=control, concurrency=1)
        task = asyncio.create_task(drive(jobs(100), make_order, engine, sink, options))
        await asyncio.sleep(0.5)
        seen.append(len(engine.live))
        control.limit(3)
        await asyncio.sleep(0.1)
        seen.append(len(engine.live))
        control.pause()
        await asyncio.sleep(5)
        seen.append(len(engine.live))
        control.resume()
        control.limit(None)
        await asyncio.sleep(0.1)
        seen.append(len(engine.live))
        control.drain()
        return await task, seen

    result, seen = virtually(steered())
    assert seen == [1, 3, 0, 4]
    assert result.ending is RunEnding.DRAINED
    assert result.counts.done == 7
    assert result.counts.waiting == 93
    control.stop()  # and after it neither


def test_a_stop_does_not_wait(virtually: Any, sink: Any, make_order: Any) -> None:
    control = Control()
    engine: Any = MemoryEngine(lambda *_: "hang")

    async def stopped() -> DriveResult:
        asyncio.get_running_loop().call_later(5, control.stop)
        return await drive(jobs(3), make_order, engine, sink, replace(QUICK, control=control))

    result = virtually(stopped())
    assert (result.ending, result.counts.waiting) == (RunEnding.STOPPED, 3)
    assert len(engine.cancelled) == 3
    assert not sink.executions
    assert not sink.missing


def test_a_run_that_cannot_work_halts_and_says_so(run: Any) -> None:
    said: list[str] = []
    options = DriveOptions(signals=False, message=said.append)
    result = run(MemoryEngine(lambda *_: FLAKY, {"m": 8}), 50, options)
    assert result.ending is RunEnding.HALTED
    assert "no route" in result.reason
    assert said == [f"Halted: {result.reason}."]
    assert result.counts.missing == 0


def test_a_run_without_agents_halts(run: Any) -> None:
    result = run(MemoryEngine(agents={}), options=DriveOptions(policy=Policy(agentless_seconds=20), signals=False))
    assert result.reason == "there was work but no agent for 20 s"


def test_progress_is_told_now_and_then_and_at_the_end(run: Any) -> None:
    told: list[Counts] = []
    run(MemoryEngine(agents={"m": 1}), 20, replace(QUICK, progress=told.append, progress_s=2.0))
    assert told[-1].done == 20
    assert 5 <= len(told) <= 12
    assert [counts.done for counts in told] == sorted(counts.done for counts in told)


@given(
    script=st.lists(st.sampled_from(["done", "done", "flaky", "broken", "lose", "drop"]), min_size=1, max_size=80),
    count=st.integers(1, 15),
    limit=st.one_of(st.none(), st.integers(1, 3)),
)
def test_whatever_comes_back_every_job_ends_once(
    virtually: Any, script: list[str], count: int, limit: int | None
) -> None:
    replies: dict[str, Done | Fault | str] = {"done": Done(EXECUTION), "flaky": FLAKY, "broken": BROKEN}
    remaining = list(script)

    def next_reply(key: str, attempt: int, agent: str) -> Done | Fault | str:
        name = remaining.pop() if remaining else "done"
        return replies.get(name, name)

    ended: list[str] = []
    quiet: Any = SimpleNamespace(
        attempt_started=lambda *_: None,
        attempt_ended=lambda *_: None,
        terminal=lambda job, execution, reasons: ended.append(job.key),
        flush_if_due=lambda: None,
        flush=lambda: None,
    )

    def orders(job: Job, attempt: int) -> Any:
        return SimpleNamespace(request=SimpleNamespace(name=f"{job.key}-{attempt}"))

    async def whole() -> DriveResult:
        engine: Any = MemoryEngine(next_reply)
        result = await drive(jobs(count), orders, engine, quiet, replace(QUICK, concurrency=limit))
        assert limit is None or engine.most_at_once <= limit
        return result

    result = virtually(whole())
    assert result.ending is RunEnding.COMPLETED
    assert sorted(ended) == sorted(job.key for job in jobs(count))
    assert result.counts.done + result.counts.missing == count


SCRIPT = textwrap.dedent(
    """
    import asyncio, sys
    from types import SimpleNamespace
    from cluster.agent import AgentSpec
    from cluster.dispatch import Job
    from cluster.driver import DriveOptions, drive
    from cluster.engines.local import LocalEngine
    from cluster.sandboxes.fake import FakeSandbox, ended
    from parsimony.execution import ExecutionRequest

    told = asyncio.Event()

    async def until_told(seconds):
        await told.wait()

    async def stubborn(seconds):
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass

    class Opening:
        async def open(self, slots):
            return FakeSandbox(lambda request: ended(), sleep=globals()[sys.argv[1]])

    class Sink:
        def attempt_started(self, *_): print("started", flush=True)
        def attempt_ended(self, job, attempt, ending, fault, message): print("ended", ending, flush=True)
        def terminal(self, *_): pass
        def flush_if_due(self): pass
        def flush(self): pass

    async def main():
        asyncio.get_running_loop().add_reader(sys.stdin, told.set)
        order = lambda job, attempt: SimpleNamespace(request=ExecutionRequest(job.key, job.key, (), {}))
        read = lambda order, result, *, sandbox: None
        options = DriveOptions(message=lambda text: print(text, flush=True))
        async with LocalEngine(AgentSpec(Opening(), read, 2)) as engine:
            result = await drive([Job(f"j{i}") for i in range(9)], order, engine, Sink(), options)
        print(result.ending, result.counts.done, result.counts.waiting, flush=True)

    asyncio.run(main())
    """
)


@contextlib.contextmanager
def driving(sleep: str) -> Iterator[subprocess.Popen[str]]:
    """A process that drives nine jobs, two at once, whose sandboxes sleep as the script says; both have started."""
    command = [sys.executable, "-c", SCRIPT, sleep]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as process:
        try:
            _wait_for(process, "started")
            _wait_for(process, "started")
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_drains(number: signal.Signals) -> None:
    with driving("until_told") as process:
        process.send_signal(number)
        _wait_for(process, "Draining: 2 running, nothing new is started.")
        assert process.stdin is not None
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert _last_words(process) == ["ended done", "ended done", "drained 2 7"]


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_stops(first: signal.Signals) -> None:
    with driving("until_told") as process:
        process.send_signal(first)
        _wait_for(process, "Draining")
        process.send_signal(signal.SIGINT)
        _wait_for(process, "Stopping now")
        assert _last_words(process) == ["ended cancelled", "ended cancelled", "stopped 0 9"]


def test_a_third_signal_does_not_even_wait_for_sandboxes_to_end() -> None:
    """After the second, signals mean again what they meant before."""
    with driving("stubborn") as process:
        process.send_signal(signal.SIGTERM)
        _wait_for(process, "Draining")
        process.send_signal(signal.SIGTERM)
        _wait_for(process, "Stopping now")
        process.send_signal(signal.SIGTERM)
        assert process.wait() == -signal.SIGTERM


def _wait_for(process: subprocess.Popen[str], start: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(start):
            return
    raise AssertionError(f"the process ended and never said {start!r}")


def _last_words(process: subprocess.Popen[str]) -> list[str]:
    """What a process that ends well says from here on: how its two attempts ended, and the result."""
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    assert process.wait() == 0
    return [*lines[:2], lines[-1]]
