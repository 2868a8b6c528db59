"""The agent: a reply for everything that can happen, and nothing that takes forever."""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.agent import CANCEL_S, MESSAGE_LENGTH, Agent, AgentSpec, Done, Fault, Reply, SandboxSpec
from cluster.dispatch import Ending, Job
from cluster.sandboxes.fake import FakeSandbox, ended
from parsimony.errors import DiskFull, ImagePullFailed, InputError, PermanentError, TemporaryError
from parsimony.execution import ExecutionRequest, SandboxResult

ORDER_S = 15.0
GRACE_S = 100.0


class Running(FakeSandbox):
    """Runs a function."""

    def __init__(self, run: Callable[[ExecutionRequest], Awaitable[SandboxResult]]) -> None:
        super().__init__(lambda request: ended())
        self._function = run

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        return await self._function(request)


def grade(virtually: Any, sandbox: FakeSandbox, reader: Any, make_order: Any) -> Reply:
    agent = Agent(sandbox, reader, slots=1, grace_s=GRACE_S)
    reply: Reply = virtually(agent.grade(make_order(Job("a"), 1)))
    return reply


def test_a_result_becomes_an_execution(virtually: Any, reader: Any, make_order: Any) -> None:
    reply = grade(virtually, FakeSandbox(lambda request: ended(exit_status=3, log=b"said")), reader, make_order)
    assert isinstance(reply, Done)
    assert reply.ending is Ending.DONE
    assert (reply.execution.execution_key, reply.execution.exit_status, reply.execution.sandbox) == ("a", 3, "fake")


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ImagePullFailed("no route", retry_after=7), Fault("ImagePullFailed", "no route", True, 7.0)),
        (TemporaryError("odd", retry_after=-1), Fault("TemporaryError", "odd", True, 0.0)),
        (TemporaryError("odd", retry_after=float("inf")), Fault("TemporaryError", "odd", True, 3600.0)),
        (PermanentError("no git"), Fault("PermanentError", "no git", False)),
        (InputError("is odd", mend="mend it", field="x"), Fault("InputError", "x: is odd; mend it", False)),
    ],
)
def test_errors_become_faults_by_what_they_ask_for(
    error: Exception, fault: Fault, virtually: Any, reader: Any, make_order: Any
) -> None:
    assert grade(virtually, FakeSandbox(lambda request: error), reader, make_order) == fault
    assert fault.ending is (Ending.TEMPORARY if fault.temporary else Ending.PERMANENT)


@pytest.mark.parametrize("where", ["sandbox", "reader"])
def test_what_should_not_happen_is_a_temporary_fault_with_its_traceback(
    where: str, virtually: Any, reader: Any, make_order: Any
) -> None:
    def broken(*arguments: Any, **more: Any) -> Any:
        raise KeyError("x" * 2 * MESSAGE_LENGTH + " is not there")

    sandbox = FakeSandbox(broken if where == "sandbox" else lambda request: ended())
    reply = grade(virtually, sandbox, broken if where == "reader" else reader, make_order)
    assert isinstance(reply, Fault)
    assert (reply.kind, reply.temporary) == ("AgentError", True)
    assert len(reply.message) == MESSAGE_LENGTH
    assert reply.message.endswith("is not there'\n")


def test_faults_turn_back_into_the_errors_they_were() -> None:
    full = Fault.of(DiskFull("no room", retry_after=5)).as_error()
    assert type(full) is DiskFull
    assert (str(full), full.retry_after) == ("no room", 5.0)
    assert type(Fault.of(KeyError("x")).as_error()) is TemporaryError
    assert type(Fault("InputError", "x", temporary=True).as_error()) is TemporaryError
    assert type(Fault.of(InputError("x", mend="y")).as_error()) is PermanentError


def test_a_sandbox_that_never_ends_is_given_up(virtually: Any, reader: Any, make_order: Any) -> None:
    async def forever(request: ExecutionRequest) -> SandboxResult:
        await asyncio.sleep(1e9)
        raise AssertionError("not reached")

    async def timed() -> tuple[Reply, float]:
        reply = await Agent(Running(forever), reader, slots=1, grace_s=GRACE_S).grade(make_order(Job("a"), 1))
        return reply, asyncio.get_running_loop().time()

    reply, seconds = virtually(timed())
    assert reply == Fault("SandboxUnavailable", "the sandbox had not ended a-1 after 115 s and was given up", True)
    assert seconds == pytest.approx(ORDER_S + GRACE_S)


