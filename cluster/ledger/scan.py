"""The rows of one kind in one manifest as Arrow tables: first those of segments, then of journals. Imports pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cluster.ledger.journal import JournalIndex
from cluster.ledger.manifest import Journal, Manifest
from cluster.ledger.schema import Column, Columns, Schema
from cluster.ledger.segments import SegmentReader
from cluster.ledger.tables import arrow_schema, conform, journal_tables, matches


@dataclass(frozen=True, slots=True)
class KindScan:
    """Where the rows are. `index` gives the index of a journal.

    Methods raise FileNotFoundError when a writer has moved rows to other files, and LedgerCorrupt as the readers of
    files do. Where `columns` is None, tables have all of them.
    """

    directory: Path
    manifest: Manifest
    schema: Schema
    kind: str
    index: Callable[[Journal], JournalIndex]

    def small_tables(self, columns: Columns | None, *, skip: int) -> Iterator[pa.Table]:
        """The rows after the first `skip`, a few thousand a table."""
        for rows, reader in self._segments():
            if skip >= rows:
                skip -= rows
                continue
            for table in reader.batches(columns):
                yield table.slice(skip)
                skip = max(0, skip - len(table))
        for journal in self.manifest.journals:
            index = self.index(journal)
            rows = index.counts.get(self.kind, 0)
            yield from journal_tables(index, journal, self.schema, self.kind, columns, skip=min(skip, rows))
            skip = max(0, skip - rows)

    def table(self, columns: Columns | None, *, as_dictionary: Collection[str]) -> pa.Table:
        """All rows. `as_dictionary` names the columns that are to be dictionary-encoded."""
        shape = self.schema.columns(self.kind) if columns is None else columns
        parts = [conform(arrow_schema(shape).empty_table(), shape, as_dictionary)]
        parts += [reader.table(columns, as_dictionary=as_dictionary) for _, reader in self._segments()]
        parts += [conform(table, shape, as_dictionary) for table in self._journals(columns)]
        return pa.concat_tables(parts)

    def matching(self, column: Column, value: object, *, limit: int) -> Iterator[pa.Table]:
        """Of the first `limit` rows those in which a column has a value."""
        for rows, reader in self._segments():
            yield reader.matching(column, value, limit=max(0, limit))
            limit -= rows
        for table in self._journals(None):
            first = table.slice(0, max(0, limit))
            yield first.filter(matches(first, column, value))
            limit -= len(table)

    def _segments(self) -> Iterator[tuple[int, SegmentReader]]:
        for segment in self.manifest.segments:
            if segment.kind == self.kind:
                yield segment.rows, SegmentReader(self.directory, segment, self.schema)

    def _journals(self, columns: Columns | None) -> Iterator[pa.Table]:
        for journal in self.manifest.journals:
            yield from journal_tables(self.index(journal), journal, self.schema, self.kind, columns)
