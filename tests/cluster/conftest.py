"""What tests above the sandboxes share: virtual time, orders that mean nothing, a sink that remembers, one Ray."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from cluster.dispatch import Ending, Job
from parsimony.execution import (
    ApplyRecord,
    Evidence,
    Execution,
    ExecutionOutcome,
    ExecutionRequest,
    Limits,
    SandboxResult,
)

T = TypeVar("T")
RunVirtually = Callable[[Coroutine[Any, Any, T]], T]


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: when nothing is ready, the clock jumps to the next timer."""

    clock = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits and nothing will ever happen"
            self.clock += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._selector_with_clock = _JumpingSelector()
        super().__init__(self._selector_with_clock)

    def time(self) -> float:
        return self._selector_with_clock.clock


@pytest.fixture(scope="session")
def virtually() -> RunVirtually[Any]:
    """Runs a coroutine in an event loop whose time begins at 0 and passes at once. Not for code that uses threads."""

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
            return runner.run(coroutine)

    return run


class Sink:
    """Remembers everything, with the loop's time, and what of it was flushed when."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []
        self.executions: dict[str, Execution] = {}
        self.missing: dict[str, tuple[str, ...]] = {}
        self.unflushed: list[float] = []
        self.latest_flush_s = 0.0

    def _note(self, *line: Any) -> None:
        self.lines.append(line)
        self.unflushed.append(asyncio.get_running_loop().time())

    def attempt_started(self, job: Job, attempt: int, agent: str) -> None:
        self._note("started", job.key, attempt, agent)

    def attempt_ended(self, job: Job, attempt: int, ending: Ending, fault: str, message: str) -> None:
        self._note("ended", job.key, attempt, ending, fault)

    def terminal(self, job: Job, execution: Execution | None, reasons: tuple[str, ...]) -> None:
        assert job.key not in self.executions.keys() | self.missing.keys(), "two terminal records"
        if execution is None:
            self.missing[job.key] = reasons
        else:
            self.executions[job.key] = execution
        self._note("terminal", job.key)

    def flush_if_due(self) -> None:
        pass

    def flush(self) -> None:
        now = asyncio.get_running_loop().time()
        self.latest_flush_s = max([self.latest_flush_s, *(now - at for at in self.unflushed)])
        self.unflushed.clear()

    def endings(self, key: str) -> list[tuple[int, str, str]]:
        """Number, ending and fault of each attempt at a job."""
        return [(line[2], str(line[3]), line[4]) for line in self.lines if line[:2] == ("ended", key)]


@pytest.fixture
def sink() -> Sink:
    return Sink()


def read(order: Any, result: SandboxResult, /, *, sandbox: str) -> Execution:
    return Execution(
        execution_key=order.request.execution_key,
        outcome=ExecutionOutcome.COMPLETED,
        exit_status=result.exit_status,
        tests={},
        evidence=Evidence.NONE,
        reasons=(),
        apply=ApplyRecord(),
        usage=result.usage,
        phases={},
        log=result.log,
        sandbox=sandbox,
        runner_version="0",
        started_at=0.0,
    )


@pytest.fixture
def reader() -> Callable[..., Execution]:
    """Reads nothing out of a result but its exit status and its log."""
    return read


def order(job: Job, attempt: int) -> SimpleNamespace:
    request = ExecutionRequest(
        job.key, f"{job.key}-{attempt}", ("true",), {}, image=job.image, limits=Limits(timeout_s=10, overhead_s=5)
    )
    return SimpleNamespace(request=request)


@pytest.fixture
def make_order() -> Callable[[Job, int], SimpleNamespace]:
    """An order of 15 seconds at most, named `<job>-<attempt>`."""
    return order


@pytest.fixture(scope="session")
def ray_session() -> Iterator[Any]:
    """The one Ray of a test session: starting it takes ten seconds and more."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from cluster.engines.ray.session import connect
    from parsimony.errors import SandboxUnavailable

    try:
        connect(None)
    except SandboxUnavailable as error:
        pytest.skip(f"Ray does not start here: {error}")
    yield ray
    ray.shutdown()
