"""Columns as Arrow: schemas, and tables from the rows of a journal. Imports pyarrow."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cluster.ledger.journal import JournalScan, damaged
from cluster.ledger.manifest import Journal
from cluster.ledger.schema import Column, Columns, Schema, Type
from parsimony.execution import MIB

BATCH_ROWS = 2048
"""Rows that are Python objects at the same time, and how much text they may be."""
BATCH_BYTES = 16 * MIB

MICROSECONDS = 1e6
_TIMESTAMP = pa.timestamp("us", tz="UTC")
_ARROW: Mapping[Type, pa.DataType] = {
    Type.KEY: pa.string(),
    Type.NAME: pa.string(),
    Type.TEXT: pa.string(),
    Type.TEXTS: pa.list_(pa.field("element", pa.string())),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.TIME: _TIMESTAMP,
    Type.BYTES: pa.binary(),
}


def arrow_schema(columns: Columns) -> pa.Schema:
    """The Arrow schema of some columns."""
    fields = [pa.field(column.name, _ARROW[column.type], nullable=not column.required) for column in columns.values()]
    return pa.schema(fields)


def conform(table: pa.Table, columns: Columns, as_dictionary: Collection[str] = ()) -> pa.Table:
    """A table as it was stored, in the given columns: those that its version lacked are null."""
    target = arrow_schema(columns)
    for name in as_dictionary:
        field = target.field(name)
        target = target.set(target.get_field_index(name), field.with_type(pa.dictionary(pa.int32(), field.type)))
    arrays = [
        table.column(item.name) if item.name in table.column_names else pa.nulls(len(table), item.type)
        for item in target
    ]
    return pa.table(arrays, schema=target)


def migrate(schema: Schema, kind: str, table: pa.Table, version: int) -> pa.Table:
    """A table of an older version, already in the current columns, brought to the current version."""
    for step in range(version, schema.version):
        if step in schema.migrations:
            table = schema.migrations[step](kind, table)
    return table


def matches(table: pa.Table, column: Column, value: object) -> pa.BooleanArray:
    """Which rows of a table that was stored have a value in a column; none where it lacks the column."""
    if column.name not in table.column_names:
        return pa.repeat(pa.scalar(False), len(table))
    equal = pc.equal(table.column(column.name), pa.scalar(value, _ARROW[column.type]))
    return pc.fill_null(equal, False).combine_chunks()


def python_rows(table: pa.Table, columns: Columns) -> Iterator[dict[str, Any]]:
    """Rows as `append` takes them: bytes, lists, epoch seconds."""
    names = list(columns)
    values = [_python_column(table.column(column.name), column) for column in columns.values()]
    for cells in zip(*values, strict=True):
        yield dict(zip(names, cells, strict=True))


def _python_column(data: pa.ChunkedArray, column: Column) -> list[Any]:
    if column.type is Type.TIME:
        data = pc.divide(data.cast(pa.int64()).cast(pa.float64()), MICROSECONDS)
    values: list[Any] = data.to_pylist()
    return values


def journal_tables(
    directory: Path, journal: Journal, schema: Schema, kinds: Collection[str]
) -> Iterator[tuple[str, pa.Table]]:
    """(kind, table) for the rows of some kinds in a journal, in order, each table small.

    Tables have all columns of the current version and its meaning.

    Raises:
        LedgerCorrupt: the journal is damaged, with file and line.
        FileNotFoundError: it is gone (a writer has sealed it).
    """
    path = directory / journal.file
    waiting = {kind: _Batch() for kind in kinds}
    for line in JournalScan(path, first=journal.first, end=journal.end):
        if line.kind not in schema.kinds:
            raise damaged(path, "", f"row {line.n} is of no known kind ({line.kind})")
        batch = waiting.get(line.kind)
        if batch is not None and batch.add(line.row):
            yield line.kind, _table(path, journal, schema, line.kind, batch.take())
    for kind, batch in waiting.items():
        if batch.rows:
            yield kind, _table(path, journal, schema, kind, batch.take())


class _Batch:
    """Rows of one kind on their way to a table."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self._bytes = 0

    def add(self, row: bytes) -> bool:
        """Take a row in; True when it is time for a table."""
        self.rows.append(row)
        self._bytes += len(row)
        return len(self.rows) >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def take(self) -> list[bytes]:
        rows, self.rows, self._bytes = self.rows, [], 0
        return rows


def _table(path: Path, journal: Journal, schema: Schema, kind: str, texts: list[bytes]) -> pa.Table:
    """One table from the JSON of some rows."""
    columns = schema.columns(kind)
    try:
        rows = [json.loads(text) for text in texts]
        unknown = set().union(*rows) - columns.keys()
        if unknown:
            raise ValueError(f"there is no {', '.join(sorted(unknown))}")
        arrays = [_array([row.get(name) for row in rows], column) for name, column in columns.items()]
        table = pa.table(arrays, schema=arrow_schema(columns))
        table.validate()
    except (ValueError, TypeError, AttributeError, pa.ArrowException) as error:
        raise damaged(path, "", f"{kind} rows do not fit their columns ({error})") from None
    return migrate(schema, kind, table, journal.schema)


def _array(values: list[Any], column: Column) -> pa.Array:
    if column.type is Type.TIME:
        return pa.array(values, pa.string()).cast(_TIMESTAMP)
    if column.type is Type.BYTES:
        values = [None if value is None else base64.b64decode(value, validate=True) for value in values]
    return pa.array(values, _ARROW[column.type])
