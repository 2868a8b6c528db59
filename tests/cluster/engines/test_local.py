"""The local engine: an agent in this very event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from cluster.agent import AgentSpec, SandboxSpec
from cluster.dispatch import AgentJoined, Ending, Job, RunEnding
from cluster.driver import DriveOptions, drive
from cluster.engines import EngineEvent, EngineSpec, Replied, create_engine
from cluster.engines.local import LocalEngine
from cluster.sandboxes.fake import FakeSandbox, ended
from parsimony.errors import ImagePullFailed, InputError, SandboxUnavailable

OPTIONS = DriveOptions(signals=False)


@dataclass
class Opening:
    """Opens the sandbox that a test has made."""

    sandbox: FakeSandbox

    async def open(self, slots: int) -> FakeSandbox:
        return self.sandbox


def jobs(count: int) -> list[Job]:
    return [Job(f"j{number}", "image", rank=number) for number in range(count)]


def test_it_runs_everything_in_its_slots_and_closes_its_sandbox(
    virtually: Any, sink: Any, reader: Any, make_order: Any
) -> None:
    sandbox = FakeSandbox(lambda request: ended(), delay=lambda request: 1.0)

    async def whole() -> float:
        async with LocalEngine(AgentSpec(Opening(sandbox), reader, 4)) as engine:
            result = await drive(jobs(12), make_order, engine, sink, OPTIONS)
            assert result.counts.done == 12
            assert not sandbox.closed
        return asyncio.get_running_loop().time()

    assert virtually(whole()) == pytest.approx(3.0)
    assert sandbox.most_at_once == 4
    assert sandbox.closed
    assert {key: execution.execution_key for key, execution in sink.executions.items()} == {
        job.key: job.key for job in jobs(12)
    }


def test_faults_come_back_as_faults(virtually: Any, sink: Any, reader: Any, make_order: Any) -> None:
    def script(request: Any) -> Any:
        return ImagePullFailed("no route") if request.name == "j0-1" else ended()

    async def whole() -> None:
        async with LocalEngine(AgentSpec(Opening(FakeSandbox(script)), reader, 2)) as engine:
            result = await drive(jobs(2), make_order, engine, sink, OPTIONS)
            assert result.ending is RunEnding.COMPLETED

    virtually(whole())
    assert sink.endings("j0") == [(1, "temporary", "ImagePullFailed"), (2, "done", "")]


def test_what_is_cancelled_ends_and_is_not_heard_of(virtually: Any, reader: Any, make_order: Any) -> None:
    sandbox = FakeSandbox(lambda request: ended(), delay=lambda request: 1000.0)
    events: list[EngineEvent] = []

    async def whole() -> None:
        async with LocalEngine(AgentSpec(Opening(sandbox), reader, 2)) as engine:
            engine.attach(events.append)
            engine.submit("local", "a", 1, make_order(Job("a"), 1))
            await asyncio.sleep(1)
            engine.cancel("local", "a", 1)
            engine.cancel("local", "a", 1)  # twice is as good as once
            await engine.settle(5)
            assert not sandbox.running
            engine.submit("local", "b", 1, make_order(Job("b"), 1))
            await asyncio.sleep(1)
            engine.detach()
            await engine.settle(5)
            assert not sandbox.running

    virtually(whole())
    assert events == [AgentJoined("local", 2)]


def test_leaving_it_ends_what_runs(virtually: Any, reader: Any, make_order: Any) -> None:
    sandbox = FakeSandbox(lambda request: ended(), delay=lambda request: 1000.0)

    async def whole() -> None:
        async with LocalEngine(AgentSpec(Opening(sandbox), reader, 2)) as engine:
            engine.submit("local", "a", 1, make_order(Job("a"), 1))
            await asyncio.sleep(1)
        assert not sandbox.running
        assert sandbox.closed

    virtually(whole())


def test_a_grading_that_someone_else_cancels_is_a_fault(virtually: Any, reader: Any, make_order: Any) -> None:
    events: list[EngineEvent] = []

    async def whole() -> None:
        sandbox = FakeSandbox(lambda request: ended(), delay=lambda request: 1000.0)
        async with LocalEngine(AgentSpec(Opening(sandbox), reader, 2)) as engine:
            engine.attach(events.append)
            engine.submit("local", "a", 1, make_order(Job("a"), 1))
            await asyncio.sleep(1)
            (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "a#1"]
            task.cancel()
            await asyncio.sleep(1)

    virtually(whole())
    reply = events[1]
    assert isinstance(reply, Replied)
    assert reply.reply.ending is Ending.TEMPORARY


def test_runs_may_follow_each_other(virtually: Any, sink: Any, reader: Any, make_order: Any) -> None:
    async def whole() -> None:
        async with LocalEngine(AgentSpec(Opening(FakeSandbox(lambda request: ended())), reader, 2)) as engine:
            assert (await drive(jobs(3), make_order, engine, sink, OPTIONS)).counts.done == 3
            more = [Job(f"k{number}", attempted=1) for number in range(3)]
            assert (await drive(more, make_order, engine, sink, OPTIONS)).counts.done == 3

    virtually(whole())
    assert sink.endings("k0") == [(2, "done", "")]


def test_questions_go_to_the_agent(virtually: Any, reader: Any) -> None:
    sandbox = FakeSandbox(lambda request: ended(), digests={"image": "sha256:1"})
    sandbox.abandoned["left"] = {"parsimony.dev/managed-by": "parsimony", "parsimony.dev/run": "r"}

    async def whole() -> None:
        async with LocalEngine(AgentSpec(Opening(sandbox), reader, 2)) as engine:
            assert await engine.environment_digest("image") == "sha256:1"
            assert await engine.reap("r") == ["left"]

    virtually(whole())


def test_a_sandbox_that_cannot_be_had_is_said_at_once(virtually: Any, reader: Any) -> None:
    class Closed:
        async def open(self, slots: int) -> FakeSandbox:
            raise SandboxUnavailable("no daemon")

    async def whole() -> None:
        with pytest.raises(SandboxUnavailable, match="no daemon"):
            async with LocalEngine(AgentSpec(Closed(), reader, 2)):
                raise AssertionError("not reached")

    virtually(whole())


def test_a_sandbox_that_cannot_say_what_it_holds_is_closed(virtually: Any, reader: Any) -> None:
    class Mute(FakeSandbox):
        async def images(self) -> frozenset[str]:
            raise SandboxUnavailable("the daemon went away")

    sandbox = Mute(lambda request: ended())

    async def whole() -> None:
        with pytest.raises(SandboxUnavailable, match="went away"):
            async with LocalEngine(AgentSpec(Opening(sandbox), reader, 2)):
                raise AssertionError("not reached")

    virtually(whole())
    assert sandbox.closed


def test_engines_are_made_from_data() -> None:
    engine = create_engine(EngineSpec(), SandboxSpec("process", {"isolation": "process"}), slots=1)

    async def digest() -> str:
        async with engine:
            return await engine.environment_digest(None)

    assert asyncio.run(digest()).startswith("sha256:")


@pytest.mark.parametrize(
    ("kind", "address", "field"), [("dask", None, "engine"), ("local", "ray://head:10001", "address")]
)
def test_engines_that_there_are_not_are_refused(kind: str, address: str | None, field: str) -> None:
    with pytest.raises(InputError, match=field):
        EngineSpec(kind, address)


def test_no_slots_are_refused() -> None:
    with pytest.raises(InputError, match="at least one slot"):
        create_engine(EngineSpec(), SandboxSpec("process"), slots=0)
