"""The images of a Docker Engine: what is there, what of it is in use, and how it comes and goes."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import docker
import docker.errors
import requests
import urllib3
from docker.utils import kwargs_from_env

from cluster.images.history import MISSING, layer_sizes
from cluster.sandboxes.docker import digest_of
from cluster.sandboxes.engine import fault, pull_fault
from parsimony.errors import ParsimonyError, PermanentError

CALL_TIMEOUT_S: Final = 120
BUILD_TIMEOUT_S: Final = 3600


@dataclass(frozen=True, slots=True)
class Stored:
    """An image that an engine has.

    Attributes:
        id: of its configuration.
        tags, digests: `NAME:TAG` and `NAME@sha256:…` by which it is known.
        size: bytes of its layers, unpacked.
        layers: what they hold, by digest, the lowest first.
    """

    id: str
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    size: int = 0
    platform: str = ""
    layers: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def digest(self, reference: str) -> str:
        """The digest that a grading of `reference` is keyed by."""
        return digest_of(reference, {"Id": self.id, "RepoDigests": list(self.digests)})

    @property
    def references(self) -> frozenset[str]:
        """Every name of it."""
        return frozenset((*self.tags, *self.digests))


class Store:
    """Images of one engine.

    Args:
        base_url: of the engine; None = $DOCKER_HOST, else the local socket.

    Raises:
        SandboxUnavailable: nobody answers there. Every method may raise it, and `DiskFull`.
    """

    def __init__(self, base_url: str | None = None) -> None:
        options = kwargs_from_env() if base_url is None else {"base_url": base_url}
        with _asking("connecting to the Docker Engine"):
            self._api: Any = docker.APIClient(**options, version="auto", timeout=CALL_TIMEOUT_S, max_pool_size=66)
            info = self._api.info()
        self.platform = f"{info['OSType']}/{_architecture(info['Architecture'])}"
        self.engine_id = str(info.get("ID") or info.get("Name"))
        self._counts: dict[str, int] = {}
        local = str(options.get("base_url", "unix://")).startswith(("unix://", "http+unix://"))
        self._root = info["DockerRootDir"] if local else None

    def find(self, reference: str) -> Stored | None:
        """The image that a reference means here; None = it is not here."""
        with _asking(f"looking up the image {reference}"):
            try:
                return _stored(self._api.inspect_image(reference))
            except docker.errors.NotFound:
                return None

    def every(self) -> list[Stored]:
        """All images that have a name, without their layers."""
        with _asking("listing images"):
            rows = self._api.images()
        return [_listed(row) for row in rows]

    def layer_sizes(self, image: Stored) -> dict[str, int]:
        """Bytes of each layer, unpacked; empty where the engine's history does not tell which is which."""
        with _asking("reading the history of an image"):
            rows = self._api.history(image.id)
        return layer_sizes(
            image.layers, rows, {row["Id"]: self._count(row["Id"]) for row in rows if row["Id"] != MISSING}
        )

    def _count(self, ident: str) -> int:
        """How many layers an image has; images never change, so each is asked for once."""
        if ident not in self._counts:
            found = self.find(ident)
            self._counts[ident] = len(found.layers) if found is not None else -1
        return self._counts[ident]

    def in_use(self) -> frozenset[str]:
        """Ids of images that a container is made from, running or not."""
        with _asking("listing containers"):
            return frozenset(row["ImageID"] for row in self._api.containers(all=True))

    def free_bytes(self) -> int | None:
        """Free bytes where the engine keeps images; None = it is on another machine, or may not be looked at."""
        try:
            return shutil.disk_usage(self._root).free if self._root is not None else None
        except OSError:
            return None

    def pull(self, reference: str, told: Callable[[int], None] | None = None) -> None:
        """Bring an image here, with the credentials of this user's Docker configuration.

        Args:
            told: hears the bytes that have come so far.

        Raises:
            ImagePullFailed: worth another try. PermanentError: there is none, or this user may not have it.
        """
        come: dict[str, int] = {}
        with _asking(f"pulling {reference}"):
            try:
                for step in self._api.pull(reference, stream=True, decode=True):
                    if "error" in step:
                        raise pull_fault(reference, str(step["error"]))
                    detail = step.get("progressDetail") or {}
                    if told is not None and step.get("status") == "Downloading" and "current" in detail:
                        come[str(step.get("id"))] = int(detail["current"])
                        told(sum(come.values()))
            except docker.errors.APIError as error:
                raise pull_fault(reference, str(error.explanation or error)) from error

    def push(self, reference: str) -> None:
        """Give an image to its registry, with the credentials of this user's Docker configuration.

        Raises:
            PermanentError: the registry does not take it.
        """
        with _asking(f"pushing {reference}"):
            for step in self._api.push(reference, stream=True, decode=True):
                if "error" in step:
                    raise PermanentError(
                        f"{reference} cannot be pushed: {step['error']}; `docker login`, and check the name"
                    )

    def tag(self, image: str, reference: str) -> None:
        """Give an image one more name."""
        repository, _, tag = reference.rpartition(":")
        with _asking(f"naming an image {reference}"):
            self._api.tag(image, repository, tag, force=True)

    def remove(self, reference: str) -> str:
        """Take a name away, and with its last name the image. Nothing is forced: what a container uses stays.

        Returns:
            "" when it is gone, else why it is not.
        """
        with _asking(f"removing {reference}"):
            try:
                self._api.remove_image(reference)
            except docker.errors.APIError as error:
                if error.status_code == 404:
                    return ""
                if error.status_code == 409:
                    return str(error.explanation)
                raise
        return ""

    def build(self, context: BinaryIO, tag: str, *, arguments: Mapping[str, str], labels: Mapping[str, str]) -> str:
        """Build an image from a tar archive with a Dockerfile at its root, by the engine's own builder.

        Args:
            arguments: build arguments; they are in no layer unless the Dockerfile writes them down.

        Returns:
            The id of the image.

        Raises:
            PermanentError: a step failed, with the last lines that it printed.
        """
        lines: list[str] = []
        with _asking(f"building {tag}"):
            for step in self._api.build(
                fileobj=context, custom_context=True, tag=tag, buildargs=dict(arguments), labels=dict(labels),
                rm=True, forcerm=True, decode=True, timeout=BUILD_TIMEOUT_S,
            ):  # fmt: skip
                if "error" in step:
                    self._clear(lines)
                    raise _build_fault(tag, str(step["error"]), lines)
                lines += str(step.get("stream") or "").splitlines()
        built = self.find(tag)
        if built is None:
            raise PermanentError(f"{tag} was built and is not here; somebody removes images meanwhile")
        return built.id

    def _clear(self, lines: list[str]) -> None:
        """Remove what the steps of a failed build have made: images without a name, which nobody would find again. The
        engine keeps those that another build rests on."""
        for ident in reversed(_made(lines)):
            if self.remove(ident):
                break

    def close(self) -> None:
        """Let go of every connection."""
        self._api.close()


