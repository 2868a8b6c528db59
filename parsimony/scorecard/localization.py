"""Localization: how much of what the fix changes was found, and how early."""

from __future__ import annotations

import posixpath
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TypeVar

from parsimony.scorecard.gold import Gold
from parsimony.scorecard.note import CUTS, Found
from parsimony.scorecard.retrieval import Hits, first_rank, hits, recall
from parsimony.scorecard.symbols import Symbol, means
from parsimony.tasks import Task, Trace

TRACE, PATCH = "trace", "patch"

_T = TypeVar("_T", bound=Hashable)


def find_files(gold: Gold, trace: Trace | None, task: Task, patched: tuple[str, ...]) -> Found:
    """Files: the ranking of the trace, else the files that the patch touches, in its order."""
    return _files(gold.files, trace.files if trace is not None else (), task.workdir, patched)


def find_symbols(gold: Gold, trace: Trace | None, patched: tuple[Symbol, ...]) -> Found:
    """Symbols: the ranking of the trace, else the symbols that the patch touches, in its order."""
    return _symbols(gold.places, trace.symbols if trace is not None else (), patched)


@lru_cache(maxsize=1 << 12)
def _files(targets: tuple[str, ...], told: tuple[str, ...], workdir: str, patched: tuple[str, ...]) -> Found:
    """Kept, as `_symbols`: seeds and arms of one task often look at the same places."""
    ranking = [normal_path(path, workdir) for path in told] or patched
    return _found(TRACE if told else PATCH, hits(ranking, targets, str.__eq__), targets)


@lru_cache(maxsize=1 << 12)
def _symbols(targets: tuple[Symbol, ...], told: tuple[str, ...], patched: tuple[Symbol, ...]) -> Found:
    if told:
        return _found(TRACE, hits(told, targets, means), targets)
    return _found(PATCH, hits(patched, targets, Symbol.__eq__), targets)


def _found(source: str, found: Hits[_T], targets: Sequence[_T]) -> Found:
    at = {k: recall(found, targets, k) for k in CUTS}
    return Found(source, len(targets), len(found), recall(found, targets), first_rank(found), at)


def normal_path(path: str, workdir: str) -> str:
    """A path of a trace relative to the root of the repository: `./a.py` and `/testbed/a.py` are `a.py`."""
    plain = posixpath.normpath(path.strip().replace("\\", "/"))
    root = posixpath.normpath(workdir) + "/"
    return plain.removeprefix(root) if plain.startswith("/") else plain
