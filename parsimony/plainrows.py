"""Small tables that people write: CSV with a header line, or JSON lines, with a closed list of fields.

A row that cannot be used comes as the error that says why, in its place; the next rows follow.
"""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parsimony import strict_json
from parsimony.errors import InputError

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LINES: Final = frozenset({".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True)
class PlainRow:
    """One row; its values are texts (CSV) or what JSON had.

    Attributes:
        number: of its line, from 1.
    """

    number: int
    values: dict[str, object]

    def text(self, field: str) -> str:
        """A name: a text that is not blank and that can be shown.

        Raises:
            InputError: it is something else.
        """
        value = self.values.get(field)
        if not isinstance(value, str) or not value.strip():
            raise InputError.wrong(field, value, "a text that is not blank")
        if not is_showable(value):
            raise InputError.wrong(field, value, "a text without control characters")
        return value

    def number_of(self, field: str) -> float:
        """A finite number.

        Raises:
            InputError: it is something else.
        """
        value = self.values.get(field)
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf:
            # Comparing before converting: float() of a whole number of 400 digits is an OverflowError.
            return float(value) if abs(value) <= 1e300 else _refuse(field, value)
        raise InputError.wrong(field, value, "a finite number")


def is_showable(text: str) -> bool:
    """Whether a text is free of control characters and half surrogate pairs, which no terminal, page or path takes."""
    return not any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in text)


def _refuse(field: str, value: float) -> float:
    raise InputError.wrong(field, value, "a number of at most 1e300")


def read_plain_rows(
    path: Path, required: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[PlainRow | InputError]:
    """The rows of a file: JSON lines where its name ends in `.jsonl` or `.ndjson`, else CSV.

    Args:
        required: fields that every row must have. optional: fields that it may have; any other is an error.

    Raises:
        InputError: the file is not there, is not text, or has no rows.
    """
    try:
        text = strict_json.decode_utf8(path.read_bytes())
    except FileNotFoundError:
        raise InputError("does not exist", mend="check the path", file=str(path)) from None
    except IsADirectoryError:
        raise InputError("is a folder", mend="name a file", file=str(path)) from None
    except InputError as error:
        raise error.at(file=str(path)) from None
    rows = _json_rows(text) if path.suffix.lower() in _LINES else _csv_rows(text, path, required, optional)
    empty = True
    for number, row in rows:
        empty = False
        problem = row if isinstance(row, InputError) else _wrong_fields(row, required, optional)
        yield PlainRow(number, row) if problem is None else problem.at(file=str(path), row=number)  # type: ignore[arg-type]
    if empty:
        raise InputError("has no rows", mend=f"write rows with {', '.join(required)}", file=str(path))


def _wrong_fields(row: dict[str, object], required: Sequence[str], optional: Sequence[str]) -> InputError | None:
    """What is wrong with the names of a row's fields."""
    for field in row:
        if field not in required and field not in optional:
            known = ", ".join([*required, *optional])
            return InputError("is no field of this table", mend=f"fields are {known}", field=str(field)[:60])
    for field in required:
        if row.get(field) in (None, ""):
            return InputError.wrong(field, None, "there in every row")
    return None


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, object] | InputError]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = strict_json.loads(line)
        except InputError as error:
            # A syntax error counts lines from the start of what was read, which is this line.
            yield number, InputError(error.problem, mend=error.mend, field=error.place.field)
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            yield number, InputError("is no JSON object", mend="write one object a line")


def _csv_rows(
    text: str, path: Path, required: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[int, dict[str, object] | InputError]]:
    """Rows by the names of the header, which must be the table's."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                _check_header(header, path, required, optional)
            elif len(cells) != len(header):
                mend = f"write {len(header)} values, as the header has"
                yield reader.line_num, InputError(f"has {len(cells)} values", mend=mend)
            else:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"is no CSV: {error}", mend="mend it there", file=str(path), row=reader.line_num) from None


def _check_header(header: Sequence[str], path: Path, required: Sequence[str], optional: Sequence[str]) -> None:
    known = ", ".join([*required, *(f"[{name}]" for name in optional)])
    missing = [name for name in required if name not in header]
    other = [name for name in header if name not in required and name not in optional]
    twice = [name for name in dict.fromkeys(header) if header.count(name) > 1]
    for problem, names in (("lacks", missing), ("has an unknown", other), ("has twice", twice)):
        if names:
            raise InputError(
                f"the header {problem} {names[0][:60]!r}", mend=f"the columns are {known}", file=str(path), row=1
            )
