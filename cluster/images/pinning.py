"""Find out what references mean, for the lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from cluster.imagelock import ImageLock, LockedImage, make_lock
from cluster.imagenames import Registries, is_id, parse
from cluster.images.registry import Manifest, RegistryClient
from cluster.images.store import Store, Stored
from parsimony.errors import ParsimonyError

Where = Literal["auto", "engine", "registry"]


@dataclass(slots=True)
class Pinned:
    """What pinning came to.

    Attributes:
        failed: reference -> why it could not be pinned; it is not in the lock.
        notes: what a person should know of those that were.
        changed: references that the lock before had as another image: then -> now.
    """

    lock: ImageLock
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Pinner:
    """Pins images.

    Attributes:
        store: None = no engine is asked. client: None = no registry is.
        platform: that lists of platforms must have.
    """

    store: Store | None
    client: RegistryClient | None
    registries: Registries
    platform: str
    layers: dict[str, int] = field(default_factory=dict)

    def pin(self, references: Iterable[str], before: ImageLock | None = None) -> Pinned:
        """A lock of `references`, and of what `before` holds beside them.

        What an engine here has is what gradings here have seen, so it comes first; what it does not have is asked of
        the registry.
        """
        images = dict(before.images) if before is not None else {}
        known = dict(before.layers) if before is not None else {}
        found = Pinned(make_lock({}, {}))
        for reference in dict.fromkeys(references):
            if is_id(reference):
                found.notes.append(f"{reference} is an id: it is its own content and needs no pin")
                continue
            try:
                one = self._one(reference, found.notes)
            except ParsimonyError as error:
                found.failed[reference] = str(error)
                continue
            old = images.get(reference)
            if old is not None and old.digest != one.digest:
                found.changed[reference] = (old.digest, one.digest)
            images[reference] = one
        found.lock = make_lock(images, {**known, **self.layers})
        return found

    def _one(self, reference: str, notes: list[str]) -> LockedImage:
        parse(reference)
        here = self.store.find(self.registries.mirrored(reference)) if self.store is not None else None
        if here is None and self.store is not None:
            here = self.store.find(reference)
        if here is None:
            if self.client is None:
                raise ParsimonyError("it is not here, and no registry is asked; pull or build it, or use --from auto")
            return self._of_registry(self.client.manifest(reference, self.platform), None)
        if digest := self._registry_digest(here, reference):
            manifest = None
            if self.client is not None:
                repository = parse(reference).repository
                try:
                    manifest = self.client.manifest(f"{repository}@{digest}", here.platform)
                except ParsimonyError as error:
                    notes.append(f"{reference}: sizes are those of the engine: {error}")
            return (
                self._of_registry(manifest, here) if manifest is not None else self._of_engine(here, digest, "registry")
            )
        return self._of_engine(here, here.digest(reference), "engine")

    def _registry_digest(self, here: Stored, reference: str) -> str | None:
        """The digest under which the registry of `reference`, or its mirror, has what is here."""
        names = {parse(reference).repository, parse(self.registries.mirrored(reference)).repository}
        split = (entry.partition("@") for entry in here.digests)
        return next((digest for repository, _, digest in split if repository in names), None)

    def _of_registry(self, manifest: Manifest, here: Stored | None) -> LockedImage:
        self.layers |= dict(manifest.layers)
        return LockedImage(
            digest=manifest.digest,
            source="registry",
            platform=manifest.platform,
            size=here.size if here is not None else None,
            packed=True,
            layers=tuple(digest for digest, _ in manifest.layers),
        )

    def _of_engine(self, here: Stored, digest: str, source: Literal["engine", "registry"]) -> LockedImage:
        assert self.store is not None
        sizes = self.store.layer_sizes(here)
        self.layers |= sizes
        layers = here.layers if sizes else ()
        return LockedImage(digest=digest, source=source, platform=here.platform, size=here.size, layers=layers)
