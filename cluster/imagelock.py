"""The lock file of images: which content a reference stood for when it was pinned.

It is JSON, versioned and sorted, so that it can be reviewed and kept beside a sweep. `parsimony images pin` writes it;
a sweep that names it under `images_lock:` is graded on exactly these images.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from cluster.imagenames import Registries, parse, parse_or_none
from cluster.schema import Closed
from parsimony.errors import InputError

SCHEMA: Final = 1
"""Version of the file."""

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class LockedImage(Closed):
    """What one reference is.

    Attributes:
        digest: of the registry's manifest, or the id of the image where no registry has it.
        source: `registry`: it can be pulled by this digest anywhere. `engine`: only an engine that holds it has it.
        platform: `os/architecture[/variant]`.
        size: bytes of its layers, unpacked, as an engine tells them; None = no engine held it.
        layers: the lowest first, by digest; their bytes are in `ImageLock.layers`.
        packed: those are layers as a registry has them, compressed: what a pull brings. Otherwise they are as an engine
            unpacks them.
    """

    digest: Digest
    source: Literal["registry", "engine"]
    platform: str = Field(pattern=r"^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$")
    size: int | None = Field(None, ge=0)
    layers: tuple[Digest, ...] = ()
    packed: bool = False


class ImageLock(Closed):
    """The file.

    Attributes:
        images: by the reference that tasks name.
        layers: digest of a layer -> its bytes.
    """

    schema_version: Literal[1] = Field(1, alias="schema")
    images: dict[str, LockedImage]
    layers: dict[Digest, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)

    def text(self) -> str:
        """The file as it is written: equal locks are equal bytes."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=1, sort_keys=True) + "\n"


@dataclass(frozen=True, slots=True)
class Locked:
    """A lock and where it came from.

    Attributes:
        path: the file, for messages.
    """

    lock: ImageLock
    path: Path

    def of(self, reference: str) -> LockedImage:
        """What a reference is.

        Raises:
            InputError: the lock does not have it.
        """
        found = self.lock.images.get(reference)
        if found is None:
            raise InputError(
                f"does not have the image {reference}",
                mend="add it with `parsimony images pin`, or leave the lock out",
                file=str(self.path),
                field="images",
            )
        return found


@dataclass(frozen=True, slots=True)
class Pins:
    """How the images of a sweep are asked for, and what they must turn out to be.

    Attributes:
        references: as a task names an image -> as it is pulled.
        digests: as an image is pulled -> its digest by the lock.
        path: of the lock.
    """

    references: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None

    def reference(self, image: str | None) -> str | None:
        """How the image that a task names is asked for."""
        return self.references.get(image, image) if image is not None else None

    def check(self, found: Mapping[str | None, str | None]) -> None:
        """Hold what images turned out to be against the lock.

        Args:
            found: as an image is pulled -> its digest; None, or no digest, where it is not to be had.

        Raises:
            InputError: an image is another than the one that was pinned.
        """
        for reference, digest in found.items():
            wanted = self.digests.get(reference or "")
            if wanted is not None and digest != wanted and (digest or "").startswith("sha256:"):
                raise InputError(
                    f"has {reference} as {wanted}, and here it is {digest}",
                    mend="bring the pinned image here (`parsimony images build`, `docker load`), or pin the one that"
                    " is here with `parsimony images pin`, which gives its verdicts other keys",
                    file=str(self.path),
                    field="images",
                )


def make_pins(images: Iterable[str | None], locked: Locked | None, registries: Registries) -> Pins:
    """The pins of some images: by digest where a registry has the pinned one, from the mirror where there is one. An
    image that only engines have keeps its name, and `Pins.check` sees that it is the same one.

    Raises:
        InputError: the lock does not have an image.
    """
    references: dict[str, str] = {}
    digests: dict[str, str] = {}
    for image in dict.fromkeys(images):
        if image is None:
            continue
        pinned = image
        if locked is not None and parse_or_none(image) is not None:
            one = locked.of(image)
            if one.source == "registry":
                pinned = f"{parse(image).repository}@{one.digest}"
            digests[registries.mirrored(pinned)] = one.digest
        references[image] = registries.mirrored(pinned)
    return Pins(references, digests, locked.path if locked is not None else None)


def read_lock(path: Path) -> Locked:
    """The lock of a file.

    Raises:
        InputError: not there, not JSON, of a later version, or not of the schema; with the field.
    """
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        mend = "write it with `parsimony images pin`, or name another"
        raise InputError("is not there", mend=mend, file=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", mend="check the path", file=str(path)) from None
    except ValueError as error:
        mend = "take it from version control, or remove it and write it again with `parsimony images pin`"
        raise InputError(f"is not JSON ({error})", mend=mend, file=str(path)) from None
    version = data.get("schema") if isinstance(data, dict) else None
    if version != SCHEMA:
        mend = f"this version reads schema {SCHEMA}; remove it and write it again with `parsimony images pin`"
        raise InputError(f"is {version!r}", mend=mend, file=str(path), field="schema")
    try:
        return Locked(ImageLock.model_validate(data), path)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in fault["loc"])
        mend = "remove it and write it again with `parsimony images pin`"
        raise InputError(fault["msg"], mend=mend, file=str(path), field=field) from None


def make_lock(images: Mapping[str, LockedImage], layers: Mapping[str, int]) -> ImageLock:
    """A lock of `images` with the bytes of just the layers that they name."""
    used = {digest for image in images.values() for digest in image.layers}
    return ImageLock(schema=1, images=dict(images), layers={d: n for d, n in layers.items() if d in used})


def bytes_of(lock: ImageLock, references: Iterable[str]) -> tuple[int, int]:
    """Bytes of all layers of some images, each once, and how many of the images have no known layers."""
    layers: set[str] = set()
    unknown = 0
    for reference in references:
        found = lock.images.get(reference)
        if found is None or not found.layers:
            unknown += 1
        else:
            layers.update(found.layers)
    return sum(lock.layers.get(digest, 0) for digest in layers), unknown


def lock_schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    return ImageLock.model_json_schema(by_alias=True)
