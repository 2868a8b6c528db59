"""`parsimony images verify`: the lock, the gates and the future of each image, in one table."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.imagelock import Locked
from cluster.imageproof import Proof, prove
from cluster.images.needs import Need
from cluster.images.registry import RegistryClient
from cluster.images.verifying import Looked, look_at
from cluster.logs import configure_logs
from cluster.sweep import Sweep
from parsimony.audit import Verdict
from parsimony.cli import DONE, NO, screen
from parsimony.cli.images_pinning import Choice, base_url, opened_store
from parsimony.cli.progress import make_observer

STYLES = {"pass": "green", "fail": "bold red", "finding": "yellow"}
COLUMNS = {"gold": "gold passes", "base": "base fails", "image.objects": "hides the future"}


def verify(choice: Choice, *, grade: bool, folder: Path | None, workers: int, as_json: bool) -> int:
    """Exit status 1 when an image is not the pinned one, or fails a check."""
    configure_logs()
    need = choice.need()
    locked = need.lock(choice.lock)
    looked: dict[str, Looked] = {}
    if locked is not None:
        registries = need.registries(choice.registries)
        client = RegistryClient(registries)
        with (
            contextlib.closing(client),
            opened_store(base_url(need), optional=not grade or not _by_docker(need)) as store,
        ):
            looked = {one.reference: one for one in look_at(need.images, locked, registries, store, client)}
    proofs: dict[str, Proof] = {}
    usable = [name for image, names in need.images.items() if image not in looked or looked[image].ok for name in names]
    if grade and usable:
        sweep = _sweep(choice, need, locked, usable, workers)
        with make_observer(as_json=as_json) as observer, contextlib.ExitStack() as stack:
            place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="parsimony-verify-")))
            proofs = {one.instance_id: one for one in prove(sweep, place, observer)}
    bad = any(not one.ok for one in looked.values()) or any(one.failed for one in proofs.values())
    if as_json:
        screen.print_json(
            {"lock": str(locked.path) if locked else None, "ok": not bad, "tasks": _rows(need, looked, proofs)}
        )
    else:
        _print(need, locked, looked, proofs, graded=grade)
    return NO if bad else DONE


def _by_docker(need: Need) -> bool:
    """Whether gradings need an engine here: pods do not."""
    return need.sweep is None or need.sweep.sandbox.kind == "docker"


def _sweep(choice: Choice, need: Need, locked: Locked | None, only: Iterable[str], workers: int) -> Sweep:
    """The gradings of a verification: with the sweep's sandbox, limits and policy where there is a sweep."""
    data: dict[str, Any] = (
        need.sweep.model_dump()
        if need.sweep is not None
        else {"tasks": {"file": choice.source.resolve()}, "predictions": ["/dev/null"]}
    )
    data["tasks"]["only"] = tuple(only)
    if choice.image is not None:
        data["tasks"]["defaults"] = {**data["tasks"].get("defaults", {}), "image": choice.image}
    changed = {"budget": None, "concurrency": workers, "images_lock": locked.path if locked is not None else None}
    if choice.registries is not None:
        changed["registries"] = choice.registries
    return Sweep.model_validate({**data, **changed}).resolved(Path.cwd())


def _rows(need: Need, looked: dict[str, Looked], proofs: dict[str, Proof]) -> list[dict[str, Any]]:
    rows = []
    for image, names in need.images.items():
        for name in names:
            proof, look = proofs.get(name), looked.get(image)
            checks = {c.id: {"verdict": c.verdict.value, "evidence": c.evidence} for c in proof.checks} if proof else {}
            rows.append(
                {
                    "instance_id": name,
                    "image": image,
                    "lock": look.state.value if look else None,
                    "digest": look.digest if look else None,
                    "problem": look.text if look else "",
                    "checks": checks,
                    "missing": list(proof.missing) if proof else [],
                }
            )
    return rows


def _print(
    need: Need, locked: Locked | None, looked: dict[str, Looked], proofs: dict[str, Proof], *, graded: bool
) -> None:
    out = screen.console()
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("task", overflow="fold")
    table.add_column("pinned image is", no_wrap=True)
    for heading in COLUMNS.values() if graded else ():
        table.add_column(heading, no_wrap=True)
    told: list[tuple[str, str]] = []
    for row in _rows(need, looked, proofs):
        look = looked.get(row["image"])
        state = Text("–") if look is None else Text(look.state.value, style="green" if look.ok else "bold red")
        cells = [_cell(row["checks"].get(check)) for check in COLUMNS] if graded else []
        table.add_row(Text(row["instance_id"]), state, *cells)
        told += [(f"{row['instance_id']}: missing: {why}", "red") for why in row["missing"]]
        if row["problem"]:
            told.append((f"{row['image']}: {row['problem']}", "red"))
        for check, found in row["checks"].items():
            if found["verdict"] not in {Verdict.PASS.value, Verdict.NOT_APPLICABLE.value}:
                told.append((f"{row['instance_id']}: {check}: {found['evidence']}", STYLES.get(found["verdict"], "")))
    out.print(table)
    for text, style in dict.fromkeys(told):
        out.print(Text(text, style=style))
    if locked is None:
        out.print(Text(f"there is no lock at {need.lock_path(None)}: `parsimony images pin` writes it"))
    had, held = sum(one.ok for one in looked.values()), sum(not one.failed for one in proofs.values())
    out.print(Text(f"{had} of {len(looked)} pinned images can be had; {held} of {len(proofs)} tasks hold"))


def _cell(found: dict[str, str] | None) -> Text:
    if found is None:
        return Text("–")
    words = {"pass": "yes", "fail": "NO", "finding": "see below", "not_measured": "not seen", "not_applicable": "–"}
    return Text(words[found["verdict"]], style=STYLES.get(found["verdict"], ""))
