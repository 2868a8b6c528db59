"""Which files of a task are implementation: those whose base versions come back with a grading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from parsimony import patches
from parsimony.scope import classify, language_of, languages
from parsimony.tasks.model import Task

MOST_SOURCES: Final = 500
"""Base files that come back with a grading, at most."""


def source_language(task: Task) -> str:
    """The language whose rules say which files count: the row's own, else that of most files of the task's own fix,
    else Python."""
    if task.language in languages():
        return task.language
    known = Counter(found for path in sorted(patch_paths(task.patch)) if (found := language_of(path)))
    return known.most_common(1)[0][0] if known else "python"


def sources(task: Task, touched: Iterable[str]) -> tuple[str, ...]:
    """The implementation files among those that a candidate touched and those that the task's own fix touches."""
    language = source_language(task)
    named = dict.fromkeys((*touched, *sorted(patch_paths(task.patch))))
    return tuple(path for path in named if classify(path, language=language))[:MOST_SOURCES]


@lru_cache(maxsize=256)
def patch_paths(patch: bytes) -> frozenset[str]:
    """Every path that a patch names. Kept, because a task's own patches are asked for once per candidate."""
    return frozenset(as_text(path) for path in patches.prepare(patch).touched) if patch else frozenset()


def as_text(path: bytes) -> str:
    """A path as text; bytes that are no UTF-8 become lone surrogates."""
    return path.decode("utf-8", "surrogateescape")
