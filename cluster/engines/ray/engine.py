"""The engine itself: which attempt is which order of which agent."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import ray

from cluster.agent import CANCEL_S, AgentSpec, Order, Reply
from cluster.dispatch import AgentJoined, AgentLost
from cluster.engines.protocol import EngineEvent, Post, Replied, ReplyLost
from cluster.engines.ray.fleet import Fleet
from cluster.engines.ray.link import Link
from cluster.engines.ray.session import connect
from parsimony.errors import SandboxUnavailable

PREFETCH: Final = 2
"""Attempts that wait at an agent on top of its slots, so that no slot idles for the time of a call."""


@dataclass(frozen=True, slots=True)
class _Submitted:
    job_key: str
    attempt: int
    agent: str


class RayEngine:
    """See `Engine`.

    Args:
        spec: of every agent.
        address: of the cluster; None = $RAY_ADDRESS, else a Ray of our own on this machine. A Ray that this process is
            connected to already is used whatever this says, and is left as it was.
        prefetch: see `PREFETCH`.
    """

    def __init__(self, spec: AgentSpec, *, address: str | None = None, prefetch: int = PREFETCH) -> None:
        self._spec = spec
        self._address = address
        self._prefetch = prefetch
        self._fleet = Fleet(spec, joined=self._joined, lost=self._lost, heard=self._heard, dropped=self._dropped)
        self._connected_here = False
        self._post: Post = _nowhere
        self._numbers = 0
        self._submitted: dict[int, _Submitted] = {}
        self._by_attempt: dict[tuple[str, int], int] = {}
        self._cancelled: dict[int, str] = {}
        self._settled = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._connected_here = connect(self._address)
        try:
            await self._fleet.start()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.detach()
        await self.settle(CANCEL_S)
        await self._close()

    async def _close(self) -> None:
        try:
            await self._fleet.close()
        finally:
            if self._connected_here:
                ray.shutdown()

    # -- agents ---------------------------------------------------------------------------------------------------

    @property
    def agents(self) -> int:
        """See `CountsAgents`."""
        return len(list(self._fleet))

    def attach(self, post: Post) -> None:
        """See `Engine`."""
        self._post = post
        for link in self._fleet:
            self._joined(link)

    def detach(self) -> None:
        """See `Engine`."""
        self._post = _nowhere
        for attempt in list(self._submitted.values()):
            self.cancel(attempt.agent, attempt.job_key, attempt.attempt)

    def _joined(self, link: Link) -> None:
        self._post(AgentJoined(link.name, self._spec.slots, link.images, self._prefetch))

    def _lost(self, link: Link, reason: str) -> None:
        for number in [n for n, attempt in self._submitted.items() if attempt.agent == link.name]:
            self._forget(number)
        self._cancelled = {number: agent for number, agent in self._cancelled.items() if agent != link.name}
        self._check_settled()
        self._post(AgentLost(link.name, reason))

    # -- attempts -------------------------------------------------------------------------------------------------

    def submit(self, agent: str, job_key: str, attempt: int, order: Order) -> None:
        """See `Engine`."""
        link = self._fleet.get(agent)
        if link is None:
            return  # its loss is announced and was not heard of yet
        self._numbers += 1
        self._submitted[self._numbers] = _Submitted(job_key, attempt, agent)
        self._by_attempt[job_key, attempt] = self._numbers
        link.submit(self._numbers, order)

    def _heard(self, number: int, reply: Reply | None) -> None:
        if self._cancelled.pop(number, None) is not None:
            self._check_settled()
        elif (attempt := self._forget(number)) is None:
            return
        elif reply is None:
            self._post(ReplyLost(attempt.job_key, attempt.attempt, "it was called off by nobody"))
        else:
            self._post(Replied(attempt.job_key, attempt.attempt, reply))

    def _dropped(self, numbers: list[int], reason: str) -> None:
        for number in numbers:
            self._cancelled.pop(number, None)
            attempt = self._forget(number)
            if attempt is not None:
                self._post(ReplyLost(attempt.job_key, attempt.attempt, reason))
        self._check_settled()

    def _forget(self, number: int) -> _Submitted | None:
        attempt = self._submitted.pop(number, None)
        if attempt is not None:
            del self._by_attempt[attempt.job_key, attempt.attempt]
        return attempt

    def cancel(self, agent: str, job_key: str, attempt: int) -> None:
        """See `Engine`."""
        number = self._by_attempt.get((job_key, attempt))
        link = self._fleet.get(agent)
        if number is not None and link is not None:
            self._forget(number)
            self._cancelled[number] = agent
            link.cancel(number)

    async def settle(self, timeout_s: float) -> None:
        """See `Engine`."""
        self._settled.clear()
        self._check_settled()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), timeout_s)

    def _check_settled(self) -> None:
        if not self._cancelled:
            self._settled.set()

    # -- questions ------------------------------------------------------------------------------------------------

    async def environment_digest(self, image: str | None) -> str:
        """See `Engine`."""
        link = next(iter(self._fleet), None)
        if link is None:
            raise SandboxUnavailable("there is no agent at present")
        digest: str = await link.ask("environment_digest", image)
        return digest

    async def reap(self, run_id: str | None = None) -> list[str]:
        """See `Engine`."""
        found = await asyncio.gather(*(link.ask("reap", run_id) for link in self._fleet))
        return [name for names in found for name in names]


def _nowhere(event: EngineEvent) -> None:
    """Where events go when no run is attached."""
