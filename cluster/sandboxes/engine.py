"""What a container's life needs of an engine, and how an engine's refusals become our errors.

`docker.py` implements `Engine` over the Docker Engine API; the tests of faults implement it in memory. Every method
blocks, may be called from any thread, and raises nothing but the errors named here.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from parsimony.errors import DiskFull, Evicted, ImagePullFailed, ParsimonyError, PermanentError, SandboxUnavailable


class NameTaken(Exception):
    """A container of that name is there already."""


class ImageMissing(Exception):
    """The image is not on this machine."""


class PathMissing(Exception):
    """A container has no such path."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image on this machine.

    Attributes:
        id: content id of its configuration here; what containers are made from.
        digest: `sha256:...` of the registry's manifest where there is one, else the id.
        size_bytes: of its layers, as the engine tells; layers that it shares with others are counted in each.
    """

    id: str
    digest: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A container that is there."""

    id: str
    name: str
    labels: Mapping[str, str]


class Stream(Protocol):
    """The output of a container as it comes over the wire."""

    def receive(self, buffer: memoryview, timeout_s: float) -> int:
        """Fill `buffer` with what is there; 0 at the end of the stream. Raises TimeoutError."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class Engine(Protocol):
    """Blocking calls, one round trip each where possible.

    Raises:
        SandboxUnavailable, DiskFull: worth another try.
        Evicted: the container is gone though nobody here removed it.
        PermanentError: the engine refuses this request for good.
    """

    @property
    def processors(self) -> float:
        """How many the engine's machine has."""
        ...

    @property
    def disk_quota(self) -> bool:
        """Whether the storage driver holds containers to a size."""
        ...

    @property
    def tells_peak_memory(self) -> bool:
        """Whether the kernel keeps the peak; otherwise it has to be sampled while the container runs."""
        ...

    def image(self, reference: str) -> Image:
        """Look an image up; raises ImageMissing."""
        ...

    def pull(self, reference: str) -> None:
        """Bring an image here; raises ImagePullFailed, PermanentError when there is none."""
        ...

    def references(self) -> frozenset[str]:
        """Every tag, digest and id by which an image that is here can be asked for."""
        ...

    def create(self, name: str, config: Mapping[str, object]) -> str:
        """Create a container and return its id; raises NameTaken, ImageMissing."""
        ...

    def put(self, container: str, archive: bytes) -> None:
        """Unpack a tar archive at the root of a container."""
        ...

    def attach(self, container: str) -> Stream:
        """Standard output and error from the very first byte on, when called before `start`."""
        ...

    def start(self, container: str) -> None:
        """Start it."""
        ...

    def kill(self, container: str) -> bool:
        """Kill every process of it. False when it was not running (any more)."""
        ...

    def wait(self, container: str, timeout_s: float) -> None:
        """Return when it has ended; raises SandboxUnavailable when it has not after `timeout_s`."""
        ...

    def state(self, container: str) -> Mapping[str, Any]:
        """`State` of the engine's description of it."""
        ...

    def killed_by_api(self, container: str, since: float) -> bool:
        """Whether somebody asked the engine to kill it since then (epoch seconds)."""
        ...

    def memory_and_cpu(self, container: str) -> tuple[int | None, float | None]:
        """Highest memory seen in bytes and CPU seconds of a running container; None = not told."""
        ...

    def written_bytes(self, container: str) -> int | None:
        """What it wrote to its own layer."""
        ...

    def fetch(self, container: str, path: str) -> Generator[bytes]:
        """A path of it as a tar stream, to be closed after use; raises PathMissing when it is read."""
        ...

    def remove(self, container: str) -> None:
        """Kill and remove it with its anonymous volumes; fine when it is gone already."""
        ...

    def find(self, labels: Mapping[str, str], name: str | None = None) -> list[Found]:
        """Containers in any state that carry all `labels`, and of exactly that name when one is given."""
        ...

    def check_room(self, least_bytes: int) -> None:
        """Raises DiskFull when the engine's disk has less room, as far as can be seen from here."""
        ...

    def close(self) -> None:
        """Let go of every connection."""
        ...


_CANNOT_START = ("executable file not found", "no such file or directory", "permission denied", "exec format error")


def fault(doing: str, status: int | None, message: str) -> ParsimonyError:
    """The error that a refusal of the engine stands for.

    Args:
        doing: what was tried, a gerund phrase.
        status: HTTP status; None when there was no answer at all.
        message: what the engine said.
    """
    text = " ".join(message.split())
    lower = text.lower()
    said = f"{doing}: {text}"
    if "no space left on device" in lower or "disk quota exceeded" in lower:
        return DiskFull(said, retry_after=30.0)
    if status is None:
        return SandboxUnavailable(f"{said}; is the Docker Engine up, and may this user talk to it?", retry_after=5.0)
    if "exec:" in lower and any(reason in lower for reason in _CANNOT_START):
        return PermanentError(f"the image cannot run the command: {said}")
    if (status == 404 and "no such container" in lower) or "rwlayer of container" in lower:  # being removed
        return Evicted(f"the container was removed by someone else while {said}")
    if "oci runtime" in lower or status >= 500 or status in {408, 409, 429}:
        return SandboxUnavailable(said, retry_after=5.0)
    return PermanentError(said)


_NO_SUCH_IMAGE = ("manifest unknown", "no matching manifest", "invalid reference format")


def pull_fault(reference: str, message: str) -> ParsimonyError:
    """The error of a pull that failed. A registry that denies access may be hiding that there is no such image, so
    only its plain word counts as permanent."""
    text = " ".join(message.split())
    lower = text.lower()
    if any(reason in lower for reason in _NO_SUCH_IMAGE):
        return PermanentError(f"there is no image {reference} for this machine: {text}")
    if "no space left on device" in lower:
        return DiskFull(f"pulling {reference}: {text}", retry_after=30.0)
    patience = 60.0 if "toomanyrequests" in lower or "too many requests" in lower else 10.0
    return ImagePullFailed(f"{reference} is not here and cannot be pulled: {text}", retry_after=patience)
