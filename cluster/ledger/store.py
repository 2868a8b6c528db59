"""The files of a ledger as its writer moves them from one state to the next.

Whatever step a crash interrupts, the newest manifest names exactly the files that hold each durable row once: new files
are complete and durable before a manifest names them, and old ones go after a durable manifest has dropped them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cluster.ledger.disk import Disk
from cluster.ledger.journal import JournalWriter, encode_line
from cluster.ledger.lock import WriterLock
from cluster.ledger.manifest import (
    Journal,
    Manifest,
    Segment,
    journal_name,
    load_manifest,
    manifest_name,
    publish_manifest,
)
from cluster.ledger.recovery import TornTail, close_journals, next_epoch, sweep
from cluster.ledger.rows import RowEncoder
from cluster.ledger.schema import Schema
from parsimony.errors import LedgerLocked


class Store:
    """A ledger opened for writing. Not for several threads at once, except where a method says so.

    Attributes:
        manifest: the newest one.
        journal: the file that rows go to; None after `rotate(successor=False)`.
    """

    def __init__(self, directory: Path, schema: Schema, disk: Disk) -> None:
        """Lock the ledger, bring it to order, begin a new journal.

        Raises:
            LedgerLocked: another process writes it; the message names it.
            LedgerCorrupt: a journal is damaged; the message says where and how to mend it.
            LedgerError: it was written by a newer version, or the directory cannot be used.
            DiskFull: there is no room for the new journal.
        """
        self._directory = directory
        self._schema = schema
        self._disk = disk
        self._serial = 0
        self._names_durable = True
        self._garbage: list[Path] = []
        self.journal: JournalWriter | None = None
        disk.make_directory(directory)
        self._lock = WriterLock(directory)
        try:
            self.manifest = load_manifest(directory, schema) or Manifest()
            self._begin()
            sweep(directory, self.manifest, disk)
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        closed, torn = close_journals(self._directory, self.manifest, self._disk)
        epoch = next_epoch(self._directory, self.manifest)
        sealed = sum(segment.rows for segment in self.manifest.segments)
        first = max([sealed, *(journal.first + (journal.rows or 0) for journal in closed)])
        self._switch(closed, epoch, first, self._notes(torn, first))

    def _notes(self, torn: Sequence[TornTail], first: int) -> list[bytes]:
        """Events for the new journal. They are in it before a manifest names it, so each tail is noted once."""
        encoder = RowEncoder(self._schema)
        rows = [{"at": time.time(), "name": "ledger.torn_tail", "data": tail.as_json()} for tail in torn]
        return [encode_line(n, "event", encoder.encode("event", row)) for n, row in enumerate(rows, first)]

    def _switch(self, closed: tuple[Journal, ...], epoch: int, first: int, notes: list[bytes]) -> None:
        """Go on in a new journal; `closed` are those before it."""
        journal = JournalWriter(self._directory / journal_name(epoch), self._disk, first=first)
        manifest = replace(
            self.manifest,
            number=self.manifest.number + 1,
            epoch=epoch,
            schema=self._schema.version,
            journals=(*closed, Journal(journal.path.name, self._schema.version, first)),
        )
        try:
            if notes:
                journal.write(notes)
            self._disk.sync_directory(self._directory)
            self._publish(manifest)
        finally:
            if self.manifest is manifest:  # visible to others, even if the sync after it failed
                self._drop_journal()
                self.journal = journal
            else:
                journal.close()
                self._disk.discard([journal.path])

    def _publish(self, manifest: Manifest) -> None:
        self._check_ownership()
        publish_manifest(self._directory, manifest, self._disk)
        gone = self.manifest.files() - manifest.files()
        self._garbage += [self._directory / name for name in sorted(gone)]
        self._garbage.append(self._directory / manifest_name(manifest.number - 2))
        self.manifest = manifest
        self._names_durable = False
        self.settle()

    def _check_ownership(self) -> None:
        """Raise LedgerLocked when another writer has gone on from here, as it can where locks do not work.

        Publishing the same number twice is impossible anyway; this keeps rows from being called durable that no
        manifest will ever name.
        """
        self._lock.check()
        number = self.manifest.number
        ours, next_one = (self._directory / manifest_name(n) for n in (number, number + 1))
        if next_one.exists() or (number > 0 and not ours.exists()):
            problem = f"{self._directory}: another writer has taken this ledger over"
            raise LedgerLocked(f"{problem}; this one stops here, leave the ledger to that one")

    def _drop_journal(self) -> None:
        if self.journal is not None:
            self.journal.close()
            self.journal = None

    @property
    def next_row(self) -> int:
        """Number of the next row that `write` takes."""
        assert self.journal is not None
        return self.journal.first + self.journal.rows

    @property
    def unsealed(self) -> tuple[int, int]:
        """(rows, bytes) that are in journals."""
        closed = [journal for journal in self.manifest.journals if journal.end is not None]
        rows, size = sum(item.rows or 0 for item in closed), sum(item.end or 0 for item in closed)
        if self.journal is not None:
            rows, size = rows + self.journal.rows, size + self.journal.end
        return rows, size

    def settle(self) -> None:
        """Make the newest manifest durable, and remove what it dropped; does nothing when that is done."""
        if not self._names_durable:
            self._disk.sync_directory(self._directory)
            self._names_durable = True
        garbage, self._garbage = self._garbage, []
        self._disk.discard(garbage)

    def write(self, lines: list[bytes]) -> None:
        """Append lines to the journal; on return they are durable. After an error the same call can be repeated."""
        assert self.journal is not None
        self._check_ownership()
        self.settle()  # a row is durable only when the manifest that names its journal is
        self.journal.write(lines)

    def rotate(self, *, successor: bool = True) -> None:
        """Close the journal, so that it can be sealed, and begin the next one unless this is the end."""
        assert self.journal is not None
        *before, entry = self.manifest.journals
        rows, end = self.journal.rows, self.journal.end
        closed = (*before, replace(entry, rows=rows, end=end)) if rows else tuple(before)
        if not successor:
            self._publish(replace(self.manifest, number=self.manifest.number + 1, journals=closed))
            self._drop_journal()
        elif rows:
            self._switch(closed, next_epoch(self._directory, self.manifest), self.next_row, [])

    def closed_journals(self) -> tuple[Journal, ...]:
        """The journals that can be sealed."""
        return tuple(journal for journal in self.manifest.journals if journal.end is not None)

    def seal(self, journals: tuple[Journal, ...]) -> tuple[Segment, ...]:
        """Segments for the journals, for `adopt`. May run beside `write`."""
        from cluster.ledger import sealing  # noqa: PLC0415 -- loads pyarrow, which a writer may never need

        return sealing.seal_journals(self._directory, journals, self._schema, self._disk, self._name)

    def merge(self, run: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """One segment for a run of neighbours, for `adopt`. May run beside `write`."""
        from cluster.ledger import sealing  # noqa: PLC0415 -- as above

        return sealing.merge_segments(self._directory, run, self._schema, self._disk, self._name)

    def mergeable(self, keep: int) -> list[tuple[Segment, ...]]:
        """Runs of segments that are worth merging, where a kind has more than `keep` small ones."""
        if len(self.manifest.segments) <= keep:
            return []
        from cluster.ledger import sealing  # noqa: PLC0415 -- as above

        return sealing.mergeable(self.manifest.segments, keep)

    def _name(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}-{self.manifest.epoch:08d}-{self._serial:04d}.parquet"

    def adopt(
        self, segments: tuple[Segment, ...], *, journals: tuple[Journal, ...] = (), merged: tuple[Segment, ...] = ()
    ) -> None:
        """Put new segments into the ledger in place of the journals or segments that they were made of.

        After an error the ledger is as it was, and the new files are gone.
        """
        old = list(self.manifest.segments)
        at = old.index(merged[0]) if merged else len(old)
        manifest = replace(
            self.manifest,
            number=self.manifest.number + 1,
            segments=(*old[:at], *segments, *(item for item in old[at:] if item not in merged)),
            journals=tuple(item for item in self.manifest.journals if item not in journals),
        )
        try:
            self._disk.sync_directory(self._directory)
            self._publish(manifest)
        except BaseException:
            if self.manifest is not manifest:
                self._disk.discard([self._directory / segment.file for segment in segments])
            raise

    def close(self) -> None:
        """Let go of files and lock. What is not durable is lost."""
        self._drop_journal()
        self._lock.release()
