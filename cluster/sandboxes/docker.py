"""The `docker` sandbox: every execution in a container of its own, on a Docker Engine.

This is the only module that knows the SDK; what happens to a container is in `container` and `containers`. What the
sandbox promises, and what not, is in docs/sandboxes.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import socket
import time
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors
import requests
import urllib3
from docker.utils import kwargs_from_env

from cluster.imageuse import ImageUse
from cluster.sandboxes.containers import ContainerSandbox
from cluster.sandboxes.engine import Found, Image, ImageMissing, NameTaken, PathMissing, Stream, fault, pull_fault
from cluster.sandboxes.workers import HELPERS, REMOVERS
from parsimony.errors import DiskFull, PermanentError

CALL_TIMEOUT_S: Final = 120
CHUNK: Final = 1 << 20
FIRST_KERNEL_WITH_PEAK: Final = (5, 19)

# What an engine says of a path that root in the container has put something else in the way of.
_NO_WAY_THERE: Final = ("not a directory", "too many links", "too many levels", "name too long", "no such file")


class DockerEngine:
    """`Engine` over the Docker Engine API.

    Args:
        slots: executions at once; the connection pool is sized to it.
        base_url: address of the engine; None = $DOCKER_HOST, else the local socket.

    Raises:
        SandboxUnavailable: nobody answers there.
    """

    def __init__(self, slots: int, base_url: str | None = None) -> None:
        options = kwargs_from_env() if base_url is None else {"base_url": base_url}
        address = str(options.get("base_url") or "the local socket")
        with _asking(f"connecting to the Docker Engine at {address}"):
            self._api: Any = docker.APIClient(
                **options, version="auto", timeout=CALL_TIMEOUT_S, max_pool_size=2 * slots + REMOVERS + HELPERS
            )
            info = self._api.info()
        local = str(options.get("base_url", "unix://")).startswith(("unix://", "http+unix://"))
        self._disk = Path(info["DockerRootDir"]) if local else None
        self._use = ImageUse(str(info.get("ID") or info.get("Name")))
        self.processors = float(info.get("NCPU") or 1)
        self.disk_quota = _has_quota(info, self._disk)
        self.tells_peak_memory = info.get("CgroupVersion") != "2" or _kernel(info) >= FIRST_KERNEL_WITH_PEAK

    def image(self, reference: str) -> Image:
        """See `Engine`."""
        with _asking(f"looking up the image {reference}"):
            try:
                found = self._api.inspect_image(reference)
            except docker.errors.NotFound:
                raise ImageMissing(reference) from None
        return Image(found["Id"], digest_of(reference, found), found.get("Size"))

    def pull(self, reference: str) -> None:
        """See `Engine`. Credentials are those of the Docker configuration of this user."""
        if reference.startswith("sha256:"):
            raise PermanentError(f"the image {reference} is not here, and an id cannot be pulled")
        with _asking(f"pulling {reference}"):
            try:
                for step in self._api.pull(reference, stream=True, decode=True):
                    if "error" in step:
                        raise pull_fault(reference, str(step["error"]))
                self._use.brought(self._api.inspect_image(reference)["Id"], reference, "pulled")
            except docker.errors.APIError as error:
                raise pull_fault(reference, _said(error)) from error

    def references(self) -> frozenset[str]:
        """See `Engine`."""
        with _asking("listing images"):
            rows = self._api.images()
        names = {name for row in rows for kind in ("RepoTags", "RepoDigests") for name in row.get(kind) or ()}
        return frozenset(name for name in names if "<none>" not in name) | {row["Id"] for row in rows}

    def create(self, name: str, config: Mapping[str, object]) -> str:
        """See `Engine`."""
        with _asking(f"creating {name}"):
            try:
                made = str(self._api.create_container_from_config(dict(config), name)["Id"])
            except docker.errors.NotFound:
                raise ImageMissing(str(config["Image"])) from None
            except docker.errors.APIError as error:
                if error.status_code == 409:
                    raise NameTaken(name) from None
                raise
        self._use.used(str(config["Image"]))
        return made

    def put(self, container: str, archive: bytes) -> None:
        """See `Engine`."""
        with _asking("filling the inbox"):
            self._api.put_archive(container, "/", archive)

    def attach(self, container: str) -> Stream:
        """See `Engine`."""
        with _asking("attaching to the output"):
            return _AttachedStream(self._api.attach_socket(container, {"stdout": 1, "stderr": 1, "stream": 1}))

    def start(self, container: str) -> None:
        """See `Engine`."""
        with _asking("starting the container"):
            self._api.start(container)

    def kill(self, container: str) -> bool:
        """See `Engine`."""
        with _asking("killing the container"):
            try:
                self._api.kill(container)
            except docker.errors.APIError as error:
                if error.status_code in {404, 409} or "is not running" in _said(error):
                    return False
                raise
        return True

    def wait(self, container: str, timeout_s: float) -> None:
        """See `Engine`."""
        with _asking("waiting for the container's end"):
            self._api.wait(container, timeout=math.ceil(timeout_s))

    def state(self, container: str) -> Mapping[str, Any]:
        """See `Engine`."""
        with _asking("inspecting the container"):
            return dict(self._api.inspect_container(container)["State"])

    def killed_by_api(self, container: str, since: float) -> bool:
        """See `Engine`."""
        filters = {"container": [container], "event": ["kill"]}
        with _asking("reading the engine's events"):
            events = self._api.events(since=int(since), until=int(time.time()) + 1, filters=filters)
            with contextlib.closing(events):
                return any(True for _ in events)

    def memory_and_cpu(self, container: str) -> tuple[int | None, float | None]:
        """See `Engine`."""
        with _asking("reading counters"):
            stats = self._api.stats(container, stream=False, one_shot=True)
        memory = stats.get("memory_stats", {})
        cpu = stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
        return memory.get("max_usage", memory.get("usage")), cpu / 1e9 if cpu else None

    def written_bytes(self, container: str) -> int | None:
        """See `Engine`."""
        with _asking("measuring the container"):
            found = self._api.containers(all=True, size=True, filters={"id": container})
        return int(found[0].get("SizeRw", 0)) if found else None

    def fetch(self, container: str, path: str) -> Generator[bytes]:
        """See `Engine`."""
        with _asking("fetching the outbox"):
            try:
                chunks, _ = self._api.get_archive(container, path, chunk_size=CHUNK)
            except docker.errors.APIError as error:
                if error.status_code == 404 or any(reason in _said(error) for reason in _NO_WAY_THERE):
                    raise PathMissing(path) from None
                raise
            yield from chunks

    def remove(self, container: str) -> None:
        """See `Engine`."""
        with _asking("removing the container"):
            try:
                self._api.remove_container(container, v=True, force=True)
            except docker.errors.APIError as error:
                if error.status_code != 404 and "already in progress" not in _said(error):
                    raise

    def find(self, labels: Mapping[str, str], name: str | None = None) -> list[Found]:
        """See `Engine`."""
        filters: dict[str, list[str]] = {"label": [f"{key}={value}" for key, value in labels.items()]}
        if name is not None:
            filters["name"] = [f"^/{name}$"]
        with _asking("listing containers"):
            found = self._api.containers(all=True, filters=filters)
        return [Found(row["Id"], row["Names"][0].removeprefix("/"), row["Labels"] or {}) for row in found]

    def check_room(self, least_bytes: int) -> None:
        """See `Engine`: only an engine on this machine's own file system can be looked at."""
        if self._disk is None:
            return
        try:
            disk = os.statvfs(self._disk)
        except OSError:
            return
        free = disk.f_bavail * disk.f_frsize
        if free < least_bytes:
            raise DiskFull(f"{free >> 20} MiB left where Docker keeps containers ({self._disk})", retry_after=30.0)

    def close(self) -> None:
        """See `Engine`."""
        self._api.close()


