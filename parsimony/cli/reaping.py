"""`parsimony reap`: what dead runs left behind, and its removal when that is asked for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.text import Text

from cluster.agent import SandboxSpec
from cluster.ledger import LedgerReader
from cluster.ledger.lock import WriterLock
from cluster.rundir import RunFolder
from cluster.session import recorded_run_id
from parsimony.cli import DONE, NO, screen
from parsimony.cli.clusters import cluster_choice


def reap(root: Path | None, kind: str, *, remove: bool, as_json: bool) -> int:
    """List what a dead run left in a sandbox, or with `remove` remove it.

    Args:
        root: the folder of the run; None = of all runs, what is past its expiry.

    Returns:
        0 when nothing is left; 1 when something is, because nobody asked for its removal.

    Raises:
        LedgerLocked: the run is alive: what it has is no leftover.
        ParsimonyError: the sandbox does not answer.
    """
    if root is None:
        found = asyncio.run(_reap(kind, None, remove=remove))
    else:
        folder = RunFolder.existing(root)
        lock = WriterLock(folder.ledger)
        try:
            run_id = recorded_run_id(LedgerReader(folder.ledger))
            found = [] if run_id is None else asyncio.run(_reap(kind, run_id, remove=remove))
        finally:
            lock.release()
    if as_json:
        screen.print_json({"sandbox": kind, "removed" if remove else "left": found})
    else:
        _print(found, kind, remove=remove)
    return DONE if remove or not found else NO


async def _reap(kind: str, run_id: str | None, *, remove: bool) -> list[str]:
    options = cluster_choice().options if kind == "kubernetes" else {}
    sandbox = await SandboxSpec(kind, options).open(1)
    try:
        return sorted(await sandbox.reap(run_id, dry_run=not remove))
    finally:
        await sandbox.close()


def _print(found: list[str], kind: str, *, remove: bool) -> None:
    out = screen.console()
    for name in found:
        out.print(Text(name))
    things = {"docker": "containers", "kubernetes": "pods", "process": "folders with their processes"}[kind]
    if not found:
        out.print(Text(f"nothing is left behind ({things} with our labels)"))
    elif remove:
        out.print(Text(f"removed: {len(found)} {things}"))
    else:
        out.print(Text(f"left behind: {len(found)} {things}; --remove takes them away"))
