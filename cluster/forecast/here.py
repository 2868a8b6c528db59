"""What the machine that plans can say of images without pulling any: their digests and sizes, where an engine is."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from cluster.agent import SandboxSpec
from cluster.imagelock import ImageLock
from cluster.images.needs import pulled_lock
from cluster.plan import Environment
from cluster.sandboxchoice import sandbox_options
from cluster.sweep import Sweep
from parsimony.errors import InputError, PermanentError, TemporaryError

UNKNOWN: Final = "unknown:"
"""Before a name that stands for the digest of an image that is not here: work can be counted by it, never looked up."""


@dataclass(frozen=True, slots=True)
class Here:
    """What is known of the images of a sweep.

    Attributes:
        environments: image -> its digest here, or a stand-in where it is not here.
        sizes: image -> bytes, of those that are here. None = no engine was asked.
        problem: why there is no engine.
        lock: of the sweep, by the names under which its images are pulled; None = it has none.
    """

    environments: Mapping[str | None, Environment]
    sizes: Mapping[str, int] | None = None
    problem: str = ""
    lock: ImageLock | None = None


def look(sweep: Sweep, images: Collection[str | None], trees: Mapping[str | None, bool]) -> Here:
    """Ask what is here. Nothing is pulled, nothing started.

    Args:
        images: of the tasks; None where one names none.
        trees: image -> whether its tasks bring their own tree, which a sandbox without images needs.
    """
    if sweep.sandbox.kind == "process":
        return Here(_of_the_machine(sweep, trees))
    found: dict[str | None, Environment] = {}
    sizes: dict[str, int] = {}
    engine, problem = _engine(sweep)
    for image in images:
        if image is None:
            found[image] = Environment(None, "names no image")
            continue
        digest = None
        if engine is not None:
            digest, size = engine.held(image)
            if size is not None:
                sizes[image] = size
        found[image] = Environment(digest or image.partition("@")[2] or f"{UNKNOWN}{image}")
    if engine is not None:
        engine.close()
    lock = pulled_lock(sweep.images_lock, sweep.registries, images) if sweep.images_lock is not None else None
    return Here(found, sizes if engine is not None else None, problem, lock)


def _of_the_machine(sweep: Sweep, trees: Mapping[str | None, bool]) -> Mapping[str | None, Environment]:
    async def digest() -> str:
        sandbox = await SandboxSpec(sweep.sandbox.kind, sandbox_options(sweep.sandbox)).open(1)
        try:
            return await sandbox.environment_digest(None)
        finally:
            await sandbox.close()

    try:
        environment = Environment(asyncio.run(digest()))
    except (PermanentError, TemporaryError) as error:
        environment = Environment(None, f"{type(error).__name__}: {error}")
    missing = Environment(None, "needs an image")
    return {image: environment if tree else missing for image, tree in trees.items()}


class _Engine:
    """A Docker Engine that is only asked."""

    def __init__(self, base_url: str | None) -> None:
        from cluster.sandboxes.docker import DockerEngine  # noqa: PLC0415 - the client takes a while to load

        self._engine = DockerEngine(1, base_url)

    def held(self, image: str) -> tuple[str | None, int | None]:
        """Digest and bytes of an image; None for one that is not here."""
        from cluster.sandboxes.engine import ImageMissing  # noqa: PLC0415

        try:
            found = self._engine.image(image)
        except (ImageMissing, PermanentError, TemporaryError):
            return None, None
        return found.digest, found.size_bytes

    def close(self) -> None:
        """Disconnect."""
        self._engine.close()


def _engine(sweep: Sweep) -> tuple[_Engine | None, str]:
    if sweep.sandbox.kind == "kubernetes":
        return None, "which images a cluster's nodes hold is not asked"
    try:
        return _Engine(getattr(sweep.sandbox, "base_url", None)), ""
    except ModuleNotFoundError as error:
        return None, f"the package {error.name} is not installed"
    except (InputError, PermanentError, TemporaryError) as error:
        return None, str(error).splitlines()[0]
