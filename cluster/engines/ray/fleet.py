"""One agent on every node: starts them, replaces them, follows nodes that come and go, and ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final

import ray
import structlog
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import parsimony
from cluster.agent import AgentSpec, Fault
from cluster.engines.ray.actor import AgentActor, Greeting
from cluster.engines.ray.link import Heard, Link
from cluster.engines.ray.session import answer, kill, said
from parsimony.errors import InputError, ParsimonyError, PermanentError, SandboxUnavailable

log = structlog.get_logger(__name__)

START_S: Final = 120.0
SURVEY_S: Final = 5.0
CLOSE_S: Final = 60.0

NODE_ATTEMPTS: Final = 3
"""Agents of one node that may fail one after the other, without a single reply, before it is left alone."""

CALLS: Final = 16
"""Calls that an agent answers at once. Few are ever open: orders and replies come many to a call."""


class Fleet:
    """The agents.

    Args:
        spec: of every agent.
        joined: told of an agent that is ready.
        lost: told of one that is gone, with the reason. Whatever it ran has ended by then, or is ending.
        heard, dropped: see `Link`.
    """

    def __init__(
        self,
        spec: AgentSpec,
        *,
        joined: Callable[[Link], None],
        lost: Callable[[Link, str], None],
        heard: Heard,
        dropped: Callable[[list[int], str], None],
    ) -> None:
        self._spec = spec
        self._joined = joined
        self._lost = lost
        self._heard = heard
        self._dropped = dropped
        self._links: dict[str, Link] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, int] = {}
        self._last_failure: ParsimonyError | None = None
        self._started = 0
        self._follower: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[Link]:
        return iter(list(self._links.values()))

    def get(self, name: str) -> Link | None:
        """The agent of that name, if it lives."""
        return self._links.get(name)

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
        self._follower = asyncio.get_running_loop().create_task(self._follow())

    async def _first(self) -> None:
        while not self._links:
            nodes = await self._survey()
            if self._last_failure is not None and nodes and all(self._left_alone(node) for node in nodes):
                raise self._last_failure
            if self._starting:
                await asyncio.wait(self._starting.values(), timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(0.2)

    async def close(self) -> None:
        """End every agent, after it has cleaned up."""
        tasks = [task for task in (self._follower, *self._starting.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        links, self._links = list(self._links.values()), {}
        await asyncio.gather(*map(_retire, links))

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(SURVEY_S)
            try:
                await self._survey()
            except Exception as error:  # the next look may succeed
                log.warning("ray.nodes_unknown", error=said(error))

    async def _survey(self) -> list[str]:
        """Look at the nodes: start agents on new ones, note the loss of others. Returns those that offer CPUs."""
        nodes = {node["NodeID"]: node for node in await asyncio.to_thread(ray.nodes)}
        usable = [key for key, node in nodes.items() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
        for link in self:
            if link.node not in usable:
                self._lose(link, "its node is gone")
        busy = {link.node for link in self} | set(self._starting)
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
            images = _checked(await asyncio.wait_for(answer(actor.start.remote()), START_S), host)
            self._links[name] = Link(
                name, node, actor, images, heard=self._heard, gone=self._lose, dropped=self._dropped
            )
            self._joined(self._links[name])
        except Exception as error:
            self._failed(node, host, error)
        finally:
            del self._starting[node]
            if actor is not None and name not in self._links:
                kill(actor)

    def _new_actor(self, node: str) -> Any:
        """An actor on exactly this node. It takes none of its CPUs: what runs in sandboxes is not Ray's to count."""
        options = {
            "num_cpus": 0,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": CALLS,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        return ray.remote(AgentActor).options(**options).remote(self._spec)

    def _failed(self, node: str, host: str, error: Exception) -> None:
        hopeless = isinstance(error, PermanentError | InputError)
        self._failures[node] = NODE_ATTEMPTS if hopeless else self._failures.get(node, 0) + 1
        if isinstance(error, ParsimonyError):
            self._last_failure = error
        else:
            self._last_failure = SandboxUnavailable(f"the agent on {host} did not start: {said(error)}")
        log.warning("ray.agent_refused", host=host, error=said(self._last_failure))

    def _lose(self, link: Link, reason: str) -> None:
        """An agent is gone, or as good as gone: it is made sure of, so that what it ran can run elsewhere."""
        if self._links.pop(link.name, None) is None:
            return
        link.hang_up()
        kill(link.actor)
        self._failures[link.node] = 0 if link.has_replied else self._failures.get(link.node, 0) + 1
        self._lost(link, reason)


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


async def _retire(link: Link) -> None:
    """Let an agent clean up and go, so that its node may be taken away."""
    link.hang_up()
    try:
        await asyncio.wait_for(answer(link.actor.close.remote()), CLOSE_S)
        link.actor.__ray_terminate__.remote()
    except Exception:  # it is gone, or hangs: either way it must not stay
        kill(link.actor)
