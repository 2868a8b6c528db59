"""Hold a lock against what the engine here and the registries have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from cluster.imagelock import Locked, LockedImage
from cluster.imagenames import Registries, is_id, parse
from cluster.images.registry import RegistryClient
from cluster.images.store import Store
from parsimony.errors import InputError, ParsimonyError, TemporaryError


class State(StrEnum):
    """What became of one pinned image. UNKNOWN: neither the engine nor the registry could be asked."""

    HERE = "here"
    REGISTRY = "in the registry"
    OTHER = "another"
    ABSENT = "absent"
    UNLOCKED = "not in the lock"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Looked:
    """One image against the lock.

    Attributes:
        text: what is wrong and the mend; empty where nothing is.
    """

    reference: str
    state: State
    digest: str | None = None
    text: str = ""

    @property
    def ok(self) -> bool:
        """Whether gradings can have exactly the pinned image."""
        return self.state in {State.HERE, State.REGISTRY}


def look_at(
    references: Iterable[str], locked: Locked, registries: Registries, store: Store | None, client: RegistryClient
) -> Iterator[Looked]:
    """What became of the images `references`, each once."""
    for reference in dict.fromkeys(references):
        if is_id(reference):
            here = store is not None and store.find(reference) is not None
            mend = "" if here else "an id cannot be pulled; build or load the image, or name it by a tag"
            yield Looked(reference, State.HERE if here else State.ABSENT, reference, mend)
            continue
        try:
            pinned = locked.of(reference)
        except InputError as error:
            yield Looked(reference, State.UNLOCKED, None, str(error))
            continue
        by_digest = pinned.source == "registry"
        look = (
            _of_registry(reference, pinned, registries, store, client)
            if by_digest
            else _of_engine(reference, pinned, store)
        )
        yield look


def _of_engine(reference: str, pinned: LockedImage, store: Store | None) -> Looked:
    here = store.find(reference) if store is not None else None
    if here is None:
        mend = "only an engine has it: build it with `parsimony images build`, or `docker load` it"
        return Looked(reference, State.ABSENT, pinned.digest, f"is not here; {mend}")
    found = here.digest(reference)
    if found == pinned.digest:
        return Looked(reference, State.HERE, found)
    mend = "bring the pinned one back, or pin this one with `parsimony images pin`"
    return Looked(reference, State.OTHER, found, f"is {found}, the lock has {pinned.digest}; {mend}")


def _of_registry(
    reference: str, pinned: LockedImage, registries: Registries, store: Store | None, client: RegistryClient
) -> Looked:
    wanted = f"{parse(reference).repository}@{pinned.digest}"
    if store is not None and any(store.find(name) for name in dict.fromkeys((registries.mirrored(wanted), wanted))):
        return Looked(reference, State.HERE, pinned.digest)
    try:
        client.manifest(wanted, pinned.platform)
    except TemporaryError as error:
        return Looked(reference, State.UNKNOWN, pinned.digest, f"is not here, and {error}; try again")
    except ParsimonyError as error:
        mend = "push the pinned image again, or pin what the tag means now with `parsimony images pin --from registry`"
        return Looked(reference, State.ABSENT, pinned.digest, f"{error}; {mend}")
    return Looked(reference, State.REGISTRY, pinned.digest)
