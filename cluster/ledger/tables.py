"""Columns as Arrow: schemas, and tables from the rows of a journal. Imports pyarrow."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from cluster.ledger.journal import JournalIndex, damaged
from cluster.ledger.manifest import Journal
from cluster.ledger.schema import Column, Columns, Schema, Type
from parsimony.errors import LedgerError
from parsimony.execution import MIB

BATCH_ROWS = 4096
"""A small table has at most so many rows, or so much JSON."""
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
_JSON: Mapping[Type, pa.DataType] = {Type.BYTES: pa.string()}  # base64


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
        data = pc.divide(data.cast(pa.int64()).cast(pa.float64(), safe=False), MICROSECONDS)
    values: list[Any] = data.to_pylist()
    return values


def journal_tables(
    index: JournalIndex,
    journal: Journal,
    schema: Schema,
    kind: str,
    columns: Columns | None = None,
    *,
    skip: int = 0,
) -> Iterator[pa.Table]:
    """The rows of a kind in a journal after the first `skip`, in order, a few thousand a table, in some columns of the
    current version.

    Raises LedgerCorrupt and FileNotFoundError as `JournalIndex.rows`.
    """
    everything = schema.columns(kind)
    wanted = everything if columns is None else columns
    migrates = any(version >= journal.schema for version in schema.migrations)
    for texts in _batches(index.rows(kind, skip)):
        try:
            table = _parsed(texts, everything if migrates else wanted, complete=columns is None or migrates)
        except (ValueError, pa.ArrowException) as error:
            raise unreadable(index.path, error, f"{kind} rows do not fit their columns ({error})") from None
        if migrates:
            table = conform(migrate(schema, kind, table, journal.schema), wanted)
        yield table


def unreadable(path: Path, error: Exception, problem: str) -> LedgerError:
    """What an error of Arrow's says about a file: damage, unless it is this machine that has no memory or threads."""
    if isinstance(error, pa.ArrowMemoryError) or type(error) is pa.ArrowException:
        return LedgerError(f"{path}: cannot be read now ({error}); give this machine more room and try again")
    return damaged(path, "", problem)


def _batches(rows: Iterator[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row)
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _parsed(texts: list[bytes], columns: Columns, *, complete: bool) -> pa.Table:
    """Rows of JSON as a table. `complete`: other columns than these are an error. Raises ValueError, ArrowException."""
    data = b"\n".join([*texts, b""])
    stored = pa.schema([(name, _JSON.get(column.type, _ARROW[column.type])) for name, column in columns.items()])
    table = pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(block_size=len(data)),
        parse_options=pj.ParseOptions(
            explicit_schema=stored, unexpected_field_behavior="error" if complete else "ignore"
        ),
    )
    if len(table) != len(texts):
        raise ValueError(f"{len(texts)} lines hold {len(table)} rows")
    arrays = [_decoded(table.column(name), column) for name, column in columns.items()]
    result = pa.table(arrays, schema=arrow_schema(columns))
    for column in columns.values():
        if column.required and result.column(column.name).null_count:
            raise ValueError(f"{column.name} is missing")
    return result


def _decoded(data: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    if column.type is not Type.BYTES:
        return data
    values = (None if text is None else base64.b64decode(text, validate=True) for text in data.to_pylist())
    return pa.chunked_array([pa.array(values, pa.binary())])
