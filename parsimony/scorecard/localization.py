"""Localization: how much of what the fix changes was found, and how early."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from parsimony.scorecard.gold import Gold
from parsimony.scorecard.note import CUTS, Found
from parsimony.scorecard.retrieval import Hits, first_rank, hits, recall
from parsimony.scorecard.symbols import Symbol, means
from parsimony.tasks import Task, Trace

TRACE, PATCH = "trace", "patch"


def find_files(gold: Gold, trace: Trace | None, task: Task, patched: Sequence[str]) -> Found:
    """Files: the ranking of the trace, else the files that the patch touches, in its order."""
    told = trace.files if trace is not None else ()
    ranking = [normal_path(path, task.workdir) for path in told] or list(patched)
    return _found(TRACE if told else PATCH, hits(ranking, gold.files, str.__eq__), len(gold.files), gold.files)


def find_symbols(gold: Gold, trace: Trace | None, patched: Sequence[Symbol]) -> Found:
    """Symbols: the ranking of the trace, else the symbols that the patch touches, in its order."""
    told = trace.symbols if trace is not None else ()
    found: Hits[Symbol] = (
        hits(told, gold.places, means) if told else hits(patched, gold.places, lambda one, other: one == other)
    )
    return _found(TRACE if told else PATCH, found, len(gold.places), gold.places)


def _found(source: str, found: Hits[str] | Hits[Symbol], targets: int, wanted: Sequence[str | Symbol]) -> Found:
    at = {k: recall(found, wanted, k) for k in CUTS}
    return Found(source, targets, len(found), recall(found, wanted), first_rank(found), at)


def normal_path(path: str, workdir: str) -> str:
    """A path of a trace relative to the root of the repository: `./a.py` and `/testbed/a.py` are `a.py`."""
    plain = posixpath.normpath(path.strip().replace("\\", "/"))
    root = posixpath.normpath(workdir) + "/"
    return plain.removeprefix(root) if plain.startswith("/") else plain
