"""Which images a sweep or a file of tasks needs, and what bringing them to nodes takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.imagelock import ImageLock, Locked, bytes_of, make_lock, make_pins, read_lock
from cluster.imagenames import Registries, read_registries
from cluster.sweep import Sweep, read_sweep
from parsimony.errors import InputError
from parsimony.tasks import read_tasks
from parsimony.testreports import FORMATS

EXTRA_PULLS: Final = 1.2
"""Pulls over max(images, nodes) that the scheduler keeps under (benchmarks/scheduling_simulator.py)."""

LOCK_NAME: Final = "images.lock.json"


@dataclass(frozen=True, slots=True)
class Need:
    """What an input needs.

    Attributes:
        path: of the input.
        images: reference, as rows name it -> the tasks that run in it.
        sweep: None where the input is a file of tasks.
        rejected: rows that cannot be used, with the mend.
    """

    path: Path
    images: Mapping[str, tuple[str, ...]]
    sweep: Sweep | None = None
    rejected: tuple[str, ...] = ()

    def lock_path(self, given: Path | None) -> Path:
        """The lock that is meant: the given one, the sweep's, else `images.lock.json` beside the input."""
        if given is not None:
            return given
        if self.sweep is not None and self.sweep.images_lock is not None:
            return self.sweep.images_lock
        return self.path.with_name(LOCK_NAME)

    def lock(self, given: Path | None) -> Locked | None:
        """The lock that is meant, where it is there.

        Raises:
            InputError: one that was named is not there, or it is damaged.
        """
        path = self.lock_path(given)
        named = given is not None or (self.sweep is not None and self.sweep.images_lock is not None)
        return read_lock(path) if named or path.exists() else None

    def registries(self, given: Path | None) -> Registries:
        """The given file of registries, else the sweep's, else the plain ones."""
        return read_registries(given or (self.sweep.registries if self.sweep is not None else None))


def read_need(path: Path, only: Sequence[str] = (), image: str | None = None) -> Need:
    """The images that a sweep (`.yaml`) or a file of tasks names.

    Args:
        only: just these tasks.
        image: for rows that name none; may hold `{instance_id}`.

    Raises:
        InputError: it cannot be read, or names no image.
    """
    sweep = read_sweep(path) if path.suffix in {".yaml", ".yml"} else None
    defaults = dict(sweep.tasks.defaults) if sweep is not None else {}
    defaults |= {"image": image} if image else {}
    file = read_tasks(sweep.tasks.file if sweep is not None else path, defaults=defaults, formats=FORMATS)
    wanted = set(only) or set(sweep.tasks.only or () if sweep is not None else ())
    unknown = sorted(set(only) - {task.instance_id for task in file.tasks})
    if unknown:
        raise InputError(f"there is no task {unknown[0]!r}", mend=f"it holds {len(file.tasks)} tasks", file=str(path))
    images: dict[str, tuple[str, ...]] = {}
    for task in file.tasks:
        if task.image is not None and (not wanted or task.instance_id in wanted):
            images[task.image] = (*images.get(task.image, ()), task.instance_id)
    rejected = tuple(row.problem for row in file.rejected)
    if not images:
        first = f"; the first of {len(rejected)} rejected rows: {rejected[0]}" if rejected else ""
        mend = "give rows an `image`, or one for all with --image"
        raise InputError(f"names no image{first}", mend=mend, file=str(path))
    return Need(path, images, sweep, rejected)


def pulls(images: int, nodes: int) -> tuple[int, int]:
    """The least and the most pulls of a run in which nodes hold none of its images yet: each image once and each node
    one, up to what the scheduler allows, and never more than every image on every node."""
    least = max(images, nodes) if images else 0
    return least, min(images * nodes, int(EXTRA_PULLS * least))


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of a set of images.

    Attributes:
        pulled: that a registry sends, layers once; None = not all images have known packed layers.
        disk: unpacked, layers once where they are known; None = an image of unknown size is among them.
        shared: whether `disk` counts shared layers once for all of them; otherwise it is an upper bound.
    """

    pulled: int | None
    disk: int | None
    shared: bool


def weigh(lock: ImageLock | None, references: Collection[str]) -> Bytes:
    """What a set of images weighs by the lock."""
    if lock is None or any(name not in lock.images for name in references):
        return Bytes(None if references else 0, None if references else 0, shared=not references)
    packed = [name for name in references if lock.images[name].packed]
    unpacked = [name for name in references if name not in set(packed)]
    sent, unknown = bytes_of(lock, packed)
    pulled = sent if len(packed) == len(references) and not unknown else None
    held, unlayered = bytes_of(lock, unpacked)
    if not packed and not unlayered:
        return Bytes(pulled, held, shared=True)
    sizes = [lock.images[name].size for name in references]
    return Bytes(pulled, sum(n for n in sizes if n is not None) if None not in sizes else None, shared=False)


def sent_bytes(lock: ImageLock | None, references: Collection[str]) -> int | None:
    """Bytes that a registry sends for a set of images, layers once: as the lock has them packed, else at most, as they
    are unpacked. None = not known."""
    weighed = weigh(lock, references)
    return weighed.disk if weighed.pulled is None else weighed.pulled


def fair_share(lock: ImageLock | None, references: Collection[str], nodes: int) -> int | None:
    """The most that a node is sent which pulls no more images than its share; None = not known."""
    each = [sent_bytes(lock, [name]) for name in references]
    every, (least, _) = sent_bytes(lock, references), pulls(len(references), nodes)
    if every is None:
        return None
    share = sorted((size for size in each if size is not None), reverse=True)[: -(-least // nodes)]
    return min(sum(share), every)


def pulled_lock(path: Path, registries: Path | None, pulled: Collection[str | None]) -> ImageLock:
    """A lock by the names under which images are pulled.

    Args:
        pulled: those names.
    """
    locked = read_lock(path)
    pins = make_pins(locked.lock.images, locked, read_registries(registries))
    images = {pins.references[name]: one for name, one in locked.lock.images.items()}
    return make_lock({name: one for name, one in images.items() if name in pulled}, locked.lock.layers)