class DockerSandbox(ContainerSandbox):
    """`Sandbox` over a Docker Engine."""

    @classmethod
    async def open(cls, *, slots: int, base_url: str | None = None) -> DockerSandbox:
        """Connect to an engine.

        Args:
            slots: executions at once; more wait for a free one.
            base_url: its address; None = $DOCKER_HOST, else the local socket.

        Raises:
            SandboxUnavailable: nobody answers there, or this user may not talk to it.
        """
        return cls(await asyncio.to_thread(DockerEngine, slots, base_url), slots)


class _AttachedStream:
    """The connection of an attach call, which the engine has turned into a plain byte stream."""

    def __init__(self, attached: Any) -> None:
        self._attached = attached
        self._socket: socket.socket = getattr(attached, "_sock", attached)

    def receive(self, buffer: memoryview, timeout_s: float) -> int:
        """See `Stream`."""
        self._socket.settimeout(timeout_s)
        try:
            return self._socket.recv_into(buffer)
        except TimeoutError:
            raise
        except OSError as error:
            raise fault("reading the output", None, str(error)) from error

    def close(self) -> None:
        """See `Stream`."""
        self._attached.close()
        self._socket.close()


@contextlib.contextmanager
def _asking(doing: str) -> Iterator[None]:
    """Refusals and silence of the engine become our errors."""
    try:
        yield
    except docker.errors.APIError as error:
        raise fault(doing, error.status_code, _said(error)) from error
    except (docker.errors.DockerException, requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        raise fault(doing, None, str(error)) from error


def _said(error: docker.errors.APIError) -> str:
    return str(error.explanation or error)


def digest_of(reference: str, found: Mapping[str, Any]) -> str:
    """The registry's digest of the repository that was asked for; any other of this image; else its id."""
    _, at, pinned = reference.partition("@")
    if at:
        return pinned
    repository = reference.rpartition(":")[0] if ":" in reference.rpartition("/")[2] else reference
    known = dict(sorted(entry.split("@", 1) for entry in found.get("RepoDigests") or () if "@" in entry))
    return str(known.get(repository) or next(iter(known.values()), found["Id"]))


def _has_quota(info: Mapping[str, Any], disk: Path | None) -> bool:
    """Whether the storage driver can hold a container to a size: overlay2 only on XFS with project quotas."""
    if info.get("Driver") != "overlay2":
        return info.get("Driver") in {"btrfs", "zfs", "devicemapper"}
    if disk is None or ["Backing Filesystem", "xfs"] not in (info.get("DriverStatus") or []):
        return False
    with contextlib.suppress(OSError):
        mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
        above = [mount for mount in mounts if disk.is_relative_to(mount[1])]
        options = max(above, key=lambda mount: len(mount[1]))[3].split(",") if above else []
        return "prjquota" in options or "pquota" in options
    return False


def _kernel(info: Mapping[str, Any]) -> tuple[int, ...]:
    numbers = str(info.get("KernelVersion", "")).split("-", 1)[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())
