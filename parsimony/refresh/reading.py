"""Files of rows, read with the reader of task files. A bad row is rejected with its place, and the next ones follow."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsimony.canonical import canonical_json, digest_bytes
from parsimony.errors import InputError
from parsimony.refresh.model import Offered, Provenance
from parsimony.tasks import Task, read_rows, read_tasks
from parsimony.testreports import FORMATS

TREES = "trees"
"""Folder of the store with the base trees that rows bring, each under the digest of its bytes."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows.

    Attributes:
        path: where it is now.
        called: what messages and the ledger call it.
        local: its rows may name base trees that lie beside it.
    """

    path: Path
    called: str
    source: str
    sha256: str
    local: bool = True

    def read(self, defaults: Mapping[str, object]) -> tuple[list[Offered], list[str]]:
        """The rows that are tasks, and what is wrong with each other one."""
        try:
            found = read_tasks(self.path, defaults=defaults, formats=FORMATS)
        except InputError as error:
            return [], [self._named(str(error))]
        rejected = {_number(one.source): self._named(one.problem) for one in found.rejected}
        if rejected and not self.local:
            rejected |= self._with_trees()
        offered = []
        for task in found.tasks:
            number = _number(task.source)
            try:
                row = kept(task)
            except InputError as error:
                rejected[number] = str(error.at(file=self.called, row=number))
            else:
                offered.append(Offered(task, row, Provenance(self.source, self.called, number, self.sha256)))
        return offered, [rejected[number] for number in sorted(rejected)]

    def _named(self, text: str) -> str:
        return text.replace(str(self.path), self.called)

    def _with_trees(self) -> dict[int, str]:
        """Rows that name a base tree, which a file from elsewhere cannot bring."""
        mend = "give the row an image, or refresh from a folder that has the tree"
        error = InputError("names files that do not come with the row", mend=mend, field="tree")
        rows = ((number, row) for number, row in read_rows(self.path) if isinstance(row, dict) and row.get("tree"))
        return {number: str(error.at(file=self.called, row=number)) for number, _ in rows}


def _number(source: str) -> int:
    return int(source.rpartition(":")[2])


def kept(task: Task) -> dict[str, Any]:
    """The row of a task as the store keeps it: JSON, and the base tree under the digest of its bytes.

    Raises:
        InputError: it holds a value that JSON cannot.
    """
    row: dict[str, Any] = {}
    for name, value in task.row.items():
        if isinstance(value, bytes) and name in ("patch", "test_patch"):
            row[f"{name}_base64"] = base64.b64encode(value).decode("ascii")
        else:
            row[name] = value
    if task.tree is not None:
        row["tree"] = tree_name(task.tree)
    for name, value in row.items():
        try:
            canonical_json(value)
        except (TypeError, ValueError, RecursionError):
            raise InputError("holds what JSON cannot", mend="give texts and finite numbers", field=name) from None
    return row


def tree_name(tree: bytes) -> str:
    """Path of a base tree in the store."""
    return f"{TREES}/{digest_bytes(tree).removeprefix('sha256:')}.tar"
