"""Evict images of an engine, by its record of use."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.images.eviction import Eviction, Held, choose
from cluster.images.store import Store, Stored
from cluster.imageuse import ImageUse, Use


@dataclass(slots=True)
class Collected:
    """What came of a collection.

    Attributes:
        held: ours that are there. removed: names that are gone. kept: name -> why the engine kept it.
    """

    eviction: Eviction
    held: tuple[Held, ...]
    removed: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def collect(
    store: Store,
    use: ImageUse,
    *,
    budget: int | None,
    free: int,
    spare_s: float,
    remove: bool,
    now: float | None = None,
) -> Collected:
    """Choose what has to go, and with `remove` remove it.

    Args:
        budget: bytes that our images may take; None = any. free: bytes that have to be free on the engine's disk.
        spare_s: what was used in the last so many seconds stays.

    Raises:
        SandboxUnavailable: the engine does not answer.
    """
    now = time.time() if now is None else now
    entries = use.entries()
    present = {image.id: image for image in store.every()}
    held = _held(store, entries, present, now - spare_s)
    others = {
        layer
        for ident in present.keys() - entries.keys()
        if (one := store.find(ident)) is not None
        for layer in one.layers
    }
    room = store.free_bytes() if free else None
    missing = max(0, free - room) if room is not None else 0
    found = Collected(choose(held, others, budget=budget, free=missing), held)
    if remove:
        for image in found.eviction.evict:
            for name in image.references:
                why = store.remove(name)
                if why:
                    found.kept[name] = why
                else:
                    found.removed.append(name)
        gone = [image.id for image in found.eviction.evict if not set(image.references) & found.kept.keys()]
        use.forget([*gone, *(ident for ident in entries if ident not in present)])
    return found


def _held(store: Store, entries: Mapping[str, Use], present: Mapping[str, Stored], recent: float) -> tuple[Held, ...]:
    in_use = store.in_use()
    held = []
    for ident, one in entries.items():
        image = store.find(ident) if ident in present else None
        if image is None:
            continue
        names = tuple(name for name in one.references if name in image.references)
        strange = sorted(image.tags) and not set(image.tags) <= set(names)
        spared = ""
        if ident in in_use:
            spared = "a container is made from it"
        elif strange:
            spared = "somebody gave it a name of their own"
        elif one.used >= recent:
            spared = "it was used just now"
        layers = store.layer_sizes(image) or {image.id: image.size}
        held.append(Held(ident, names, layers, one.used, spared))
    return tuple(held)