def _made(lines: list[str]) -> list[str]:
    """Ids of images that the steps of a build made, in their order, without those that were there before."""
    arrows = [line.removeprefix(" ---> ").strip() for line in lines if line.startswith(" ---> ")]
    found, known = [], True  # the first is the base
    for word in arrows:
        if word == "Using cache":
            known = True
        elif re.fullmatch(r"[0-9a-f]{12}", word):
            if not known:
                found.append(word)
            known = False
    return found


def _build_fault(tag: str, error: str, lines: list[str]) -> ParsimonyError:
    tail = "\n".join(["", *(f"  {line}" for line in lines[-12:] if line.strip())])
    known = fault(f"building {tag}", 400, error)
    return known if not isinstance(known, PermanentError) else PermanentError(f"building {tag}: {error}{tail}")


def _stored(found: Mapping[str, Any]) -> Stored:
    variant = f"/{found['Variant']}" if found.get("Variant") else ""
    return Stored(
        found["Id"],
        _names(found.get("RepoTags")),
        _names(found.get("RepoDigests")),
        int(found.get("Size") or 0),
        f"{found.get('Os') or 'linux'}/{found.get('Architecture') or 'amd64'}{variant}",
        tuple((found.get("RootFS") or {}).get("Layers") or ()),
        dict((found.get("Config") or {}).get("Labels") or {}),
    )


def _listed(row: Mapping[str, Any]) -> Stored:
    tags, digests = _names(row.get("RepoTags")), _names(row.get("RepoDigests"))
    return Stored(row["Id"], tags, digests, int(row.get("Size") or 0), labels=dict(row.get("Labels") or {}))


def _names(names: list[str] | None) -> tuple[str, ...]:
    return tuple(sorted(name for name in names or () if "<none>" not in name))


def _architecture(name: str) -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(name, name)


@contextlib.contextmanager
def _asking(doing: str) -> Iterator[None]:
    """Refusals and silence of the engine become our errors."""
    try:
        yield
    except docker.errors.APIError as error:
        raise fault(doing, error.status_code, str(error.explanation or error)) from error
    except (docker.errors.DockerException, requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        raise fault(doing, None, str(error)) from error
