"""The agent: runs gradings in a sandbox, many at once, and turns whatever happens into a reply.

One class for every engine: in the driver's own event loop, or as a Ray actor on each node.
"""

from __future__ import annotations

import asyncio
import importlib
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from cluster.dispatch import Ending
from cluster.sandboxes.protocol import Sandbox
from parsimony import errors
from parsimony.errors import InputError, PermanentError, SandboxUnavailable, TemporaryError
from parsimony.execution import KIB, Execution, ExecutionRequest, SandboxResult

MESSAGE_LENGTH: Final = 8000
"""Characters of a fault's message that are kept, from its end: of a traceback the part that tells."""

READ_IN_PLACE: Final = 256 * KIB
"""Bytes that are read without a thread of their own."""

GRACE_S: Final = 1800.0
"""Seconds that a sandbox may take on top of an execution's deadline: pulls, queues, removal."""

MOST_TURNS: Final = 8
"""Executions that one may have to wait for in its sandbox before it gets a processor."""

LONGEST_WAIT_S: Final = 3600.0
"""Seconds that a fault may ask to wait; more is taken for this."""

CANCEL_S: Final = 30.0
"""Seconds that a sandbox may take to end what is called off."""


@dataclass(frozen=True, slots=True)
class Done:
    """An attempt gave an execution."""

    execution: Execution

    @property
    def ending(self) -> Ending:
        """DONE."""
        return Ending.DONE


@dataclass(frozen=True, slots=True)
class Fault:
    """An attempt gave nothing: a fault of the machinery, never a verdict.

    Attributes:
        kind: class name of the error; `AgentError` for what should not have happened.
        message: what it said; for an `AgentError` the traceback.
        temporary: another try may help.
        retry_after: seconds that it asks to wait at least.
    """

    kind: str
    message: str
    temporary: bool
    retry_after: float = 0.0

    @property
    def ending(self) -> Ending:
        """TEMPORARY or PERMANENT."""
        return Ending.TEMPORARY if self.temporary else Ending.PERMANENT

    @classmethod
    def of(cls, error: Exception) -> Fault:
        """What `error` means for an attempt."""
        kind, message = type(error).__name__, str(error)[-MESSAGE_LENGTH:]
        if isinstance(error, TemporaryError):
            return cls(kind, message, temporary=True, retry_after=min(max(0.0, error.retry_after), LONGEST_WAIT_S))
        if isinstance(error, PermanentError | InputError):
            return cls(kind, message, temporary=False)
        story = "".join(traceback.format_exception(error))
        return cls("AgentError", story[-MESSAGE_LENGTH:], temporary=True)

    def as_error(self) -> TemporaryError | PermanentError:
        """The error that this was made of, as far as its kind is one of ours."""
        if not self.temporary:
            return PermanentError(self.message)
        kind = getattr(errors, self.kind, None)
        if isinstance(kind, type) and issubclass(kind, TemporaryError):
            return kind(self.message, retry_after=self.retry_after)
        return TemporaryError(self.message, retry_after=self.retry_after)


Reply = Done | Fault


class Order(Protocol):
    """What an agent is told to do; `parsimony.runner.GradingOrder` is one."""

    @property
    def request(self) -> ExecutionRequest:
        """What the sandbox runs."""
        ...


class Reader(Protocol):
    """Turns what came back into an execution; `parsimony.runner.read` is one. Must be picklable for engines that
    need it elsewhere."""

    def __call__(self, order: Any, result: SandboxResult, /, *, sandbox: str) -> Execution:
        """Read `result` of `order`, which a sandbox of the kind `sandbox` ran."""
        ...


@runtime_checkable
class HoldsImages(Protocol):
    """A sandbox that can say which images it need not bring here first."""

    async def images(self) -> frozenset[str]:
        """Their names, as requests would name them."""
        ...


class SandboxFactory(Protocol):
    """Makes the sandbox of an agent, where the agent is. Must be picklable."""

    async def open(self, slots: int) -> Sandbox:
        """A sandbox for `slots` executions at once."""
        ...


