"""`parsimony images pin`, and what the commands on images share: their input and their clients."""

from __future__ import annotations

import contextlib
import platform as machine
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cluster.imagelock import read_lock
from cluster.imagenames import Registries
from cluster.images.needs import Need, read_need
from cluster.images.pinning import Pinned, Pinner, Where
from cluster.images.registry import RegistryClient
from cluster.images.store import Store
from cluster.rundir import write_atomically
from parsimony.cli import DONE, PARTIAL, screen
from parsimony.errors import SandboxUnavailable


@dataclass(frozen=True, slots=True)
class Choice:
    """The options that say which images are meant."""

    source: Path
    lock: Path | None
    registries: Path | None
    only: tuple[str, ...] = ()
    image: str | None = None

    def need(self) -> Need:
        """The images. Raises InputError."""
        return read_need(self.source, self.only, self.image)


def base_url(need: Need) -> str | None:
    """The engine that a sweep names."""
    return getattr(need.sweep.sandbox, "base_url", None) if need.sweep is not None else None


@contextlib.contextmanager
def opened_store(url: str | None, *, optional: bool = False) -> Iterator[Store | None]:
    """The engine's images; None when there is no engine and it is `optional`."""
    try:
        store = Store(url)
    except SandboxUnavailable:
        if not optional:
            raise
        yield None
        return
    try:
        yield store
    finally:
        store.close()


def pin(choice: Choice, where: Where, platform: str | None, *, as_json: bool) -> int:
    """Write the lock; exit status 3 where an image could not be pinned."""
    need = choice.need()
    path, registries = need.lock_path(choice.lock), need.registries(choice.registries)
    before = read_lock(path).lock if path.exists() else None
    with contextlib.ExitStack() as stack:
        store = (
            stack.enter_context(opened_store(base_url(need), optional=where == "auto")) if where != "registry" else None
        )
        client = RegistryClient(registries) if where != "engine" else None
        if client is not None:
            stack.callback(client.close)
        target = platform or (store.platform if store is not None else _platform())
        found = Pinner(store, client, registries, target).pin(need.images, before)
    if found.lock.images:
        write_atomically(screen.writable(path), found.lock.text().encode())
    if as_json:
        screen.print_json(_as_json(found, path))
    else:
        _print(found, need, path, registries)
    return PARTIAL if found.failed or need.rejected else DONE


def _platform() -> str:
    name = machine.machine().lower()
    return f"linux/{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(name, name) }".replace(" ", "")


def _as_json(found: Pinned, path: Path) -> dict[str, object]:
    images = found.lock.model_dump(mode="json")["images"]
    return {
        "lock": str(path),
        "images": {name: {k: v for k, v in one.items() if k != "layers"} for name, one in images.items()},
        "changed": {name: list(pair) for name, pair in found.changed.items()},
        "failed": found.failed,
        "notes": found.notes,
    }


def _print(found: Pinned, need: Need, path: Path, registries: Registries) -> None:
    out = screen.console()
    for name in need.images:
        one = found.lock.images.get(name)
        if one is not None and name not in found.failed:
            size = screen.mebibytes(one.size) if one.size is not None else "size unknown"
            mirror = registries.mirrored(name)
            via = f", by {mirror}" if mirror != name else ""
            out.print(Text(f"{name}  {one.digest[:19]}…  {one.source}, {one.platform}, {size}{via}"))
    for name, (then, now) in found.changed.items():
        out.print(Text(f"changed: {name} was {then}, is {now}", style="yellow"))
    for note in found.notes:
        out.print(Text(f"note: {note}"))
    for name, why in found.failed.items():
        out.print(Text(f"not pinned: {name}: {why}", style="red"))
    pinned = sum(name not in found.failed and name in found.lock.images for name in need.images)
    out.print(Text(f"{pinned} of {len(need.images)} images are pinned in {path} ({len(found.lock.images)} in all)"))
    if any(found.lock.images[name].source == "engine" for name in need.images if name in found.lock.images):
        out.print(Text("images that only this engine has (source: engine) cannot be pulled elsewhere: push them first"))
