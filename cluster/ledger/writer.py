"""The writer of a ledger: append, flush, seal, close. One per ledger at a time.

append ──► memory ──flush──► wal-<epoch>.jsonl ──seal──► <kind>-<epoch>-<n>.parquet     (named by MANIFEST-<n>.json)
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster.ledger.disk import Disk
from cluster.ledger.journal import encode_line
from cluster.ledger.rows import RowEncoder
from cluster.ledger.schema import SCHEMA, Schema
from cluster.ledger.store import Store
from parsimony.errors import DiskFull, LedgerError
from parsimony.execution import MIB

_SEAL_AGAIN = 0.25  # after a seal found the disk full: try again when the journals have grown by this part of a seal


@dataclass(frozen=True, slots=True)
class LedgerOptions:
    """When a ledger does what by itself.

    Attributes:
        flush_rows, flush_bytes, flush_seconds: `due` is true when so much waits, or has waited so long.
        seal_rows, seal_bytes: a flush seals when the journals hold so much.
        keep_segments: `close` merges the small segments of a kind that has more of them.
    """

    flush_rows: int = 100
    flush_bytes: int = MIB
    flush_seconds: float = 0.2
    seal_rows: int = 50_000
    seal_bytes: int = 256 * MIB
    keep_segments: int = 16


DEFAULTS = LedgerOptions()


class Ledger:
    """A ledger opened for writing: `Ledger.open`, then `close` it or use it in a `with`.

    Rows are durable when the `flush` after their `append` has returned. A flush that raises DiskFull has lost nothing:
    the rows wait in memory, and the next flush writes them.

    Methods may be called from several threads: a flush or seal in one does not hold up `append` in another, and a seal
    does not hold up a flush.

    Attributes:
        directory: where it is.
    """

    def __init__(
        self,
        store: Store,
        directory: Path,
        options: LedgerOptions = DEFAULTS,
        *,
        schema: Schema = SCHEMA,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.directory = directory
        self._store = store
        self._options = options
        self._encoder = RowEncoder(schema)
        self._clock = clock
        # Taken in this order: _sealing (one seal, merger or close at a time), _io (the store), _buffer (the rows in
        # memory; held for moments only).
        self._sealing = threading.Lock()
        self._io = threading.Lock()
        self._buffer = threading.Lock()
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._pending_since = 0.0
        self._next_row = store.next_row
        self._closed = False
        self._seal_when = 1.0

    @classmethod
    def open(
        cls,
        directory: Path,
        options: LedgerOptions = DEFAULTS,
        *,
        schema: Schema = SCHEMA,
        disk: Disk | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """Open a ledger for writing; a directory that is not there becomes an empty one.

        What an earlier writer left is brought to order: a torn end of its journal is cut off, kept in a file beside it
        and noted as a `ledger.torn_tail` event.

        Args:
            clock: what `due` measures waiting with; monotonic seconds.

        Raises:
            LedgerLocked: another process writes it; the message names it.
            LedgerCorrupt: a journal is damaged; the message says where, and how to mend it.
            LedgerError: a newer version wrote it, or the directory cannot be used.
            DiskFull: there is no room to begin.
        """
        return cls(Store(directory, schema, disk or Disk()), directory, options, schema=schema, clock=clock)

    def append(self, kind: str, row: Mapping[str, object]) -> None:
        """Take a row in; it is durable after the next `flush`. Nothing is written here.

        Args:
            row: column -> value. Columns left out, or None, are null. Bytes as bytes, times as seconds since 1970.

        Raises:
            InputError: an unknown kind or column, a required column without a value, or a value that does not fit.
            LedgerError: the ledger is closed.
        """
        text = self._encoder.encode(kind, row)
        with self._buffer:
            self._require_open()
            line = encode_line(self._next_row, kind, text)
            if not self._pending:
                self._pending_since = self._clock()
            self._pending.append(line)
            self._pending_bytes += len(line)
            self._next_row += 1

    @property
    def pending(self) -> int:
        """Rows that are not durable yet."""
        with self._buffer:
            return len(self._pending)

    def due(self, now: float | None = None) -> bool:
        """Whether enough rows wait, or have waited long enough, for a flush. `now` is the clock's, None asks it."""
        with self._buffer:
            if not self._pending:
                return False
            waited = (self._clock() if now is None else now) - self._pending_since
            options = self._options
            return (
                len(self._pending) >= options.flush_rows
                or self._pending_bytes >= options.flush_bytes
                or waited >= options.flush_seconds
            )

    def flush_if_due(self, now: float | None = None) -> bool:
        """`flush` when `due`; whether it did."""
        due = self.due(now)
        if due:
            self.flush()
        return due

    def flush(self) -> None:
        """Make all rows appended so far durable, with one fsync. Seals when the journal has grown long.

        Raises:
            DiskFull: the rows wait in memory; flush again when there is space.
            LedgerLocked: another writer has taken over (somebody removed the lock file).
            LedgerError: the file system refuses, or the ledger was abandoned with rows in memory.
        """
        if self._closed and not self.pending:
            return
        self._require_open()
        with self._io:
            self._flush()
        self._seal_if_long()

    def _require_open(self) -> None:
        if self._closed:
            raise LedgerError(f"{self.directory}: this ledger is closed; open it again to write")

    def _flush(self) -> None:
        with self._buffer:
            lines, self._pending = self._pending, []
        if not lines:
            self._store.settle()
            return
        try:
            self._store.write(lines)
        except BaseException:
            with self._buffer:
                self._pending[:0] = lines
            raise
        with self._buffer:
            self._pending_bytes = sum(map(len, self._pending))

    def _fullness(self) -> float:
        with self._io:
            rows, size = self._store.unsealed
        return max(rows / self._options.seal_rows, size / self._options.seal_bytes)

    def _seal_if_long(self) -> None:
        """Seal on the way. The caller's rows are durable: a full disk is noted here and is no error of the flush."""
        if self._fullness() < self._seal_when or not self._sealing.acquire(blocking=False):
            return
        try:
            if not self._closed:
                self._seal()
                self._seal_when = 1.0
        except DiskFull as error:
            self._seal_when = self._fullness() + _SEAL_AGAIN
            data = json.dumps({"reason": str(error)})
            self.append("event", {"at": time.time(), "name": "ledger.seal_postponed", "data": data})
        finally:
            self._sealing.release()

    def seal(self) -> None:
        """Turn all rows appended so far from journal into Parquet segments.

        Raises:
            DiskFull: rows that were flushed stay durable in the journal; seal again when there is space.
            LedgerCorrupt: the journal was damaged after it was written.
            LedgerLocked, LedgerError: as `flush`.
        """
        with self._sealing:
            self._require_open()
            self._seal()

    def _seal(self, *, last: bool = False) -> None:
        with self._io:
            self._flush()
            self._store.rotate(successor=not last)
            journals = self._store.closed_journals()
        if journals:
            segments = self._store.seal(journals)
            with self._io:
                self._store.adopt(segments, journals=journals)

    def compact(self) -> None:
        """Merge the small segments of every kind that has more than `keep_segments` of them. Raises as `seal`."""
        with self._sealing:
            self._require_open()
            self._compact()

    def _compact(self) -> None:
        with self._io:
            self._store.settle()
        for run in self._store.mergeable(self._options.keep_segments):
            merged = self._store.merge(run)
            with self._io:
                self._store.adopt(merged, merged=run)

    def close(self, *, seal: bool = True) -> None:
        """Flush, seal, merge small segments, and let others write. Repeating it does no harm.

        Args:
            seal: False leaves the rows in the journal, durable; the next writer seals them.

        Raises:
            DiskFull: rows could not be flushed; the ledger stays open. When there is only no room to seal, nothing is
                raised: the rows are durable in the journal.
            LedgerCorrupt, LedgerLocked, LedgerError: as `seal`; the ledger is closed.
        """
        with self._sealing:
            if self._closed:
                return
            self._refuse_appends(True)
            try:
                with self._io:
                    self._flush()
            except DiskFull:
                self._refuse_appends(False)
                raise
            except BaseException:
                self._store.close()
                raise
            try:
                if seal:
                    with contextlib.suppress(DiskFull):
                        self._seal(last=True)
                        self._compact()
            finally:
                self._store.close()

    def _refuse_appends(self, refuse: bool) -> None:
        with self._buffer:
            self._closed = refuse

    def abandon(self) -> None:
        """Let others write, without a flush: what was not durable is lost, as if this process had been killed."""
        self._refuse_appends(True)
        with self._io:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; after an exception without the long part, and without hiding the exception."""
        try:
            self.close(seal=error is None)
        finally:
            self.abandon()
