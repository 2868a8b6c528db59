"""Segments: Parquet files of one kind each, written once and never changed. Imports pyarrow.

What protects their bytes: a checksum on every page (checked on every read), a digest of the footer (checked before it
is believed), and a digest of the whole file (checked when all columns are read, and by `LedgerReader.verify`). So a
read costs in proportion to what it reads; the pages' own headers, which no page checksum covers, are left to the last.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from cluster.ledger.disk import Disk, reading
from cluster.ledger.journal import damaged
from cluster.ledger.manifest import Segment
from cluster.ledger.schema import Column, Columns, Schema, Type
from cluster.ledger.tables import BATCH_ROWS, arrow_schema, conform, matches, migrate, unreadable
from parsimony.errors import LedgerError
from parsimony.execution import MIB

GROUP_ROWS = 65_536
"""A row group ends at so many rows or bytes (in memory)."""
GROUP_BYTES = 32 * MIB
_WRITE_BYTES = MIB
_MAGIC = b"PAR1"
_TAIL = 8  # four bytes of length, four of magic
_SHARED = frozenset({Type.NAME, Type.TEXTS})


class _Sink:
    """What pyarrow writes to, in small pieces: a file of ours, digested on the way, written in large ones."""

    closed = False

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self.file = disk.create(path)
        self.digest = hashlib.sha256()
        self.size = 0
        self._gathered = bytearray()

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.size += view.nbytes
        self._gathered += view
        if len(self._gathered) >= _WRITE_BYTES:
            self.drain()
        return view.nbytes

    def drain(self) -> None:
        """Hand everything to the disk."""
        gathered, self._gathered = self._gathered, bytearray()
        if not self.file.closed:  # abandoned: pyarrow still writes a footer when its writer is collected
            self._disk.write(self.file, gathered)
            self.digest.update(gathered)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Nothing needs to be on the disk before `drain`."""

    def close(self) -> None:
        """The writer of the segment closes the file, after its fsync."""


class SegmentWriter:
    """Writes one segment: `add` tables, then `finish`, or `abandon`.

    The file is complete and durable under its name when `finish` returns; the directory entry is not yet.
    """

    def __init__(self, directory: Path, name: str, kind: str, schema: Schema, disk: Disk) -> None:
        columns = schema.columns(kind)
        self._kind, self._version, self._disk = kind, schema.version, disk
        self._path = directory / name
        self._partial = directory / f"{name}.tmp"
        self._waiting: list[pa.Table] = []
        self._rows = 0
        described = {"parsimony.ledger.kind": kind, "parsimony.ledger.schema": str(schema.version)}
        self._sink = _Sink(disk, self._partial)
        try:
            self._parquet = pq.ParquetWriter(
                self._sink,
                arrow_schema(columns).with_metadata(described),
                compression="zstd",
                write_page_checksum=True,
                use_dictionary=_dictionary_paths(columns),
            )
        except BaseException:
            disk.discard(self.abandon())
            raise

    def add(self, table: pa.Table) -> None:
        """Append rows, in the current columns."""
        self._waiting.append(table)
        self._rows += len(table)
        rows, size = sum(map(len, self._waiting)), sum(item.nbytes for item in self._waiting)
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        table, self._waiting = pa.concat_tables(self._waiting), []
        self._parquet.write_table(table, row_group_size=GROUP_ROWS)

    def finish(self) -> Segment:
        """Write the rest, make it durable, give it its name."""
        if self._waiting:
            self._write_group()
        self._parquet.close()
        self._sink.drain()
        self._disk.sync(self._sink.file)
        self._sink.file.close()
        with self._partial.open("rb") as file:
            footer = hashlib.sha256(_footer(file)).hexdigest()
        self._disk.rename(self._partial, self._path)
        return Segment(
            kind=self._kind,
            file=self._path.name,
            rows=self._rows,
            bytes=self._sink.size,
            schema=self._version,
            sha256=self._sink.digest.hexdigest(),
            footer_sha256=footer,
        )

    def abandon(self) -> list[Path]:
        """Give it up, in whatever state it is; returns the files to remove."""
        self._sink.file.close()
        return [self._partial, self._path]


def _dictionary_paths(columns: Columns) -> list[str]:
    shared = [column for column in columns.values() if column.type in _SHARED]
    return [f"{item.name}.list.element" if item.type is Type.TEXTS else item.name for item in shared]


