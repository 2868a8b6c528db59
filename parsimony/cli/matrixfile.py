"""Matrix files: YAML or JSON lines of rows, each a run to read or numbers that were published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from cluster.finished import read_run
from cluster.yamlfile import read_yaml
from parsimony.cost_ledger import PriceTable, by_arm
from parsimony.errors import InputError, ParsimonyError
from parsimony.matrix import Cell, Place, RunRow, measured, parse_row, published
from parsimony.runs import Run
from parsimony.tasks.tables import read_rows

_YAML = frozenset({".yaml", ".yml"})


class MatrixFile(BaseModel):
    """A matrix file in YAML. Rows have a closed list of fields of their own (`parsimony.matrix.FIELDS`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    rows: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]


def read_matrix(path: Path, table: PriceTable, at: date | None) -> tuple[list[Cell], list[InputError], list[str]]:
    """The cells of a file, the rows that were not taken, and what there is to say about the others.

    Folders of runs are relative to the file's own. The same model, benchmark and scaffold twice: the second row is
    rejected.

    Args:
        table, at: prices, and the day whose prices hold; see `parsimony.cost_ledger.entries`.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    reader = _Runs(path.parent, table, at)
    found: dict[Place, tuple[int, Cell]] = {}
    rejected: list[InputError] = []
    for number, values in _yaml_rows(path) if path.suffix.lower() in _YAML else read_rows(path):
        try:
            if isinstance(values, InputError):
                raise values
            row = parse_row(values)
            if row.place in found:
                problem = f"{', '.join(row.place)} is in line {found[row.place][0]} already"
                raise InputError(problem, mend="keep one of the two", field="model")
            cell = reader.cell(row) if isinstance(row, RunRow) else published(row)
        except InputError as error:
            rejected.append(error.at(file=str(path), row=number))
        else:
            found[row.place] = number, cell
    return [cell for _, cell in found.values()], rejected, reader.notes


def _yaml_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with the lines on which they start."""
    rows = read_yaml(path, MatrixFile).rows
    root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    nodes: list[yaml.Node] = []
    if isinstance(root, yaml.MappingNode):
        nodes = next(value.value for key, value in root.value if key.value == "rows")
    return ((node.start_mark.line + 1, row) for node, row in zip(nodes, rows, strict=True))


class _Runs:
    """Reads runs, each folder once."""

    def __init__(self, beside: Path, table: PriceTable, at: date | None) -> None:
        self._beside, self._table, self._at = beside, table, at
        self._known: dict[Path, Run] = {}
        self.notes: list[str] = []

    def cell(self, row: RunRow) -> Cell:
        """The cell of an arm of a run.

        Raises:
            InputError: the run cannot be read, has no such arm or no task that counts, or a candidate has no price.
        """
        folder = self._beside / row.run
        try:
            run = self._read(folder)
            arm = self._arm(run, row.arm)
            mine = replace(run, trials=tuple(run.of(arm)))
            costs = by_arm(mine.without(mine.quarantined), self._table, self._at)
        except ParsimonyError as error:
            mend = error.mend if isinstance(error, InputError) else "mend the run, or leave the row out"
            problem = str(error).removesuffix(f"; {mend}")
            raise InputError(f"cannot be used ({problem})", mend=mend, field="run") from None
        if not costs:
            raise InputError("has no task that counts: all are quarantined", mend="leave the row out", field="run")
        stated = run.settings[arm].model
        if stated is not None and stated != row.place.model:
            note = f"{row.place.model}: the run {row.run} says that its model is {stated}"
            self.notes = [*dict.fromkeys([*self.notes, note])]
        return measured(row.place, costs[0], f"{row.run}, arm {arm}", run.settings[arm].task_set)

    def _read(self, folder: Path) -> Run:
        place = folder.resolve()
        if place not in self._known:
            self._known[place] = read_run(folder)
        return self._known[place]

    @staticmethod
    def _arm(run: Run, named: str | None) -> str:
        listed = ", ".join(run.arms)[:300]
        if named is None and len(run.arms) == 1:
            return run.arms[0]
        if named not in run.arms:
            problem = "says no arm, and the run has several" if named is None else f"the run has no arm {named!r}"
            raise InputError(problem, mend=f"name one of {listed} as `arm`")
        return str(named)
