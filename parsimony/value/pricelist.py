"""What each task is worth: from a file of values, or from the rows of the tasks themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parsimony.errors import InputError
from parsimony.plainrows import PlainRow, is_showable, read_plain_rows
from parsimony.tasks import Task
from parsimony.value.amounts import micro_dollars


@dataclass(frozen=True, slots=True)
class Worth:
    """What resolving a task pays.

    Attributes:
        micro_dollars: the payout; 0 is a task that pays nothing.
        kind: what kind of work it is (SWE-Lancer: `ic_swe`, `swe_manager`); None where nobody says.
    """

    micro_dollars: int
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class PriceList:
    """Payouts by task, and the rows that were not taken."""

    worths: Mapping[str, Worth]
    rejected: tuple[InputError, ...] = ()


def read_values(path: Path) -> PriceList:
    """The values of a file: CSV (or JSON lines) of `task_id`, `dollars` and perhaps `kind`.

    Raises:
        InputError: the file as a whole cannot be read, or its header is another.
    """
    worths: dict[str, Worth] = {}
    rejected: list[InputError] = []
    lines: dict[str, int] = {}
    for row in read_plain_rows(path, ("task_id", "dollars"), ("kind",)):
        if isinstance(row, InputError):
            rejected.append(row)
            continue
        try:
            task, worth = _worth(row)
            if task in worths:
                problem = f"{task!r} has a value already, in line {lines[task]}"
                raise InputError(problem, mend="keep one of the two", field="task_id")
        except InputError as error:
            rejected.append(error.at(file=str(path), row=row.number))
        else:
            worths[task], lines[task] = worth, row.number
    return PriceList(worths, tuple(rejected))


def _worth(row: PlainRow) -> tuple[str, Worth]:
    kind = None if row.values.get("kind") in (None, "") else row.text("kind").strip()
    return row.text("task_id").strip(), Worth(micro_dollars(row.values.get("dollars"), "dollars"), kind)


def values_of_rows(tasks: Mapping[str, Task]) -> PriceList:
    """The values that task rows bring: field `value`, else SWE-Lancer's `price`; kind: `kind`, else its `variant`."""
    worths: dict[str, Worth] = {}
    rejected: list[InputError] = []
    for name, task in tasks.items():
        field = "price" if task.row.get("value") is None else "value"
        if task.row.get(field) is None:
            continue
        told = task.row.get("kind") or task.row.get("variant")
        kind = told if isinstance(told, str) and is_showable(told) else None
        try:
            worths[name] = Worth(micro_dollars(task.row[field], field), kind)
        except InputError as error:
            rejected.append(error.at(file=task.source or name))
    return PriceList(worths, tuple(rejected))
