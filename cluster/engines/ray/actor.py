"""The agent as a Ray actor: what runs on the nodes.

Orders come in many to a call, and replies go out many to a call: a call costs more than a whole short dispatch. One
call for replies waits at the agent at any time, so a reply is on its way as soon as there is one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Final

import parsimony
from cluster.agent import Agent, AgentSpec, Done, Fault, Order, Reply
from cluster.logs import configure_logs
from parsimony.execution import MIB

MOST_REPLIES: Final = 256
MOST_BYTES: Final = 8 * MIB
"""What one call brings at most: enough to make calls cheap, and little enough for a small object store."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a new agent says of itself."""

    version: str
    images: frozenset[str]


class AgentActor:
    """An `Agent` as an asynchronous actor: calls do not wait for each other.

    Errors come back as faults: not every exception survives the way between processes as itself.
    """

    def __init__(self, spec: AgentSpec) -> None:
        configure_logs()  # a fresh process: nothing of the driver's logging came along
        self._spec = spec
        self._agent: Agent | None = None
        self._running: dict[int, asyncio.Task[Reply]] = {}
        self._ended: deque[tuple[int, Reply | None]] = deque()
        self._news = asyncio.Event()

    async def start(self) -> Greeting | Fault:
        """Open the sandbox. The first call."""
        try:
            self._agent = await self._spec.start()
            return Greeting(parsimony.__version__, await self._agent.images())
        except Exception as error:
            return Fault.of(error)

    @property
    def _ready(self) -> Agent:
        assert self._agent is not None, "the agent is used before it was started"
        return self._agent

    async def take(self, orders: list[tuple[int, Order]]) -> None:
        """Begin gradings, each known by its number."""
        for number, order in orders:
            task = asyncio.create_task(self._ready.grade(order))
            self._running[number] = task
            task.add_done_callback(partial(self._end, number))

    def _end(self, number: int, task: asyncio.Task[Reply]) -> None:
        del self._running[number]
        self._ended.append((number, None if task.cancelled() else task.result()))
        self._news.set()

    async def cancel(self, numbers: list[int]) -> None:
        """Call gradings off. Each is heard of when it has really ended."""
        for number in numbers:
            task = self._running.get(number)
            if task is not None:
                task.cancel()

    async def replies(self, wait_s: float) -> list[tuple[int, Reply | None]]:
        """Replies by number as soon as there is one; None for what was called off. Empty after `wait_s` seconds."""
        try:
            async with asyncio.timeout(wait_s):
                await self._news.wait()
        except TimeoutError:
            return []
        batch: list[tuple[int, Reply | None]] = []
        weight = 0
        while self._ended and len(batch) < MOST_REPLIES and (not batch or weight < MOST_BYTES):
            batch.append(self._ended.popleft())
            weight += _weight(batch[-1][1])
        if not self._ended:
            self._news.clear()
        return batch

    async def environment_digest(self, image: str | None) -> str | Fault:
        """See `Agent.environment_digest`."""
        try:
            return await self._ready.environment_digest(image)
        except Exception as error:
            return Fault.of(error)

    async def reap(self, run_id: str | None) -> list[str] | Fault:
        """See `Agent.reap`."""
        try:
            return await self._ready.reap(run_id)
        except Exception as error:
            return Fault.of(error)

    async def close(self) -> None:
        """See `Agent.close`."""
        if self._agent is not None:
            await self._agent.close()


def _weight(reply: Reply | None) -> int:
    """About how many bytes a reply has."""
    if not isinstance(reply, Done):
        return 0
    log = reply.execution.log
    return len(log.head) + len(log.tail) + len(reply.execution.applied_patch)
