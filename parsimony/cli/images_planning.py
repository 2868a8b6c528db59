"""`parsimony images plan`: what bringing the images of a sweep to nodes takes."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.imagelock import ImageLock, LockedImage, make_lock, make_pins
from cluster.images.needs import Need, fair_share, pulls, sent_bytes, weigh
from cluster.images.store import Store
from parsimony.cli import DONE, PARTIAL, screen
from parsimony.cli.images_pinning import Choice, base_url, opened_store
from parsimony.cli.planning import show


def plan(choice: Choice, nodes: int, *, as_json: bool) -> int:
    """Nothing is pulled. Exit status 3 where rows are rejected."""
    need = choice.need()
    locked = need.lock(choice.lock)
    pins = make_pins(need.images, locked, need.registries(choice.registries))
    with opened_store(base_url(need), optional=True) as store:
        here = None
        lock = locked.lock if locked is not None else None
        if store is not None:
            here = [name for name in need.images if store.find(pins.reference(name) or name) is not None]
            lock = _with_sizes(lock, need, store, here)
    found = _weigh(need, lock, here, nodes)
    if as_json:
        screen.print_json({"nodes": nodes, "lock": str(locked.path) if locked else None, **found})
    else:
        _print(found, nodes, locked=locked is not None)
    return PARTIAL if need.rejected else DONE


def _with_sizes(lock: ImageLock | None, need: Need, store: Store, here: list[str]) -> ImageLock:
    """The lock with what the engine tells of images that it does not have."""
    images = {name: one for name, one in (lock.images if lock else {}).items() if name in need.images}
    layers = dict(lock.layers) if lock else {}
    for name in here:
        image = store.find(name)
        if name not in images and image is not None:
            sizes = store.layer_sizes(image)
            layers |= sizes
            images[name] = LockedImage(
                digest=image.id,
                source="engine",
                platform=image.platform,
                size=image.size,
                layers=image.layers if sizes else (),
            )
    return make_lock(images, layers)


def _weigh(need: Need, lock: ImageLock | None, here: list[str] | None, nodes: int) -> dict[str, Any]:
    """Pulls and bytes. One node pulls what it does not have; several are taken to have nothing yet."""
    names = list(need.images)
    absent = [name for name in names if here is None or name not in here] if nodes == 1 else names
    least, most = pulls(len(absent), nodes)
    every, share = weigh(lock, names), -(-least // nodes)
    return {
        "images": len(names),
        "here": None if here is None else len(here),
        "tasks": sum(len(tasks) for tasks in need.images.values()),
        "pulls": {"least": least, "most": most},
        "pulls_per_node": {"fair_share": share, "most": len(absent)},
        "sent_bytes_per_node": {
            "fair_share": fair_share(lock, absent, nodes),
            "most": sent_bytes(lock, absent),
            "packed": weigh(lock, absent).pulled is not None,
        },
        "disk_bytes_per_node": {"most": every.disk, "layers_counted_once": every.shared},
        "without_size": sum(lock is None or name not in lock.images for name in names),
    }


def _print(found: dict[str, Any], nodes: int, *, locked: bool) -> None:
    out = screen.console()
    here = "no engine was asked" if found["here"] is None else f"{found['here']} are here"
    out.print(Text(f"{found['images']} images for {found['tasks']} tasks; {here}", style="bold"))
    table = Table(show_edge=False, pad_edge=False)
    table.add_column(f"on {nodes} node(s)", no_wrap=True)
    for heading in ("at a fair share", "at most"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    sent, disk, share = found["sent_bytes_per_node"], found["disk_bytes_per_node"], found["pulls_per_node"]
    unpacked = "" if sent["packed"] else "unpacked; a registry sends less"
    shared = "" if disk["layers_counted_once"] else "layers that images share are counted in each"
    table.add_row("pulls, all nodes", show(found["pulls"]["least"], "count"), show(found["pulls"]["most"], "count"), "")
    table.add_row("pulls of a node", show(share["fair_share"], "count"), show(share["most"], "count"), "")
    table.add_row("sent to a node", show(sent["fair_share"], "bytes"), show(sent["most"], "bytes"), unpacked)
    table.add_row("disk of a node", "–", show(disk["most"], "bytes"), shared)
    out.print(table)
    if found["without_size"]:
        mend = "pin them again" if locked else "`parsimony images pin` asks registries for them"
        out.print(Text(f"{found['without_size']} images have no known size; {mend}"))