def test_a_sandbox_that_does_not_even_end_when_called_off_is_left(virtually: Any, reader: Any, make_order: Any) -> None:
    async def stubborn(request: ExecutionRequest) -> SandboxResult:
        try:
            await asyncio.sleep(1e9)
        except asyncio.CancelledError:
            await asyncio.sleep(1000)
        raise ValueError("nobody hears this")

    async def timed() -> tuple[Reply, float]:
        reply = await Agent(Running(stubborn), reader, slots=1, grace_s=GRACE_S).grade(make_order(Job("a"), 1))
        seconds = asyncio.get_running_loop().time()
        await asyncio.sleep(2000)  # its error is looked at by nobody, and no warning says so
        return reply, seconds

    reply, seconds = virtually(timed())
    assert reply.ending is Ending.TEMPORARY
    assert seconds == pytest.approx(ORDER_S + GRACE_S + CANCEL_S)


def test_calling_a_grading_off_calls_its_sandbox_off(virtually: Any, reader: Any, make_order: Any) -> None:
    sandbox = FakeSandbox(lambda request: ended(), delay=lambda request: 1000.0)

    async def cancelled() -> None:
        task = asyncio.create_task(Agent(sandbox, reader, slots=1).grade(make_order(Job("a"), 1)))
        await asyncio.sleep(1)
        assert sandbox.running == {"a-1"}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not sandbox.running

    virtually(cancelled())


def test_no_more_than_its_slots_at_once(virtually: Any, reader: Any, make_order: Any) -> None:
    sandbox = FakeSandbox(lambda request: ended(), delay=lambda request: 1.0)

    async def many() -> float:
        agent = Agent(sandbox, reader, slots=3)
        await asyncio.gather(*(agent.grade(make_order(Job(f"j{i}"), 1)) for i in range(9)))
        return asyncio.get_running_loop().time()

    assert virtually(many()) == pytest.approx(3.0)
    assert sandbox.most_at_once == 3


@pytest.mark.parametrize(("size", "elsewhere"), [(1000, False), (1 << 20, True)])
def test_large_results_are_read_beside_the_loop(size: int, elsewhere: bool, reader: Any, make_order: Any) -> None:
    threads = []

    def reading(order: Any, result: SandboxResult, /, *, sandbox: str) -> Any:
        threads.append(threading.current_thread())
        return reader(order, result, sandbox=sandbox)

    agent = Agent(FakeSandbox(lambda request: ended({"report": b"x" * size})), reading, slots=1)
    assert asyncio.run(agent.grade(make_order(Job("a"), 1))).ending is Ending.DONE
    assert (threads != [threading.main_thread()]) == elsewhere


def test_images_are_told_where_the_sandbox_can_say() -> None:
    class Holding(FakeSandbox):
        async def images(self) -> frozenset[str]:
            return frozenset({"one"})

    def agent(sandbox: FakeSandbox) -> Agent:
        return Agent(sandbox, lambda *_, **__: None, slots=1)  # type: ignore[arg-type]

    assert asyncio.run(agent(Holding(lambda request: ended())).images()) == {"one"}
    assert asyncio.run(agent(FakeSandbox(lambda request: ended())).images()) == frozenset()


def test_a_sandbox_is_data_until_it_is_opened() -> None:
    spec = pickle.loads(pickle.dumps(SandboxSpec("process", {"isolation": "process"})))

    async def opened() -> str:
        sandbox = await spec.open(1)
        await sandbox.close()
        kind: str = sandbox.capabilities.kind
        return kind

    assert asyncio.run(opened()) == "process"


def test_an_unknown_sandbox_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no sandbox called 'podman'; use one of docker, kubernetes, process"):
        SandboxSpec("podman")


def test_a_missing_package_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    monkeypatch.delitem(sys.modules, "cluster.sandboxes.docker", raising=False)
    with pytest.raises(InputError, match=r"needs the package docker; install"):
        asyncio.run(SandboxSpec("docker").open(1))


def test_an_agent_is_made_from_its_spec(reader: Any, make_order: Any) -> None:
    sandbox = FakeSandbox(lambda request: ended(), digests={"image": "sha256:1"})
    sandbox.abandoned["left"] = {"parsimony.dev/managed-by": "parsimony", "parsimony.dev/run": "r"}

    async def whole() -> None:
        async def opening(slots: int) -> FakeSandbox:
            assert slots == 2
            return sandbox

        agent = await AgentSpec(SimpleNamespace(open=opening), reader, slots=2).start()
        assert await agent.environment_digest("image") == "sha256:1"
        assert await agent.reap("r") == ["left"]
        await agent.close()
        assert sandbox.closed

    asyncio.run(whole())
