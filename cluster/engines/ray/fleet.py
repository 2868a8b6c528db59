"""One agent on every node: starts them, watches them, notices when one is gone, and ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import ray
import structlog
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import parsimony
from cluster.agent import AgentSpec, Fault
from cluster.engines.ray.actor import AgentActor, Greeting
from cluster.engines.ray.session import answer, first_line, kill
from parsimony.errors import InputError, ParsimonyError, PermanentError, SandboxUnavailable

log = structlog.get_logger(__name__)

START_S: Final = 120.0
WATCH_S: Final = 5.0
SILENCE_S: Final = 60.0
CLOSE_S: Final = 60.0

NODE_ATTEMPTS: Final = 3
"""Agents of one node that may fail one after the other, without a single reply, before it is left alone."""

OTHER_CALLS: Final = 8
"""Calls that an agent answers while its window is full: pings, digests, reaping."""


@dataclass(slots=True)
class Member:
    """The driver's side of an agent."""

    name: str
    node: str
    actor: Any
    images: frozenset[str]
    replied: bool = False
    ping: asyncio.Future[None] | None = None
    pinged_at: float = 0.0

    async def ask(self, method: str, *arguments: object) -> Any:
        """Call a method of the agent that may give a fault.

        Raises:
            PermanentError, TemporaryError: what the fault says. SandboxUnavailable: the agent is gone.
        """
        try:
            reply = await answer(getattr(self.actor, method).remote(*arguments))
        except ray.exceptions.RayError as error:
            raise SandboxUnavailable(f"{self.name} does not answer: {first_line(error)}") from error
        if isinstance(reply, Fault):
            raise reply.as_error()
        return reply


class Fleet:
    """The agents.

    Args:
        spec: of every agent.
        window: attempts that an agent gets at once.
        joined: told of an agent that is ready.
        lost: told of one that is gone, with the reason. Whatever it ran has ended by then, or is ending.
    """

    def __init__(
        self,
        spec: AgentSpec,
        window: int,
        *,
        joined: Callable[[Member], None],
        lost: Callable[[Member, str], None],
    ) -> None:
        self._spec = spec
        self._window = window
        self._joined = joined
        self._lost = lost
        self._members: dict[str, Member] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, int] = {}
        self._last_failure: ParsimonyError | None = None
        self._started = 0
        self._watcher: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self._members.values()))

    def get(self, name: str) -> Member | None:
        """The agent of that name, if it lives."""
        return self._members.get(name)

    async def start(self) -> None:
        """Start agents on all nodes; return when the first is ready, the others follow.

        Raises:
            ParsimonyError: every node has refused; the last one's reason.
            SandboxUnavailable: nothing happened for too long.
        """
        try:
            await asyncio.wait_for(self._first(), START_S)
        except TimeoutError as error:
            raise SandboxUnavailable(
                f"no agent was ready on any node of Ray after {START_S:g} s; agents need a node that offers CPUs"
            ) from error
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _first(self) -> None:
        while not self._members:
            nodes = await self._survey()
            if self._last_failure is not None and nodes and all(self._left_alone(node) for node in nodes):
                raise self._last_failure
            if self._starting:
                await asyncio.wait(self._starting.values(), timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(0.2)

    async def close(self) -> None:
        """End every agent, after it has cleaned up."""
        tasks = [task for task in (self._watcher, *self._starting.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        members, self._members = list(self._members.values()), {}
        await asyncio.gather(*map(_retire, members))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self._survey()
            except Exception as error:  # the next look may succeed
                log.warning("ray.nodes_unknown", error=first_line(error))
            for member in self:
                self._ping(member)

    async def _survey(self) -> list[str]:
        """Look at the nodes: start agents on new ones, note the loss of others. Returns those that offer CPUs."""
        nodes = {node["NodeID"]: node for node in await asyncio.to_thread(ray.nodes)}
        usable = [key for key, node in nodes.items() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
        for member in self:
            if member.node not in usable:
                self.lose(member.name, "its node is gone")
        busy = {member.node for member in self} | set(self._starting)
        for key in usable:
            if key not in busy and not self._left_alone(key):
                start = self._start(key, nodes[key]["NodeManagerHostname"])
                self._starting[key] = asyncio.get_running_loop().create_task(start)
        return usable

    def _left_alone(self, node: str) -> bool:
        return self._failures.get(node, 0) >= NODE_ATTEMPTS

    async def _start(self, node: str, host: str) -> None:
        self._started += 1
        name = f"{host}-{self._started}"
        actor = None
        try:
            actor = self._new_actor(node)
            greeting = await asyncio.wait_for(answer(actor.start.remote()), START_S)
            self._members[name] = Member(name, node, actor, _checked(greeting, host))
            self._joined(self._members[name])
        except Exception as error:
            self._failed(node, host, error)
        finally:
            del self._starting[node]
            if actor is not None and name not in self._members:
                kill(actor)

    def _new_actor(self, node: str) -> Any:
        """An actor on exactly this node. It takes none of its CPUs: what runs in sandboxes is not Ray's to count."""
        options = {
            "num_cpus": 0,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": self._window + OTHER_CALLS,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        return ray.remote(AgentActor).options(**options).remote(self._spec)

    def _failed(self, node: str, host: str, error: Exception) -> None:
        hopeless = isinstance(error, PermanentError | InputError)
        self._failures[node] = NODE_ATTEMPTS if hopeless else self._failures.get(node, 0) + 1
        if isinstance(error, ParsimonyError):
            self._last_failure = error
        else:
            self._last_failure = SandboxUnavailable(f"the agent on {host} did not start: {first_line(error)}")

    def _ping(self, member: Member) -> None:
        now = asyncio.get_running_loop().time()
        if member.ping is not None and not member.ping.done():
            if now - member.pinged_at > SILENCE_S:
                self.lose(member.name, f"it has not answered for {SILENCE_S:g} s")
            return
        if member.ping is not None and (error := member.ping.exception()) is not None:
            self.lose(member.name, first_line(error))
            return
        member.ping, member.pinged_at = answer(member.actor.ping.remote()), now

    def note_life(self, name: str) -> None:
        """An agent has replied: its node works."""
        member = self._members.get(name)
        if member is not None and not member.replied:
            member.replied = True
            self._failures.pop(member.node, None)

    def lose(self, name: str, reason: str) -> None:
        """An agent is gone, or as good as gone: it is made sure of, so that what it ran can run elsewhere."""
        member = self._members.pop(name, None)
        if member is None:
            return
        kill(member.actor)
        if not member.replied:
            self._failures[member.node] = self._failures.get(member.node, 0) + 1
        self._lost(member, reason)


def _checked(greeting: Greeting | Fault, host: str) -> frozenset[str]:
    """The images of an agent that greets as it should.

    Raises:
        PermanentError, TemporaryError: why it cannot work.
    """
    if isinstance(greeting, Fault):
        raise greeting.as_error()
    if greeting.version != parsimony.__version__:
        raise PermanentError(
            f"{host} has version {greeting.version} of this distribution and the driver {parsimony.__version__}; "
            "use one image for both"
        )
    return greeting.images


async def _retire(member: Member) -> None:
    """Let an agent clean up and go, so that its node may be taken away."""
    try:
        await asyncio.wait_for(answer(member.actor.close.remote()), CLOSE_S)
        member.actor.__ray_terminate__.remote()
    except Exception:  # it is gone, or hangs: either way it must not stay
        kill(member.actor)
