"""The rows of one manifest as Arrow tables: those of its segments, then those of its journals. Imports pyarrow."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa

from cluster.ledger.manifest import Manifest
from cluster.ledger.schema import Column, Columns, Schema
from cluster.ledger.segments import SegmentReader
from cluster.ledger.tables import arrow_schema, conform, journal_tables, matches


def small_tables(
    directory: Path, manifest: Manifest, schema: Schema, kind: str, columns: Columns | None, *, skip: int
) -> Iterator[pa.Table]:
    """The rows of a kind after the first `skip`, a few thousand a table. `columns` None = all.

    Raises FileNotFoundError when a writer has moved rows to other files; LedgerCorrupt as the readers of files do.
    """
    for segment in manifest.segments:
        if segment.kind != kind:
            continue
        if skip >= segment.rows:
            skip -= segment.rows
            continue
        for table in SegmentReader(directory, segment, schema).batches(columns):
            yield table.slice(skip)
            skip = max(0, skip - len(table))
    for table in _journals(directory, manifest, schema, kind, columns):
        yield table.slice(skip)
        skip = max(0, skip - len(table))


def whole_table(
    directory: Path,
    manifest: Manifest,
    schema: Schema,
    kind: str,
    columns: Columns | None,
    *,
    as_dictionary: Collection[str],
) -> pa.Table:
    """All rows of a kind as one table. Raises as `small_tables`."""
    shape = columns if columns is not None else schema.columns(kind)
    parts = [conform(arrow_schema(shape).empty_table(), shape, as_dictionary)]
    parts += [
        SegmentReader(directory, segment, schema).table(columns, as_dictionary=as_dictionary)
        for segment in manifest.segments
        if segment.kind == kind
    ]
    parts += [conform(table, shape, as_dictionary) for table in _journals(directory, manifest, schema, kind, columns)]
    return pa.concat_tables(parts)


def matching_tables(
    directory: Path, manifest: Manifest, schema: Schema, kind: str, *, column: Column, value: object, limit: int
) -> list[pa.Table]:
    """Of the first `limit` rows of a kind those in which a column has a value, with all columns.

    Raises as `small_tables`.
    """
    found = []
    for segment in manifest.segments:
        if segment.kind == kind and limit > 0:
            found.append(SegmentReader(directory, segment, schema).matching(column, value, limit=limit))
            limit -= segment.rows
    for table in _journals(directory, manifest, schema, kind, None):
        first = table.slice(0, max(0, limit))
        found.append(first.filter(matches(first, column, value)))
        limit -= len(table)
    return found


def _journals(
    directory: Path, manifest: Manifest, schema: Schema, kind: str, columns: Columns | None
) -> Iterator[pa.Table]:
    for journal in manifest.journals:
        for _, table in journal_tables(directory, journal, schema, [kind]):
            yield table if columns is None else table.select(list(columns))