_SANDBOXES: Final[Mapping[str, tuple[str, str]]] = {
    "docker": ("cluster.sandboxes.docker", "DockerSandbox"),
    "kubernetes": ("cluster.sandboxes.kubernetes.sandbox", "KubernetesSandbox"),
    "process": ("cluster.sandboxes.process", "ProcessSandbox"),
}


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """Which sandbox, as data. Its module is imported when and where it is opened.

    Attributes:
        kind: `docker`, `kubernetes` or `process`.
        options: keyword arguments of that sandbox's `open`, but for `slots`.
    """

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in _SANDBOXES:
            raise InputError(
                f"there is no sandbox called {self.kind!r}", mend=f"use one of {', '.join(_SANDBOXES)}", field="sandbox"
            )

    async def open(self, slots: int) -> Sandbox:
        """See `SandboxFactory`.

        Raises:
            SandboxUnavailable: the engine behind it does not answer. PermanentError: it cannot be had on this machine.
            InputError: a package that it needs is not installed.
        """
        module, name = _SANDBOXES[self.kind]
        try:
            sandbox = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise InputError(
                f"the {self.kind} sandbox needs the package {error.name}",
                mend="install this distribution with its extra `cluster`",
                field="sandbox",
            ) from error
        opened: Sandbox = await sandbox.open(slots=slots, **self.options)
        return opened


class Agent:
    """Runs gradings in one sandbox.

    Args:
        sandbox: where.
        read: what makes an execution of a sandbox's result.
        slots: gradings at once; more wait their turn.
        grace_s: see `GRACE_S`. A sandbox that takes longer is given up, so that no grading takes forever.
    """

    def __init__(self, sandbox: Sandbox, read: Reader, *, slots: int, grace_s: float = GRACE_S) -> None:
        self._sandbox = sandbox
        self._read = read
        self._slots = asyncio.Semaphore(slots)
        self._turns = min(slots, MOST_TURNS)
        self._grace_s = grace_s

    async def grade(self, order: Order) -> Reply:
        """Run one grading. Never raises, unless it is cancelled."""
        try:
            async with self._slots:
                result = await self._run(order.request)
            return Done(await self._execution(order, result))
        except Exception as error:  # whatever it is, it is no verdict, and others go on
            return Fault.of(error)

    async def _run(self, request: ExecutionRequest) -> SandboxResult:
        limit = self._turns * request.limits.deadline_s + self._grace_s
        run = asyncio.create_task(self._sandbox.run(request), name=request.name)
        run.add_done_callback(_look_at)
        try:
            await asyncio.wait({run}, timeout=limit)
        finally:
            if not run.done():
                run.cancel()
                await asyncio.wait({run}, timeout=CANCEL_S)
        if not run.done() or run.cancelled():
            raise SandboxUnavailable(f"the sandbox had not ended {request.name} after {limit:g} s and was given up")
        return run.result()

    async def _execution(self, order: Order, result: SandboxResult) -> Execution:
        kind = self._sandbox.capabilities.kind
        size = sum(map(len, result.outputs.values())) + len(result.log.head) + len(result.log.tail)
        if size <= READ_IN_PLACE:
            return self._read(order, result, sandbox=kind)
        return await asyncio.to_thread(self._read, order, result, sandbox=kind)

    async def environment_digest(self, image: str | None) -> str:
        """See `Sandbox.environment_digest`."""
        return await self._sandbox.environment_digest(image)

    async def images(self) -> frozenset[str]:
        """Images that are here already, as far as the sandbox can say."""
        return await self._sandbox.images() if isinstance(self._sandbox, HoldsImages) else frozenset()

    async def reap(self, run_id: str | None = None) -> list[str]:
        """See `Sandbox.reap`."""
        return await self._sandbox.reap(run_id)

    async def close(self) -> None:
        """See `Sandbox.close`."""
        await self._sandbox.close()


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """How to make an agent anywhere. Picklable."""

    sandbox: SandboxFactory
    read: Reader
    slots: int
    grace_s: float = GRACE_S

    async def start(self) -> Agent:
        """Open the sandbox and make the agent. Raises what `SandboxFactory.open` raises."""
        return Agent(await self.sandbox.open(self.slots), self.read, slots=self.slots, grace_s=self.grace_s)


def _look_at(run: asyncio.Task[SandboxResult]) -> None:
    """Take note of how an execution ended even when nobody waits for it any more."""
    if not run.cancelled():
        run.exception()
