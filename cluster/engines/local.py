"""The `local` engine: one agent, in the driver's own event loop."""

from __future__ import annotations

import asyncio
from functools import partial
from types import TracebackType
from typing import Self

from cluster.agent import CANCEL_S, Agent, AgentSpec, Fault, Order, Reply
from cluster.dispatch import AgentJoined
from cluster.engines.protocol import EngineEvent, Post, Replied


class LocalEngine:
    """See `Engine`. No message is on its way for any time, so nothing is prefetched.

    Args:
        spec: of the agent.
        name: of the agent.
    """

    def __init__(self, spec: AgentSpec, *, name: str = "local") -> None:
        self._spec = spec
        self._name = name
        self._agent: Agent | None = None
        self._images: frozenset[str] = frozenset()
        self._post: Post = _nowhere
        self._running: dict[tuple[str, int], asyncio.Task[Reply]] = {}
        self._cancelled: set[asyncio.Task[Reply]] = set()

    async def __aenter__(self) -> Self:
        self._agent = await self._spec.start()
        try:
            self._images = await self._agent.images()
        except BaseException:
            await self._agent.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.detach()
        await self.settle(CANCEL_S)
        await self._ready.close()

    @property
    def _ready(self) -> Agent:
        assert self._agent is not None, "the engine is used before it was entered"
        return self._agent

    def attach(self, post: Post) -> None:
        """See `Engine`."""
        self._post = post
        post(AgentJoined(self._name, self._spec.slots, self._images))

    def detach(self) -> None:
        """See `Engine`."""
        self._post = _nowhere
        for key, attempt in list(self._running):
            self.cancel(self._name, key, attempt)

    def submit(self, agent: str, job_key: str, attempt: int, order: Order) -> None:
        """See `Engine`."""
        task = asyncio.get_running_loop().create_task(self._ready.grade(order), name=f"{job_key}#{attempt}")
        self._running[job_key, attempt] = task
        task.add_done_callback(partial(self._ended, job_key, attempt))

    def _ended(self, job_key: str, attempt: int, task: asyncio.Task[Reply]) -> None:
        self._cancelled.discard(task)
        if self._running.get((job_key, attempt)) is not task:
            return
        del self._running[job_key, attempt]
        reply = Fault("AgentError", "cancelled by nobody", temporary=True) if task.cancelled() else task.result()
        self._post(Replied(job_key, attempt, reply))

    def cancel(self, agent: str, job_key: str, attempt: int) -> None:
        """See `Engine`."""
        task = self._running.pop((job_key, attempt), None)
        if task is not None:
            self._cancelled.add(task)
            task.cancel()

    async def settle(self, timeout_s: float) -> None:
        """See `Engine`."""
        if self._cancelled:
            await asyncio.wait(set(self._cancelled), timeout=timeout_s)

    async def environment_digest(self, image: str | None) -> str:
        """See `Engine`."""
        return await self._ready.environment_digest(image)

    async def reap(self, run_id: str | None = None) -> list[str]:
        """See `Engine`."""
        return await self._ready.reap(run_id)


def _nowhere(event: EngineEvent) -> None:
    """Where events go when no run is attached."""