def _footer(file: BinaryIO) -> bytes:
    """The footer of an open Parquet file with its length and magic; some bytes when the file is no such thing."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    length = int.from_bytes(file.read(_TAIL)[:4], "little")
    file.seek(max(0, size - _TAIL - length))
    return file.read()


class SegmentReader:
    """Reads one segment of a ledger in the current columns.

    Every method raises LedgerCorrupt when the bytes are not those that were written, and FileNotFoundError when the
    file is gone (a writer has compacted it).
    """

    def __init__(self, directory: Path, segment: Segment, schema: Schema) -> None:
        self._directory = directory
        self._path = directory / segment.file
        self._segment = segment
        self._schema = schema

    def table(self, columns: Columns | None = None, *, as_dictionary: Collection[str] = ()) -> pa.Table:
        """The whole segment in some columns (None = all). `as_dictionary` names those to leave dictionary-encoded."""
        file, names = self._open(columns, as_dictionary)
        with self._corruption_reported():
            table = file.read(columns=names)
        return self._finish(table, columns, as_dictionary)

    def batches(self, columns: Columns | None = None) -> Iterator[pa.Table]:
        """The segment in small tables, in order."""
        file, names = self._open(columns)
        batches = file.iter_batches(batch_size=BATCH_ROWS, columns=names)
        while True:
            with self._corruption_reported():
                batch = next(batches, None)
            if batch is None:
                return
            yield self._finish(pa.Table.from_batches([batch]), columns)

    def matching(self, column: Column, value: object, *, limit: int) -> pa.Table:
        """Of the first `limit` rows those in which a column has a value, with all columns.

        Of row groups without such a row only this column is read.
        """
        if self._migrates:
            table = self.table().slice(0, limit)
            return table.filter(matches(table, column, value))
        file, names = self._open({column.name: column})
        parts = [arrow_schema(self._schema.columns(self._segment.kind)).empty_table()]
        for group in range(file.num_row_groups):
            with self._corruption_reported():
                found = matches(file.read_row_group(group, columns=names), column, value)
                if found.true_count and limit > 0:
                    rows = self._finish(file.read_row_group(group), None)
                    parts.append(rows.slice(0, limit).filter(found.slice(0, limit)))
            limit -= len(found)
        return pa.concat_tables(parts)

    def _open(self, columns: Columns | None, as_dictionary: Collection[str] = ()) -> tuple[pq.ParquetFile, list[str]]:
        """The file, its footer checked, and the names of the columns to read of it."""
        if columns is None:
            self._segment.verify(self._directory)
        with reading(self._path), self._path.open("rb") as plain:
            footer = _footer(plain)
        if hashlib.sha256(footer).hexdigest() != self._segment.footer_sha256:
            raise damaged(self._path, "", "the footer does not match its digest")
        with self._corruption_reported():
            file = pq.ParquetFile(
                self._path,
                metadata=pq.read_metadata(pa.BufferReader(_MAGIC + footer)),
                read_dictionary=[] if self._migrates else list(as_dictionary),
                page_checksum_verification=True,
            )
        present = set(file.schema_arrow.names)
        return file, [name for name in self._needed(columns) if name in present]

    @property
    def _migrates(self) -> bool:
        """Whether a migration may fill a column from others."""
        return any(version >= self._segment.schema for version in self._schema.migrations)

    def _needed(self, columns: Columns | None) -> Columns:
        return self._schema.columns(self._segment.kind) if columns is None or self._migrates else columns

    def _finish(self, table: pa.Table, columns: Columns | None, as_dictionary: Collection[str] = ()) -> pa.Table:
        """What was read, in the current columns and with their meaning."""
        kind = self._segment.kind
        if self._migrates:
            everything = conform(table, self._schema.columns(kind))
            table = migrate(self._schema, kind, everything, self._segment.schema)
        return conform(table, self._schema.columns(kind) if columns is None else columns, as_dictionary)

    @contextlib.contextmanager
    def _corruption_reported(self) -> Iterator[None]:
        try:
            with reading(self._path):
                yield
        except LedgerError as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno is None:  # Arrow's own, on bytes that make no sense
                raise damaged(self._path, "", str(cause)) from None
            raise
        except pa.ArrowException as error:
            raise unreadable(self._path, error, str(error)) from None
