"""Mend a damaged ledger: `python -m cluster.ledger.mend DIRECTORY`.

Whole lines of damaged journals are kept, damaged segments are taken out as a whole. What is taken out stays in the
directory as `damaged-<file>`. Work whose records are lost counts as not done: the next run of the same command does it
again, so a mended ledger is short of rows but never wrong.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cluster.ledger.disk import Disk
from cluster.ledger.journal import JournalScan, JournalWriter, encode_line, parse_line
from cluster.ledger.lock import WriterLock
from cluster.ledger.manifest import Journal, Manifest, Segment, journal_name, load_manifest, publish_manifest
from cluster.ledger.recovery import next_epoch
from cluster.ledger.schema import SCHEMA, Schema
from cluster.ledger.writer import Ledger
from parsimony.errors import InputError, LedgerCorrupt, ParsimonyError

_CHUNK_LINES = 1000


@dataclass(frozen=True, slots=True)
class Damage:
    """One mended file. `rows_lost` None: nobody can tell (a journal whose end was not known)."""

    file: str
    problem: str
    kept_in: str | None
    rows_lost: int | None

    def __str__(self) -> str:
        lost = "some rows" if self.rows_lost is None else f"{self.rows_lost} rows"
        return f"{self.file}: {lost} lost, the file is kept as {self.kept_in or 'nothing (it was gone)'}"


def mend(directory: Path, *, schema: Schema = SCHEMA, disk: Disk | None = None) -> tuple[Damage, ...]:
    """Take what is damaged out of a ledger, and note each file as a `ledger.mended` event.

    A sound ledger is left as it is. Can be repeated after an interruption.

    Raises:
        InputError: there is no ledger.
        LedgerLocked: somebody writes it.
        LedgerCorrupt: its manifest is damaged, which only a copy can mend.
        LedgerError, DiskFull: as `Ledger.open`.
    """
    disk = disk or Disk()
    manifest = load_manifest(directory, schema)
    if manifest is None:
        raise InputError("there is no ledger here", mend="name the folder of a ledger", file=str(directory))
    lock = WriterLock(directory)
    try:
        manifest = load_manifest(directory, schema) or manifest
        damages = _Mender(directory, disk).run(manifest)
    finally:
        lock.release()
    if damages:
        ledger = Ledger.open(directory, schema=schema, disk=disk)
        for damage in damages:
            row = {"at": time.time(), "name": "ledger.mended", "data": json.dumps(asdict(damage))}
            ledger.append("event", row)
        ledger.close(seal=False)
    return damages


class _Mender:
    def __init__(self, directory: Path, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        self._damages: list[Damage] = []

    def run(self, manifest: Manifest) -> tuple[Damage, ...]:
        segments = tuple(item for item in manifest.segments if self._is_sound(item))
        journals: list[Journal] = []
        epoch = next_epoch(self._directory, manifest)
        for journal in manifest.journals:
            problem = self._problem(journal)
            if problem is None:
                journals.append(journal)
                continue
            journals += self._salvage(journal, epoch, problem)
            epoch += 1
        if self._damages:
            mended = replace(manifest, number=manifest.number + 1, epoch=epoch, segments=segments)
            self._disk.sync_directory(self._directory)
            publish_manifest(self._directory, replace(mended, journals=tuple(journals)), self._disk)
            self._disk.sync_directory(self._directory)
        return tuple(self._damages)

    def _is_sound(self, segment: Segment) -> bool:
        try:
            segment.verify(self._directory)
        except (LedgerCorrupt, FileNotFoundError) as error:
            kept = self._set_aside(segment.file)
            self._damages.append(Damage(segment.file, str(error), kept.name if kept else None, segment.rows))
            return False
        return True

    def _problem(self, journal: Journal) -> str | None:
        scan = JournalScan(self._directory / journal.file, first=journal.first, end=journal.end)
        try:
            for _ in scan:
                pass
        except (LedgerCorrupt, FileNotFoundError) as error:
            return str(error)
        return None

    def _set_aside(self, name: str) -> Path | None:
        """Give a file its new name; it may have it from an earlier, interrupted mend, or be gone."""
        path, kept = self._directory / name, self._directory / f"damaged-{name}"
        if path.exists():
            self._disk.rename(path, kept)
        return kept if kept.exists() else None

    def _salvage(self, journal: Journal, epoch: int, problem: str) -> Sequence[Journal]:
        """The whole lines of a damaged journal in a new one, numbered without gaps."""
        kept = self._set_aside(journal.file)
        writer = JournalWriter(self._directory / journal_name(epoch), self._disk, first=journal.first)
        try:
            lines: list[bytes] = []
            for kind, row in _whole_lines(kept, journal.end):
                lines.append(encode_line(writer.first + writer.rows + len(lines), kind, row))
                if len(lines) >= _CHUNK_LINES:
                    writer.write(lines)
                    lines = []
            writer.write(lines)
        finally:
            writer.close()
        lost = None if journal.rows is None else journal.rows - writer.rows
        self._damages.append(Damage(journal.file, problem, kept.name if kept else None, lost))
        new = replace(journal, file=writer.path.name, rows=writer.rows, end=writer.end)
        return [new] if writer.rows else []


def _whole_lines(path: Path | None, end: int | None) -> Iterator[tuple[str, str]]:
    """(kind, row) of the lines with a right checksum, each number once."""
    if path is None:
        return
    last, offset = -1, 0
    with path.open("rb") as file:
        for raw in file:
            offset += len(raw)
            line = parse_line(raw)
            if end is not None and offset > end:
                return
            if line is not None and line.n > last:
                last = line.n
                yield line.kind, line.row.decode("ascii")


def main(arguments: Sequence[str]) -> int:
    """The command. Exit status 0: sound or mended; 2: cannot be mended."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m cluster.ledger.mend DIRECTORY\n")
        return 2
    try:
        damages = mend(Path(arguments[0]))
    except ParsimonyError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for damage in damages:
        sys.stdout.write(f"{damage}\n")
    sys.stdout.write("the ledger is mended\n" if damages else "the ledger is sound\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
