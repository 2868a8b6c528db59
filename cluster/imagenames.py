"""References of images taken apart, and the mirrors and certificates by which registries are reached.

The rules of references are those of the distribution project: the first part is a host when it has a dot or a colon or
is `localhost`; without a host it is Docker Hub's, where a single name is in `library/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from cluster.schema import Closed
from cluster.yamlfile import read_yaml
from parsimony.errors import InputError

HUB: Final = "docker.io"
"""The registry of references that name none."""

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:localhost|[A-Za-z0-9-]*\.[A-Za-z0-9.-]*|[A-Za-z0-9-]+(?=:))(?::\d+)?"
_NAME = re.compile(
    rf"(?P<repository>(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@dataclass(frozen=True, slots=True)
class Name:
    """A reference in its parts.

    Attributes:
        repository: as it was written, without tag and digest.
        host: of the registry. path: of the repository there.
        tag: None = `latest` is meant, where no digest is given.
    """

    repository: str
    host: str
    path: str
    tag: str | None
    digest: str | None

    @property
    def version(self) -> str:
        """What a registry is asked for: the digest, else the tag."""
        return self.digest or self.tag or "latest"


def parse(reference: str) -> Name:
    """Take a reference apart.

    Raises:
        InputError: it is none, or it is an id, which no registry knows.
    """
    found = _NAME.fullmatch(reference)
    if found is None or is_id(reference):
        mend = "write HOST/NAME:TAG or HOST/NAME@sha256:…, in small letters"
        raise InputError(f"{reference!r} is no reference of an image", mend=mend)
    repository = found["repository"]
    first, slash, rest = repository.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        host, path = first, rest
    else:
        host, path = HUB, repository if slash else f"library/{repository}"
    return Name(repository, host, path, found["tag"], found["digest"])


def parse_or_none(reference: str) -> Name | None:
    """The parts of a reference; None for an id, which is its own content and needs no pin."""
    return None if is_id(reference) else parse(reference)


def is_id(reference: str) -> bool:
    """Whether it is the id of an image, which no registry knows."""
    return re.fullmatch(r"(?:sha256:)?[0-9a-f]{64}", reference) is not None


class RegistryChoice(Closed):
    """How one registry is reached.

    Attributes:
        mirror: HOST[/PATH] that has the same repositories below it; images are pulled from there, by every sandbox.
        ca: certificates (PEM) of the authority that signed the registry's, or its mirror's; relative to the file.
        plain_http: it speaks no TLS. Registries on this machine's loopback may anyway.
    """

    mirror: str | None = Field(None, pattern=r"^[A-Za-z0-9.-]+(:\d+)?(/[a-z0-9._/-]+)?$")
    ca: Path | None = None
    plain_http: bool = False


class Registries(Closed):
    """The file: registries by host (`docker.io` for references that name none), and how fast they are asked.

    Attributes:
        pulls_per_minute: pulls begun per minute by one `parsimony images prefetch`; None = as fast as they go.
        parallel: pulls at once.
        tries: of one pull, faults that may pass included.
    """

    registries: dict[str, RegistryChoice] = Field(default_factory=dict)
    pulls_per_minute: Annotated[float, Field(gt=0)] | None = None
    parallel: int = Field(3, ge=1, le=64)
    tries: int = Field(6, ge=1, le=50)

    def choice(self, host: str) -> RegistryChoice:
        """How a host is reached; the plain way where the file says nothing."""
        return self.registries.get(host, RegistryChoice())

    def mirrored(self, reference: str) -> str:
        """The reference by which the image is pulled: the mirror's where there is one."""
        if not self.registries or is_id(reference):
            return reference
        name = parse(reference)
        mirror = self.choice(name.host).mirror
        if mirror is None:
            return reference
        tag = f":{name.tag}" if name.tag else ""
        digest = f"@{name.digest}" if name.digest else ""
        return f"{mirror}/{name.path}{tag}{digest}"


def read_registries(path: Path | None) -> Registries:
    """The registries of a file, certificates resolved against its folder; without a file the plain ones.

    Raises:
        InputError: see `read_yaml`; a file of certificates that is not there.
    """
    if path is None:
        return Registries()
    found = read_yaml(path, Registries)
    chosen = {}
    for host, choice in found.registries.items():
        ca = path.resolve().parent / choice.ca if choice.ca is not None else None
        if ca is not None and not ca.is_file():
            mend = "name a file of PEM certificates"
            raise InputError(f"{choice.ca} is not there", mend=mend, file=str(path), field=f"registries.{host}.ca")
        chosen[host] = choice.model_copy(update={"ca": ca})
    return found.model_copy(update={"registries": chosen})
