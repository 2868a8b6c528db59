"""Where base files come from: the tree that a task brings, or whoever kept those of its image."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from parsimony.scorecard.changes import Base
from parsimony.tasks import Task


class BaseFiles(Protocol):
    """Gives base files of a task."""

    def __call__(self, task: Task, paths: Sequence[str], /) -> Base:
        """path -> content, None where there is no file. A path that is left out is not known."""


@dataclass(slots=True)
class Trees:
    """Base files from the trees that tasks bring. A task without one knows nothing.

    The files of one task at a time are kept: trials come task by task.
    """

    _task: Task | None = None
    _files: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def __call__(self, task: Task, paths: Sequence[str], /) -> Base:
        """The files of the tree; a link is no source file."""
        if task.tree is None:
            return {}
        if self._task is not task:
            self._task, self._files = task, unpack(task.tree)
        return {path: self._files.get(path) for path in paths}


def unpack(tree: bytes) -> dict[str, bytes]:
    """The regular files of a tree, by path."""
    with tarfile.open(fileobj=io.BytesIO(tree), mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
        members = [(member.name, archive.extractfile(member)) for member in archive if member.isreg()]
        return {name: content.read() for name, content in members if content is not None}
