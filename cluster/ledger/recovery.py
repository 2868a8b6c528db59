"""What a writer does with a ledger that another one left: close its journals, set torn tails aside, sweep up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.ledger.disk import Disk
from cluster.ledger.journal import JournalScan, damaged
from cluster.ledger.manifest import JOURNAL, MANIFEST, SEGMENT, Journal, Manifest, manifest_name

_OURS = re.compile(rf"(?:{JOURNAL.pattern}|{MANIFEST.pattern}|{SEGMENT.pattern})(?:\.tmp)?")
_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TornTail:
    """Bytes at the end of a journal that were no whole line, and the file that keeps them."""

    file: str
    end: int
    bytes: int
    kept_in: str

    def as_json(self) -> str:
        """For the event that notes it."""
        data = {"file": self.file, "end": self.end, "bytes": self.bytes, "kept_in": self.kept_in}
        return json.dumps(data)


def close_journals(directory: Path, manifest: Manifest, disk: Disk) -> tuple[tuple[Journal, ...], list[TornTail]]:
    """The manifest's journals, each with its end, without the empty ones; and what was cut off.

    The cut is the `end` in the next manifest: bytes after it do not exist, which also shuts out a writer that was
    thought dead and still holds the file open.

    Raises:
        LedgerCorrupt: damage that no interrupted write explains, or a journal that is gone.
    """
    closed: list[Journal] = []
    torn: list[TornTail] = []
    for journal in manifest.journals:
        path = directory / journal.file
        scan = JournalScan(path, first=journal.first, end=journal.end)
        try:
            for _ in scan:
                pass
        except FileNotFoundError:
            raise damaged(path, "", "the file is missing") from None
        if scan.torn:
            torn.append(_set_aside(path, scan, disk))
        if scan.rows:
            closed.append(replace(journal, rows=scan.rows, end=scan.end))
    return tuple(closed), torn


def _set_aside(path: Path, scan: JournalScan, disk: Disk) -> TornTail:
    target = path.with_name(f"torn-{path.stem}-{scan.end}.bin")
    disk.discard([target])  # of an opening that was itself interrupted
    with path.open("rb") as source, disk.create(target) as kept:
        source.seek(scan.end)
        left = scan.torn
        while data := source.read(min(left, _COPY_BYTES)):
            disk.write(kept, data)
            left -= len(data)
        disk.sync(kept)
    return TornTail(path.name, scan.end, scan.torn, target.name)


def next_epoch(directory: Path, manifest: Manifest) -> int:
    """An epoch that no file here bears yet."""
    journals = (JOURNAL.fullmatch(path.name) for path in directory.iterdir())
    return 1 + max([manifest.epoch, *(int(match[1]) for match in journals if match)])


def sweep(directory: Path, manifest: Manifest, disk: Disk) -> None:
    """Remove files of ours that the manifest does not name: what interrupted seals, openings and mergers left.

    The manifest before this one stays, so that a reader that lists the directory at this moment finds one.
    """
    keep = manifest.files() | {manifest_name(manifest.number), manifest_name(manifest.number - 1)}
    disk.discard([path for path in _files(directory) if _OURS.fullmatch(path.name) and path.name not in keep])


def _files(directory: Path) -> Iterable[Path]:
    return sorted(path for path in directory.iterdir() if path.is_file())
