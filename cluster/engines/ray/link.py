"""The driver's side of one agent: orders out, replies in, and the first to know when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import ray

from cluster.agent import Fault, Order, Reply
from cluster.engines.ray.session import answer, said
from parsimony.errors import SandboxUnavailable

POLL_S: Final = 5.0
"""Seconds after which an agent that has no reply says so; thereby it shows that it lives."""

SILENCE_S: Final = 60.0
"""Seconds without a sign of life after which an agent counts as gone."""

Heard = Callable[[int, Reply | None], None]
"""Told of the reply to an order, by its number; None = it was called off and has ended."""


class Link:
    """A connection to an agent that was started.

    Args:
        name: of the agent; node: the id of the node that it is on.
        actor: its handle.
        images: that it holds.
        heard: see `Heard`.
        gone: told once when the agent does not answer any more, with the reason.
        dropped: told of orders that the agent, though alive, could not take, with the reason.
    """

    def __init__(
        self,
        name: str,
        node: str,
        actor: Any,
        images: frozenset[str],
        *,
        heard: Heard,
        gone: Callable[[Link, str], None],
        dropped: Callable[[list[int], str], None],
    ) -> None:
        self.name = name
        self.node = node
        self.actor = actor
        self.images = images
        self.has_replied = False
        self._heard = heard
        self._gone = gone
        self._dropped = dropped
        self._outbox: list[tuple[int, Order]] = []
        self._loop = asyncio.get_running_loop()
        self._listener = self._loop.create_task(self._listen())

    def submit(self, number: int, order: Order) -> None:
        """Have the agent run `order`. What is submitted in one turn of the event loop goes in one call."""
        if not self._outbox:
            self._loop.call_soon(self._send)
        self._outbox.append((number, order))

    def _send(self) -> None:
        orders, self._outbox = self._outbox, []
        numbers = [number for number, _ in orders]
        try:
            taken = answer(self.actor.take.remote(orders))
        except Exception as error:
            self._dropped(numbers, f"the order cannot be sent: {said(error)}")
        else:
            taken.add_done_callback(partial(self._sent, numbers))

    def _sent(self, numbers: list[int], taken: asyncio.Future[None]) -> None:
        error = None if taken.cancelled() else taken.exception()
        if isinstance(error, ray.exceptions.RayTaskError):
            self._dropped(numbers, f"the agent cannot take the order: {said(error)}")
        elif error is not None:
            self._gone(self, said(error))

    def cancel(self, number: int) -> None:
        """Call an order off; `heard` is told None when it has ended."""
        self.actor.cancel.remote([number])

    async def _listen(self) -> None:
        try:
            while True:
                replies = answer(self.actor.replies.remote(POLL_S))
                for number, reply in await asyncio.wait_for(replies, SILENCE_S):
                    self.has_replied = True
                    self._heard(number, reply)
        except TimeoutError:
            self._gone(self, f"nothing was heard of it for {SILENCE_S:g} s")
        except ray.exceptions.RayError as error:
            self._gone(self, said(error))

    async def ask(self, method: str, *arguments: object) -> Any:
        """Call a method of the agent that may give a fault.

        Raises:
            PermanentError, TemporaryError: what the fault says. SandboxUnavailable: the agent is gone.
        """
        try:
            reply = await answer(getattr(self.actor, method).remote(*arguments))
        except ray.exceptions.RayError as error:
            raise SandboxUnavailable(f"{self.name} does not answer: {said(error)}") from error
        if isinstance(reply, Fault):
            raise reply.as_error()
        return reply

    def hang_up(self) -> None:
        """Listen no more."""
        self._listener.cancel()
