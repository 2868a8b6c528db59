"""`parsimony images build`: task images from an environment specification."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from cluster.imagelock import read_lock
from cluster.imagenames import Registries
from cluster.images.building import Builder, Built, missing_arguments
from cluster.images.pinning import Pinner
from cluster.images.registry import RegistryClient
from cluster.images.repository import Repository
from cluster.images.spec import read_environment
from cluster.images.store import Store
from cluster.imageuse import ImageUse, state_folder
from cluster.rundir import write_atomically
from parsimony.cli import DONE, NO, screen
from parsimony.cli.images_pinning import opened_store


def build(path: Path, only: tuple[str, ...], lock: Path | None, *, push: bool, as_json: bool) -> int:
    """Exit status 1 where an image could not be built."""
    environment = read_environment(path, only)
    missing_arguments(environment, os.environ)
    err = screen.console(stderr=True)
    results: list[Built] = []
    with opened_store(None) as store, contextlib.ExitStack() as stack:
        assert store is not None
        repository = Repository(environment.spec.repository, environment.folder, state_folder())
        stack.callback(repository.close)
        use = ImageUse(store.engine_id)
        builder = Builder(store, environment, repository, use.brought, lambda text: err.print(Text(text)))
        for one in builder.build():
            results.append(one)
            if push and one.id is not None:
                store.push(one.image)
        if lock is not None:
            _pin(store, [one.image for one in results if one.id is not None], lock)
    if as_json:
        screen.print_json({"images": [asdict(one) for one in results], "lock": str(lock) if lock else None})
    else:
        _print(results, lock)
    return NO if any(one.id is None for one in results) else DONE


def _pin(store: Store, images: Iterable[str], path: Path) -> None:
    before = read_lock(path).lock if path.exists() else None
    with contextlib.closing(RegistryClient(Registries())) as client:
        found = Pinner(store, client, Registries(), store.platform).pin(images, before)
    write_atomically(screen.writable(path), found.lock.text().encode())


def _print(results: list[Built], lock: Path | None) -> None:
    out = screen.console()
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("task", "image"):
        table.add_column(heading, overflow="fold")
    for heading in ("", "time", "size"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in results:
        state = Text("FAILED", style="bold red") if one.id is None else Text("built" if one.fresh else "here already")
        table.add_row(
            Text(one.instance_id),
            Text(one.image),
            state,
            screen.seconds(one.seconds),
            screen.mebibytes(one.size or None),
        )
    out.print(table)
    for one in results:
        if one.text:
            out.print(Text(f"{one.instance_id}: {one.text}", style="red"))
        for note in one.notes:
            out.print(Text(f"{one.instance_id}: {note}"))
    built = sum(one.id is not None for one in results)
    pinned = f", pinned in {lock}" if lock is not None else ""
    out.print(
        Text(f"{built} of {len(results)} images are here{pinned}; `parsimony images verify` grades gold and base")
    )
