"""The agent as a Ray actor: what runs on the nodes."""

from __future__ import annotations

from dataclasses import dataclass

import parsimony
from cluster.agent import Agent, AgentSpec, Fault, Order, Reply


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a new agent says of itself."""

    version: str
    images: frozenset[str]


class AgentActor:
    """An `Agent` as an asynchronous actor: many calls at once, each of which can be cancelled.

    Errors come back as faults: not every exception survives the way between processes as itself.
    """

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec
        self._agent: Agent | None = None

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

    async def ping(self) -> None:
        """Show that the event loop turns."""

    async def grade(self, order: Order) -> Reply:
        """See `Agent.grade`."""
        return await self._ready.grade(order)

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
