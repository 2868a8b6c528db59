"""Which images go when disk is short: the least recently used of ours, never one in use. Rules, nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Held:
    """One image of ours that is there.

    Attributes:
        layers: layer -> bytes; where layers are not known, the image itself as one.
        used: epoch seconds. spared: why it must stay; empty where it may go.
    """

    id: str
    references: tuple[str, ...]
    layers: Mapping[str, int]
    used: float
    spared: str = ""


@dataclass(frozen=True, slots=True)
class Eviction:
    """What is to be done.

    Attributes:
        held_bytes: of all layers of ours that nobody else's image has. freed: of them what goes.
        short: bytes that are still too many when everything that may go is gone.
        frees: id -> bytes that go with it, in the order of `evict`.
    """

    evict: tuple[Held, ...]
    held_bytes: int
    freed: int
    short: int = 0
    frees: Mapping[str, int] = field(default_factory=dict)


def choose(images: Iterable[Held], others: Collection[str], *, budget: int | None = None, free: int = 0) -> Eviction:
    """Choose what goes.

    Args:
        images: ours. others: layers of images that are not ours: they stay whatever happens.
        budget: bytes that ours may take; None = any. free: bytes that are to be freed at least.
    """
    found = list(images)
    uses, spared = resting(found)
    # Of images that were used at one time, those go first that rest on others.
    ours = sorted(found, key=lambda image: (uses[image.id], -len(image.layers), image.id))
    sizes = {layer: size for image in ours for layer, size in image.layers.items() if layer not in others}
    holders = Counter(layer for image in ours for layer in image.layers if layer in sizes)
    held = sum(sizes.values())
    wanted = max(free, held - budget if budget is not None else 0)
    evict: list[Held] = []
    frees: dict[str, int] = {}
    freed = 0
    for image in ours:
        if freed >= wanted:
            break
        if spared[image.id]:
            continue
        gone = [layer for layer in image.layers if layer in sizes and holders[layer] == 1]
        holders.subtract(layer for layer in image.layers if layer in sizes)
        frees[image.id] = sum(sizes[layer] for layer in gone)
        freed += frees[image.id]
        evict.append(image)
    return Eviction(tuple(evict), held, freed, max(0, wanted - freed), frees)


def resting(images: Collection[Held]) -> tuple[dict[str, float], dict[str, str]]:
    """When each image was used, and why it must stay, counting what rests on it: to remove an image below one that
    stays frees nothing, and the next build would have to make it again.

    Returns:
        Id -> epoch seconds, and id -> why; empty where it may go.
    """
    layers = {image.id: image.layers.keys() for image in images}
    uses: dict[str, float] = {}
    spared: dict[str, str] = {}
    for image in images:
        above = [other for other in images if layers[image.id] <= layers[other.id]]
        uses[image.id] = max(other.used for other in above)
        stays = any(other.spared for other in above)
        spared[image.id] = image.spared or ("an image that stays rests on it" if stays else "")
    return uses, spared
