"""Threads for the blocking life of executions, and for removing what they leave, off the critical path."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

import structlog

from parsimony.errors import ParsimonyError, PermanentError
from parsimony.execution import SandboxResult

REMOVERS: Final = 3
REMOVAL_TRIES: Final = 4
HELPERS: Final = 4

log = structlog.get_logger(__name__)
T = TypeVar("T")


class Aborted(Exception):
    """`Job.abort` was called."""


class Job(Protocol):
    """One execution."""

    def execute(self) -> SandboxResult:
        """Run to the end; blocks. Raises Aborted when `abort` was called, and what `Sandbox.run` raises."""
        ...

    def abort(self) -> None:
        """Make `execute` end soon; called from another thread, at any time."""
        ...


class Workers:
    """Three small pools: executions, removals, everything else.

    Args:
        slots: executions at once; more wait for a free thread.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._executions = ThreadPoolExecutor(slots, "sandbox")
        self._removers = ThreadPoolExecutor(REMOVERS, "sandbox-removal")
        self._helpers = ThreadPoolExecutor(HELPERS, "sandbox-helper")
        self._removals: dict[asyncio.Task[None], str] = {}
        self._running: set[str] = set()

    @property
    def names(self) -> set[str]:
        """Executions that run here or are being removed."""
        return self._running | set(self._removals.values())

    @contextlib.contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Hold `name` while it runs.

        Raises:
            PermanentError: it runs here already.
        """
        if name in self._running:
            raise PermanentError(f"{name} is running here already")
        self._running.add(name)
        try:
            yield
        finally:
            self._running.discard(name)

    async def run(self, job: Job) -> SandboxResult:
        """Run `job` in a thread of its own. When this is cancelled, it returns only after the job has ended."""
        while len(self._removals) > self._slots:  # removal that falls behind slows the work, rather than piling up
            await asyncio.wait(self._removals, return_when=asyncio.FIRST_COMPLETED)
        execution = self._executions.submit(job.execute)
        try:
            return await asyncio.wrap_future(execution)
        except asyncio.CancelledError:
            if not execution.cancel():
                self._removers.submit(job.abort)
                await _settled(execution)
            raise

    async def call(self, function: Callable[[], T]) -> T:
        """Run a blocking call that may take long (a look-up, a pull)."""
        return await asyncio.get_running_loop().run_in_executor(self._helpers, function)

    def later(self, name: str, remove: Callable[[], None]) -> None:
        """Remove what `name` left, in the background; tried a few times, then left to the reaper."""
        task = asyncio.get_running_loop().create_task(self._remove(name, remove))
        self._removals[task] = name
        task.add_done_callback(self._removals.pop)

    async def close(self) -> None:
        """Wait for removals under way and let the threads go."""
        while self._removals:
            await asyncio.wait(self._removals)
        for executor in (self._executions, self._removers, self._helpers):
            executor.shutdown(wait=False, cancel_futures=True)

    async def _remove(self, name: str, remove: Callable[[], None]) -> None:
        for attempt in range(1, REMOVAL_TRIES + 1):
            try:
                await asyncio.get_running_loop().run_in_executor(self._removers, remove)
                break
            except (ParsimonyError, OSError) as error:
                if attempt == REMOVAL_TRIES:
                    log.warning("execution.left_behind", execution=name, reason=str(error))
                else:
                    await asyncio.sleep(0.25 * attempt)


async def _settled(job: Future[SandboxResult]) -> None:
    """Wait until `job` has ended, however often the waiting itself is cancelled."""
    waiter = asyncio.ensure_future(asyncio.wrap_future(job))
    while not waiter.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({waiter})
    waiter.exception()  # looked at, so that nobody complains that it never was
