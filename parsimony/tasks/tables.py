"""Tables of rows from files: a JSON array, an object keyed by id, JSON lines, gzip of these, Parquet.

What a file is follows from its content (`.jsonl` and `.ndjson` are always lines). A row that cannot be read comes as
an error in its place and the next ones follow; only what leaves no next row (a syntax error inside a JSON array, a
gzip stream that breaks off) ends the file.
"""

from __future__ import annotations

import gzip
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, cast

from parsimony import strict_json
from parsimony.errors import InputError

Row = dict[str, object]
ID = "instance_id"  # the field that holds the key of an object keyed by id

_BATCH = 256  # rows of a Parquet file in memory at once: gates and patches make rows of megabytes


def read_rows(path: str | Path) -> Iterator[tuple[int, Row | InputError]]:
    """The rows of a file with their numbers, from 1: lines in JSON lines, records in other tables.

    A row that cannot be read is an `InputError` with file and row.

    Raises:
        InputError: the file cannot be read or, while it is being read, cannot be read on.
    """
    path = Path(path)
    try:
        for number, row in _rows(path):
            yield number, _placed(row, str(path), number) if isinstance(row, InputError) else row
    except InputError as error:
        raise error.at(file=str(path)) from None
    except FileNotFoundError:
        raise InputError("does not exist", mend="check the path", file=str(path)) from None
    except IsADirectoryError:
        raise InputError("is a directory", mend="name a file in it", file=str(path)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"is damaged gzip: {error}", mend="fetch or pack it again", file=str(path)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot be read: {reason}", mend="check the path and its permissions", file=str(path)
        ) from None


def _placed(error: InputError, file: str, number: int) -> InputError:
    """The error at its row; what it says of a line is of a line within that row."""
    return InputError(error.problem, mend=error.mend, file=file, row=number, field=error.place.field)


def _rows(path: Path) -> Iterator[tuple[int, Row | InputError]]:
    with path.open("rb") as raw:
        start = raw.peek(4)[:4]
        if not start:
            raise InputError("is empty", mend="check the path")
        if start == b"PAR1" or path.suffix == ".parquet":
            yield from _parquet_rows(path)
        elif start.startswith(b"\x1f\x8b"):
            with gzip.open(raw) as unpacked:
                yield from _text_rows(cast("BinaryIO", unpacked), Path(path.stem).suffix)
        else:
            yield from _text_rows(raw, path.suffix)


# Text


def _text_rows(stream: BinaryIO, suffix: str) -> Iterator[tuple[int, Row | InputError]]:
    seen, first, second = _first_lines(stream)
    if not first:
        raise InputError("is empty", mend="check the path")
    if suffix in {".jsonl", ".ndjson"} or _is_lines(first, second):
        return _lines(itertools.chain(seen, stream))
    if not first.startswith((b"[", b"{")):
        raise InputError("is no table", mend="give JSON, JSON lines or Parquet")
    return _document(strict_json.decode_utf8(b"".join(seen) + stream.read()))


def _first_lines(stream: BinaryIO) -> tuple[list[bytes], bytes, bytes]:
    """All lines to the second that is not blank, and the first and second of those, stripped (b"" where none is)."""
    seen: list[bytes] = []
    told: list[bytes] = []
    for line in stream:
        seen.append(line)
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if text:
            told.append(text)
        if len(told) == 2:
            break
    first, second, *_ = *told, b"", b""
    return seen, first, second


def _is_lines(first: bytes, second: bytes) -> bool:
    """Whether a text is JSON lines: a whole value and something after it, or damage followed by an object."""
    if first.startswith(b"["):
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return second.startswith(b"{")
    return second != b""


def _lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Row | InputError]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                value = strict_json.loads(line.strip())
            except InputError as error:
                yield number, error
            else:
                yield number, _as_row(value)


def _document(text: str) -> Iterator[tuple[int, Row | InputError]]:
    members = list(strict_json.members(text))
    values = [value for _, value in members]
    keys = [key for key, _ in members]
    if None in keys or not keys:
        yield from enumerate(map(_as_row, values), 1)
    elif ID in keys or not any(isinstance(value, dict) for value in values):
        try:
            yield 1, _as_row(strict_json.loads(text))
        except InputError as error:
            yield 1, error
    else:
        for number, (key, value) in enumerate(members, 1):
            yield number, _keyed(str(key), _as_row(value))


def _as_row(value: object) -> Row | InputError:
    if isinstance(value, (dict, InputError)):
        return value
    return InputError(f"is no object: {str(value)[:40]!r}", mend="a row is an object of fields and values")


def _keyed(key: str, row: Row | InputError) -> Row | InputError:
    """The row with its key as its id."""
    if isinstance(row, InputError):
        return row
    if row.get(ID, key) != key:
        return InputError(f"is {str(row[ID])[:60]!r} under the key {key[:60]!r}", mend="make them equal", field=ID)
    return {ID: key, **row}


# Parquet


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row | InputError]]:
    try:
        import pyarrow as pa  # noqa: PLC0415 only who names a Parquet file needs it
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        mend = "pip install 'parsimony-grading[cluster]', or give JSON lines"
        raise InputError("is Parquet, and pyarrow is not installed", mend=mend) from None
    try:
        with pq.ParquetFile(path) as table:
            names = table.schema_arrow.names
            if len(set(names)) != len(names):
                raise InputError("has two columns of one name", mend="rename one of them")
            number = 1
            for batch in table.iter_batches(batch_size=_BATCH):
                for row in _batch_rows(batch):
                    yield number, row
                    number += 1
    except pa.ArrowException as error:
        raise InputError(f"is damaged Parquet: {str(error)[:200]}", mend="write it again") from None


def _batch_rows(batch: Any) -> Iterator[Row | InputError]:
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError):
        # Text that is not UTF-8, a time out of Python's range: find the rows that have it.
        for index in range(batch.num_rows):
            try:
                yield _plain(batch.slice(index, 1).to_pylist()[0])
            except (ValueError, OverflowError) as error:
                yield InputError(f"holds a value that cannot be read: {error}", mend="write it again")
    else:
        for row in rows:
            yield _plain(row)


def _plain(value: Any) -> Any:
    """The value as JSON would have it, but for bytes."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
