"""What every engine promises: it has agents, brings orders to them and their replies back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from cluster.agent import Order, Reply
from cluster.dispatch import AgentJoined, AgentLost


@dataclass(frozen=True, slots=True)
class Replied:
    """An attempt came back."""

    job_key: str
    attempt: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class ReplyLost:
    """An attempt will never come back, though its agent lives."""

    job_key: str
    attempt: int
    reason: str


EngineEvent = Replied | ReplyLost | AgentJoined | AgentLost
Post = Callable[[EngineEvent], None]
"""Takes an event. Called in the event loop, soon after the fact; must not raise."""


class Engine(Protocol):
    """Agents, wherever they are. An asynchronous context manager: agents live from `__aenter__` to `__aexit__`.

    One run at a time is attached; several may follow each other. All methods belong to one event loop.
    """

    async def __aenter__(self) -> Self:
        """Start. At least one agent is ready when this returns.

        Raises:
            InputError: something is not installed, or an address leads nowhere.
            SandboxUnavailable: no agent could be started.
            PermanentError: this machine or cluster cannot do what is asked.
        """
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """End every agent, after it has cleaned up, and whatever this engine itself had started."""
        ...

    def attach(self, post: Post) -> None:
        """Send events to `post` from now on, beginning with the agents that are there."""
        ...

    def detach(self) -> None:
        """Send no more events; what still runs is called off."""
        ...

    def submit(self, agent: str, job_key: str, attempt: int, order: Order) -> None:
        """Have `agent` run an attempt. One `Replied` or `ReplyLost` will follow, unless the agent is lost or the
        attempt is cancelled before."""
        ...

    def cancel(self, agent: str, job_key: str, attempt: int) -> None:
        """Call an attempt off. Nothing will be heard of it."""
        ...

    async def settle(self, timeout_s: float) -> None:
        """Wait, no longer than `timeout_s`, until what was cancelled has really ended."""
        ...

    async def environment_digest(self, image: str | None) -> str:
        """See `Sandbox.environment_digest`; asks one agent."""
        ...

    async def reap(self, run_id: str | None = None) -> list[str]:
        """See `Sandbox.reap`; asks every agent."""
        ...


@runtime_checkable
class CountsAgents(Protocol):
    """An engine that can say how many agents it has."""

    @property
    def agents(self) -> int:
        """Those that are there now."""
        ...
