"""The engine itself: brings orders to the agents of a `Fleet`, and their replies into the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import ray
from ray.exceptions import LocalRayletDiedError, NodeDiedError, RayActorError, WorkerCrashedError

from cluster.agent import AgentSpec, Fault, Order, Reply
from cluster.dispatch import AgentJoined, AgentLost
from cluster.engines.protocol import EngineEvent, Post, Replied, ReplyLost
from cluster.engines.ray.fleet import Fleet, Member
from cluster.engines.ray.session import connect, first_line
from parsimony.errors import SandboxUnavailable

PREFETCH: Final = 2
"""Attempts that wait at an agent on top of its slots, so that no slot idles for the time of a call."""

_GONE = (RayActorError, WorkerCrashedError, NodeDiedError, LocalRayletDiedError)


@dataclass(slots=True, eq=False)
class _Call:
    """One attempt on its way. `run` tells the runs of an engine apart."""

    job_key: str
    attempt: int
    agent: str
    run: int
    ref: Any = None


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
        self._fleet = Fleet(spec, spec.slots + prefetch, joined=self._joined, lost=self._lost)
        self._connected_here = False
        self._calls: dict[tuple[str, int], _Call] = {}
        self._cancelled: set[_Call] = set()
        self._settled = asyncio.Event()
        self._arrived: deque[tuple[_Call, Future[Reply]]] = deque()
        self._looking = False
        self._post: Post = _nowhere
        self._run = 0

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
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
        await self._close()

    async def _close(self) -> None:
        try:
            await self._fleet.close()
        finally:
            if self._connected_here:
                ray.shutdown()

    # -- agents ---------------------------------------------------------------------------------------------------

    def attach(self, post: Post) -> None:
        """See `Engine`."""
        self._run += 1
        self._post = post
        for member in self._fleet:
            self._joined(member)

    def detach(self) -> None:
        """See `Engine`."""
        self._post = _nowhere
        for call in list(self._calls.values()):
            self.cancel(call.agent, call.job_key, call.attempt)

    def _joined(self, member: Member) -> None:
        self._post(AgentJoined(member.name, self._spec.slots, member.images, self._prefetch))

    def _lost(self, member: Member, reason: str) -> None:
        for key in [key for key, call in self._calls.items() if call.agent == member.name]:
            del self._calls[key]
        self._cancelled = {call for call in self._cancelled if call.agent != member.name}
        self._check_settled()
        self._post(AgentLost(member.name, reason))

    # -- attempts -------------------------------------------------------------------------------------------------

    def submit(self, agent: str, job_key: str, attempt: int, order: Order) -> None:
        """See `Engine`."""
        member = self._fleet.get(agent)
        if member is None:
            return  # its loss is announced and was not heard of yet
        call = _Call(job_key, attempt, agent, self._run)
        try:
            call.ref = member.actor.grade.remote(order)
        except Exception as error:  # an order that cannot be sent
            self._post(Replied(job_key, attempt, Fault.of(error)))
            return
        self._calls[job_key, attempt] = call
        call.ref.future().add_done_callback(partial(self._arrive, call))

    def _arrive(self, call: _Call, reply: Future[Reply]) -> None:
        """Called in a thread of Ray's: the loop is woken once for however many replies there are by then."""
        self._arrived.append((call, reply))
        if not self._looking:
            self._looking = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know
                self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._looking = False  # before the first look: a reply that comes now wakes the loop again
        while self._arrived:
            self._take(*self._arrived.popleft())

    def _take(self, call: _Call, reply: Future[Reply]) -> None:
        if call in self._cancelled:
            self._cancelled.discard(call)
            self._check_settled()
            return
        key = (call.job_key, call.attempt)
        expected = self._calls.get(key) is call
        if expected:
            del self._calls[key]
        error = reply.exception()
        if isinstance(error, _GONE):
            self._fleet.lose(call.agent, first_line(error))  # and with it this attempt, if it was not lost before
        elif error is None:
            self._fleet.note_life(call.agent)
            if call.run == self._run:
                self._post(Replied(*key, reply.result()))
        elif expected:
            self._post(ReplyLost(*key, first_line(error)))

    def cancel(self, agent: str, job_key: str, attempt: int) -> None:
        """See `Engine`."""
        call = self._calls.pop((job_key, attempt), None)
        if call is not None:
            self._cancelled.add(call)
            ray.cancel(call.ref)

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
        member = next(iter(self._fleet), None)
        if member is None:
            raise SandboxUnavailable("there is no agent at present")
        digest: str = await member.ask("environment_digest", image)
        return digest

    async def reap(self, run_id: str | None = None) -> list[str]:
        """See `Engine`."""
        found = await asyncio.gather(*(member.ask("reap", run_id) for member in self._fleet))
        return [name for names in found for name in names]


def _nowhere(event: EngineEvent) -> None:
    """Where events go when no run is attached."""
