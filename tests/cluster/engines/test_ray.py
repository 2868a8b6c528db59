"""The Ray engine, on the one Ray of the session: what the local engine does, and what happens when actors die."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from cluster.agent import AgentSpec
from cluster.dispatch import Job, Policy, RunEnding
from cluster.driver import Control, DriveOptions, drive
from cluster.engines.local import LocalEngine
from cluster.sandboxes.fake import FakeSandbox, ended
from cluster.sandboxes.protocol import Sandbox
from parsimony.errors import DiskFull, ImagePullFailed, PermanentError, SandboxUnavailable
from parsimony.execution import ExecutionRequest, SandboxResult

pytestmark = [pytest.mark.ray, pytest.mark.slow]
OPTIONS = DriveOptions(signals=False, policy=Policy(backoff_seconds=0.1))


class Staging(FakeSandbox):
    """What happens to a request is in its name and in files of a folder that all processes see."""

    def __init__(self, folder: Path) -> None:
        super().__init__(self._act, delay=lambda request: 0.01)
        self.folder = folder
        (folder / f"pid-{os.getpid()}").touch()

    def _act(self, request: ExecutionRequest) -> SandboxResult | Exception:
        (self.folder / f"ran-{request.name}").touch()
        if request.name == "flaky-1":
            return ImagePullFailed("no route", retry_after=0.2)
        if request.name.startswith("broken"):
            return PermanentError("no git")
        if request.name == "killer-1":
            os.kill(os.getpid(), signal.SIGKILL)
        return ended(log=request.name.encode())

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        if request.name.startswith("slow"):
            try:
                await asyncio.sleep(3600)
            finally:
                (self.folder / f"ended-{request.name}").touch()
        return await super().run(request)

    async def environment_digest(self, image: str | None) -> str:
        if image == "absent":
            raise DiskFull("no room for it")
        return f"sha256:{image}"

    async def images(self) -> frozenset[str]:
        return frozenset({"here"})

    async def reap(self, run_id: str | None = None, *, dry_run: bool = False) -> list[str]:
        return [f"left-{run_id}"]

    async def close(self) -> None:
        (self.folder / f"closed-{os.getpid()}").touch()


class Opening:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def open(self, slots: int) -> Sandbox:
        return Staging(self.folder)


class Refusing:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def open(self, slots: int) -> Sandbox:
        raise self.error


@pytest.fixture
def engine(ray_session: Any, reader: Any, tmp_path: Path) -> Any:
    """Makes an engine, not yet entered; with the arguments of `RayEngine`."""
    from cluster.engines.ray import RayEngine

    for module in (sys.modules[__name__], sys.modules[reader.__module__]):
        ray_session.cloudpickle.register_pickle_by_value(module)  # workers cannot import tests

    def make(slots: int = 2, sandbox: Any = None) -> Any:
        return RayEngine(AgentSpec(sandbox or Opening(tmp_path), reader, slots))

    return make


def files(folder: Path, prefix: str) -> list[str]:
    return sorted(path.name.removeprefix(prefix) for path in folder.glob(f"{prefix}*"))


def pids(folder: Path) -> list[int]:
    """Of every process that ever opened a sandbox here."""
    return [int(name) for name in files(folder, "pid-")]


def test_the_same_jobs_give_the_same_as_locally(
    engine: Any, sink: Any, reader: Any, make_order: Any, tmp_path: Path
) -> None:
    jobs = [Job(name) for name in ("a", "b", "flaky", "broken", "c")]

    async def whole() -> tuple[Any, Any]:
        async with engine() as there:
            far = await drive(jobs, make_order, there, sink, OPTIONS)
        local: Any = type(sink)()
        async with LocalEngine(AgentSpec(Opening(tmp_path), reader, 2)) as here:
            near = await drive(jobs, make_order, here, local, OPTIONS)
        assert local.executions == sink.executions
        assert [local.endings(job.key) for job in jobs] == [sink.endings(job.key) for job in jobs]
        return far, near

    far, near = asyncio.run(whole())
    assert far.counts == near.counts
    assert far.missing["broken"][0].endswith("PermanentError: no git")
    assert sink.executions["a"].log.head == b"a-1"
    assert sink.endings("flaky") == [(1, "temporary", "ImagePullFailed"), (2, "done", "")]


def test_an_actor_that_dies_takes_no_verdict_with_it(engine: Any, sink: Any, make_order: Any, tmp_path: Path) -> None:
    jobs = [Job("killer"), *(Job(f"j{number}", expected_seconds=1.0) for number in range(20))]

    async def whole() -> Any:
        async with engine() as there:
            return await drive(jobs, make_order, there, sink, OPTIONS)

    result = asyncio.run(whole())
    assert result.ending is RunEnding.COMPLETED
    assert result.counts.done == 21
    assert sink.endings("killer") == [(1, "lost", "NodeLost"), (2, "done", "")]
    for job in jobs:
        assert [ending for _, ending, _ in sink.endings(job.key)].count("done") == 1
        assert len(sink.endings(job.key)) <= 2
    agents = {line[3] for line in sink.lines if line[0] == "started"}
    assert len(agents) == 2
    assert len(pids(tmp_path)) == 2
    assert files(tmp_path, "ran-").count("killer-2") == 1


def test_an_idle_actor_that_dies_is_replaced(engine: Any, sink: Any, make_order: Any, tmp_path: Path) -> None:
    async def whole() -> Any:
        async with engine() as there:
            (pid,) = pids(tmp_path)
            os.kill(pid, signal.SIGKILL)
            return await drive([Job("a")], make_order, there, sink, OPTIONS)

    assert asyncio.run(whole()).counts.done == 1


def test_a_node_that_kills_every_agent_is_left_alone(
    engine: Any, sink: Any, make_order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cluster.engines.ray import fleet

    monkeypatch.setattr(fleet, "SURVEY_S", 0.2)
    options = DriveOptions(signals=False, policy=Policy(max_losses=10, agentless_seconds=20, breaker_jobs=99))

    def orders(job: Job, attempt: int) -> Any:
        return make_order(job, 1)  # always the one that kills

    async def whole() -> Any:
        async with engine() as there:
            return await drive([Job("killer")], orders, there, sink, options)

    result = asyncio.run(whole())
    assert result.ending is RunEnding.HALTED
    assert result.reason.startswith("there was work but no agent for 20 s; the last one was lost: ")
    assert len(sink.endings("killer")) == fleet.NODE_ATTEMPTS


def test_what_is_stopped_ends_on_its_node(engine: Any, sink: Any, make_order: Any, tmp_path: Path) -> None:
    async def whole() -> Any:
        control = Control()
        async with engine() as there:
            asyncio.get_running_loop().call_later(1.0, control.stop)
            options = DriveOptions(signals=False, control=control)
            result = await drive([Job("slow"), Job("slow2")], make_order, there, sink, options)
            assert files(tmp_path, "ended-") == ["slow-1", "slow2-1"]
            return result, await drive([Job("a")], make_order, there, sink, OPTIONS)

    stopped, after = asyncio.run(whole())
    assert stopped.ending is RunEnding.STOPPED
    assert after.counts.done == 1


def test_engines_share_a_ray_and_leave_nothing(
    engine: Any, ray_session: Any, sink: Any, make_order: Any, tmp_path: Path
) -> None:
    async def whole() -> None:
        async with engine() as one, engine() as other:
            first = drive([Job("a")], make_order, one, sink, OPTIONS)
            second = drive([Job("b")], make_order, other, sink, OPTIONS)
            assert [result.counts.done for result in await asyncio.gather(first, second)] == [1, 1]
            assert await one.environment_digest("x") == "sha256:x"
            assert await one.reap("r") == ["left-r"]
            with pytest.raises(DiskFull, match="no room for it"):
                await one.environment_digest("absent")

    asyncio.run(whole())
    assert ray_session.is_initialized()
    assert [int(name) for name in files(tmp_path, "closed-")] == pids(tmp_path)
    assert len(pids(tmp_path)) == 2
    for pid in pids(tmp_path):
        _wait_until_gone(pid)


@pytest.mark.parametrize("error", [PermanentError("no namespaces here"), SandboxUnavailable("no daemon")])
def test_a_sandbox_that_cannot_be_had_is_said_and_no_actor_stays(error: Exception, engine: Any) -> None:
    async def whole() -> None:
        async with engine(sandbox=Refusing(error)):
            raise AssertionError("not reached")

    with pytest.raises(type(error), match=str(error)):
        asyncio.run(whole())


def test_agents_tell_what_they_hold(engine: Any) -> None:
    events: list[Any] = []

    async def whole() -> None:
        async with engine(slots=3) as there:
            there.attach(events.append)

    asyncio.run(whole())
    assert [(event.slots, event.images, event.prefetch) for event in events] == [(3, {"here"}, 2)]


def test_an_order_that_cannot_be_sent_is_a_lost_attempt(engine: Any, sink: Any) -> None:
    def orders(job: Job, attempt: int) -> Any:
        request = ExecutionRequest(job.key, f"{job.key}-{attempt}", (), {})
        return SimpleNamespace(request=request, lock=threading.Lock() if attempt == 1 else None)

    async def whole() -> Any:
        async with engine() as there:
            return await drive([Job("a")], orders, there, sink, OPTIONS)

    assert asyncio.run(whole()).counts.done == 1
    assert sink.endings("a") == [(1, "lost", "ReplyLost"), (2, "done", "")]


def _wait_until_gone(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(60)
