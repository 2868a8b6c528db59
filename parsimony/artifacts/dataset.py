"""The dataset: SWE-bench Verified brought here once, and the tasks of any file of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parsimony import strict_json
from parsimony.artifacts.download import Fetcher
from parsimony.artifacts.places import PAGE, Places
from parsimony.errors import InputError
from parsimony.measurements import PYTHON, Base, read_base, read_bytes
from parsimony.tasks.fields import Fields

VERIFIED_TASKS: Final = 500


@dataclass(frozen=True, slots=True)
class Task:
    """One row of a dataset, as far as measuring needs it.

    Attributes:
        base: None where the row has no repository or no commit.
        patch: the human patch; None where the row has none.
    """

    id: str
    base: Base | None
    patch: str | None
    language: str = PYTHON


def download(fetcher: Fetcher, places: Places) -> bytes:
    """All rows of SWE-bench Verified as JSON lines with sorted keys, in the order of publication.

    Raises:
        InputError: a page is not what the rows API gives, has shortened cells, or the rows are not 500 different tasks.
        FetchFailed: the network failed.
    """
    rows: list[Mapping[str, object]] = []
    for offset in range(0, VERIFIED_TASKS, PAGE):
        url = places.page(offset)
        fetcher.observer.stage(f"rows {offset + 1} to {offset + PAGE} of SWE-bench Verified")
        try:
            rows += page_rows(fetcher.get(url))
        except InputError as error:
            raise error.at(file=url) from None
    ids = {row.get("instance_id") for row in rows}
    if len(rows) != VERIFIED_TASKS or len(ids) != VERIFIED_TASKS or None in ids:
        mend = "the dataset may have changed; try again with --refresh"
        raise InputError(f"{len(rows)} rows of {len(ids)} tasks came, not {VERIFIED_TASKS} of each", mend=mend)
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode()


def page_rows(data: bytes) -> list[Mapping[str, object]]:
    """The rows of one page of the rows API.

    Raises:
        InputError: it is no such page, or has shortened cells.
    """
    value = strict_json.loads(data)
    listed = value.get("rows") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise InputError.wrong("rows", listed, "a list of rows, as the rows API gives it")
    found: list[Mapping[str, object]] = []
    for number, entry in enumerate(listed, start=1):
        row = entry.get("row") if isinstance(entry, dict) else None
        if not isinstance(row, dict):
            raise InputError("is no row", mend="try again with --refresh", row=number)
        if entry.get("truncated_cells"):
            mend = "shortened patches cannot be measured; take the rows from the dataset's own files"
            raise InputError("has cells that the server shortened", mend=mend, row=number, field="truncated_cells")
        Fields(row).identifier("instance_id")
        found.append(row)
    return found


def read(path: Path) -> tuple[dict[str, Task], str]:
    """The tasks of a file of JSON lines by id, sorted, and the language that all of them have.

    Raises:
        InputError: a row without `instance_id`, an id twice, no row, or rows of two languages; names the row.
    """
    tasks: dict[str, Task] = {}
    for number, line in enumerate(read_bytes(path).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            task = _task(strict_json.loads(line.strip()))
            if task.id in tasks:
                raise InputError(f"{task.id} is there twice", mend="keep one of the two", field="instance_id")
            first = next(iter(tasks.values()), task)
            if task.language != first.language:
                mend = f"the rows before it are {first.language}; measure each language by itself"
                raise InputError(f"is {task.language}", mend=mend, field="language")
        except InputError as error:
            place = error.place.field
            raise InputError(error.problem, mend=error.mend, file=str(path), row=number, field=place) from None
        tasks[task.id] = task
    if not tasks:
        raise InputError("has no task", mend="give what `parsimony dataset` wrote", file=str(path))
    return dict(sorted(tasks.items())), next(iter(tasks.values())).language


def _task(value: object) -> Task:
    if not isinstance(value, dict):
        raise InputError("is no object", mend="a row is an object, one a line")
    fields = Fields(value)
    name = fields.identifier("instance_id")
    if name is None:
        raise fields.wrong("instance_id", "a task id")
    for part in ("repo", "base_commit", "language"):
        fields.identifier(part)
    patch = value.get("patch")
    if patch is not None and not isinstance(patch, str):
        raise fields.wrong("patch", "a text, or null")
    return Task(name, read_base(value, ""), patch, fields.text("language") or PYTHON)
