"""Many executions at once, each in a container of its own, over any `Engine`. Knows no SDK."""

from __future__ import annotations

import time
from functools import partial

from cluster.sandboxes import labels
from cluster.sandboxes.container import ContainerRun
from cluster.sandboxes.engine import Engine, Image, ImageMissing
from cluster.sandboxes.images import LocalImages
from cluster.sandboxes.ownership import may_be_reaped
from cluster.sandboxes.processors import Processors
from cluster.sandboxes.protocol import Capabilities
from cluster.sandboxes.workers import Workers
from parsimony.errors import PermanentError, SandboxUnavailable, TemporaryError
from parsimony.execution import ExecutionRequest, SandboxResult


class ContainerSandbox:
    """`Sandbox` over an engine for containers.

    Args:
        engine: where containers run.
        slots: executions at once; more wait for a free one.
    """

    def __init__(self, engine: Engine, slots: int) -> None:
        self._engine = engine
        self._workers = Workers(slots)
        self._processors = Processors(engine.processors)
        self._images = LocalImages(engine, self._workers.call)

    @property
    def capabilities(self) -> Capabilities:
        """See `Sandbox`."""
        return Capabilities(
            kind="docker",
            isolation="container",
            images=True,
            network_off=True,
            memory="enforced",
            disk="enforced" if self._engine.disk_quota else "polled",
            private_processes=True,
        )

    async def environment_digest(self, image: str | None) -> str:
        """See `Sandbox`."""
        return (await self._images.find(_named(image))).digest

    async def images(self) -> frozenset[str]:
        """Names of the images that need not be pulled."""
        return await self._workers.call(self._engine.references)

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        """See `Sandbox`."""
        reference = _named(request.image)
        image = await self._images.find(reference)
        try:
            return await self._run_once(request, image)
        except ImageMissing:
            again = await self._images.find_again(reference)
        if again.digest != image.digest:
            raise PermanentError(f"{reference} is another image than when this run began ({image.digest})")
        try:
            return await self._run_once(request, again)
        except ImageMissing:
            raise SandboxUnavailable(f"{reference} is removed as fast as it is pulled", retry_after=30.0) from None

    async def reap(self, run_id: str | None = None, *, dry_run: bool = False) -> list[str]:
        """See `Sandbox`. Without `run_id`, only what is past its expiry: the rest may be a living driver's. With it,
        everything of that run but what this sandbox runs itself."""
        ours = {labels.MANAGED_BY: labels.OURS}
        removed = []
        for found in await self._workers.call(partial(self._engine.find, ours)):
            if found.name not in self._workers.names and may_be_reaped(found.labels, run_id, time.time()):
                if not dry_run:
                    await self._workers.call(partial(self._engine.remove, found.id))
                removed.append(found.name)
        return removed

    async def close(self) -> None:
        """See `Sandbox`."""
        await self._workers.close()
        self._engine.close()

    async def _run_once(self, request: ExecutionRequest, image: Image) -> SandboxResult:
        run = ContainerRun(self._engine, request, image, self._processors)
        unknown = False
        with self._workers.claim(request.name):
            try:
                return await self._workers.run(run)
            except TemporaryError:
                unknown = run.container is None  # a call without an answer may have created one nevertheless
                raise
            finally:
                if run.container is not None:
                    self._workers.later(request.name, partial(self._engine.remove, run.container))
                elif unknown:
                    self._workers.later(request.name, run.clear_leftover)


def _named(image: str | None) -> str:
    if image is None:
        raise PermanentError("the docker sandbox needs an image; this request names none")
    return image
