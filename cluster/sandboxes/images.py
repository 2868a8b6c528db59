"""Which image a reference means on this machine: looked up once, pulled once when it is not here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from cluster.sandboxes.engine import Engine, Image, ImageMissing
from parsimony.errors import ImagePullFailed

PATIENCE_S: Final = 1500.0
"""Seconds that a pull may take: an engine waits without end for a registry that has gone silent."""


class LocalImages:
    """Remembers images by reference. However many ask at once, there is one look-up and one pull.

    Args:
        engine: where images are.
        call: runs a blocking call off the event loop.
    """

    def __init__(self, engine: Engine, call: Callable[[Callable[[], Image]], Awaitable[Image]]) -> None:
        self._engine = engine
        self._call = call
        self._flights: dict[str, asyncio.Task[Image]] = {}

    async def find(self, reference: str) -> Image:
        """The image of `reference`.

        Raises:
            ImagePullFailed, PermanentError: see `Engine.pull`; the next call tries again.
        """
        flight = self._flights.get(reference)
        if flight is None:
            flight = asyncio.get_running_loop().create_task(self._look(reference))
            self._flights[reference] = flight
            flight.add_done_callback(lambda done: self._landed(reference, done))
        return await asyncio.shield(flight)  # one that gives up does not take the others with it

    async def find_again(self, reference: str) -> Image:
        """The same after the image turned out to be gone."""
        flight = self._flights.get(reference)
        if flight is not None and flight.done():
            del self._flights[reference]
        return await self.find(reference)

    async def _look(self, reference: str) -> Image:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._call(lambda: self._look_and_pull(reference))
        except TimeoutError:
            raise ImagePullFailed(f"{reference} was not here after {PATIENCE_S:.0f} s of pulling") from None

    def _look_and_pull(self, reference: str) -> Image:
        try:
            return self._engine.image(reference)
        except ImageMissing:
            self._engine.pull(reference)
        try:
            return self._engine.image(reference)
        except ImageMissing:
            raise ImagePullFailed(f"{reference} was pulled and is not here") from None

    def _landed(self, reference: str, flight: asyncio.Task[Image]) -> None:
        failed = flight.cancelled() or flight.exception() is not None
        if failed and self._flights.get(reference) is flight:
            del self._flights[reference]
