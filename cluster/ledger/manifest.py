"""The manifest: the one list of what belongs to a ledger. What it does not name does not exist.

`MANIFEST-<number>.json` files are never changed: a new state is a new number, and the highest number is the ledger.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cluster.ledger.disk import Disk, reading
from cluster.ledger.journal import JournalIndex, damaged
from cluster.ledger.schema import Schema
from parsimony.canonical import digest_json
from parsimony.errors import LedgerCorrupt, LedgerError, LedgerLocked

FORMAT = 1
MANIFEST = re.compile(r"MANIFEST-(\d{8,})\.json")
JOURNAL = re.compile(r"wal-(\d{8,})\.jsonl")
SEGMENT = re.compile(r"[a-z]+-\d{8,}-\d{4,}\.parquet")
_LISTINGS = 20
_LISTING_PAUSE_S = 0.01


def manifest_name(number: int) -> str:
    """File name of a manifest."""
    return f"MANIFEST-{number:08d}.json"


def journal_name(epoch: int) -> str:
    """File name of an epoch's journal."""
    return f"wal-{epoch:08d}.jsonl"


@dataclass(frozen=True, slots=True)
class Segment:
    """One Parquet file of rows of one kind.

    Attributes:
        schema: the schema version it was written with.
        sha256: of the whole file; footer_sha256: of its footer, magic included. Both in hexadecimal.
    """

    kind: str
    file: str
    rows: int
    bytes: int
    schema: int
    sha256: str
    footer_sha256: str

    def verify(self, directory: Path) -> None:
        """Check every byte of the file. Raises LedgerCorrupt; FileNotFoundError when it is gone."""
        path = directory / self.file
        with reading(path), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.sha256:
            raise damaged(path, "", "the segment does not match its digest")


@dataclass(frozen=True, slots=True)
class Journal:
    """One journal file whose rows are in no segment yet.

    Attributes:
        schema: the schema version it is written with.
        first: number of its first row in the ledger.
        rows, end: how many rows and bytes count; None while it is written.
    """

    file: str
    schema: int
    first: int
    rows: int | None = None
    end: int | None = None

    def index(self, directory: Path, kinds: Collection[str]) -> JournalIndex:
        """Check every line, and find the rows of each kind.

        Raises LedgerCorrupt, also for a kind that is not among `kinds`; FileNotFoundError when the file is gone.
        """
        index = JournalIndex(directory / self.file, first=self.first, end=self.end)
        return _of_known_kinds(index, kinds)

    def grow(self, index: JournalIndex, kinds: Collection[str]) -> None:
        """Have an index of this journal take in what was appended since it was made. Raises as `index`, and LedgerError
        when rows have gone."""
        index.grow(self.end)
        _of_known_kinds(index, kinds)


def _of_known_kinds(index: JournalIndex, kinds: Collection[str]) -> JournalIndex:
    unknown = index.counts.keys() - set(kinds)
    if unknown:
        raise damaged(index.path, "", f"it has rows of unknown kinds ({', '.join(sorted(unknown))})")
    return index


@dataclass(frozen=True, slots=True)
class Manifest:
    """A state of a ledger: per kind, the rows of `segments` in their order, then those of `journals` in theirs.

    Attributes:
        number: counts the states.
        epoch: counts journals; every opening and every seal begins one, and a name with an epoch in it has one writer.
        schema: the highest schema version in the ledger.
    """

    number: int = 0
    epoch: int = 0
    schema: int = 0
    segments: tuple[Segment, ...] = ()
    journals: tuple[Journal, ...] = ()

    def encode(self) -> bytes:
        """As the bytes of a manifest file."""
        body = {"format": FORMAT, **asdict(self)}
        return json.dumps({**body, "checksum": digest_json(body)}, indent=1).encode("ascii") + b"\n"

    def files(self) -> set[str]:
        """Names of all files that it refers to."""
        return {segment.file for segment in self.segments} | {journal.file for journal in self.journals}


def load_manifest(directory: Path, schema: Schema) -> Manifest | None:
    """The newest manifest of a directory; None when there is none.

    Raises:
        LedgerError: it was written by a newer version of this program.
        LedgerCorrupt: its bytes do not match its checksum.
    """
    for _ in range(_LISTINGS):
        numbers = [int(match[1]) for match in map(MANIFEST.fullmatch, _names(directory)) if match]
        if not numbers:
            return None
        path = directory / manifest_name(max(numbers))
        try:
            with reading(path):
                data = path.read_bytes()
        except FileNotFoundError:  # a writer has replaced it since the listing
            time.sleep(_LISTING_PAUSE_S)
            continue
        return _decode(path, data, schema)
    raise LedgerError(f"{directory}: manifests appear and vanish; see what else works in this directory")


def _names(directory: Path) -> list[str]:
    try:
        with reading(directory):
            return [path.name for path in directory.iterdir()]
    except FileNotFoundError:
        return []


def _decode(path: Path, data: bytes, schema: Schema) -> Manifest:
    try:
        body = json.loads(data)
        checksum = body.pop("checksum")
        if checksum != digest_json(body):
            raise ValueError("the checksum is wrong")
        _refuse_newer(path, "format", body.pop("format"), FORMAT)
        _refuse_newer(path, "schema", body["schema"], schema.version)
        return _build(body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        mend = "restore it from a copy of the run; the segments beside it are plain Parquet, readable with any tool"
        raise LedgerCorrupt(f"{path}: this is no whole manifest ({error}); {mend}") from None


def publish_manifest(directory: Path, manifest: Manifest, disk: Disk) -> None:
    """Make `manifest` the newest of its directory. Its name is durable only after the directory has been synced.

    Raises:
        LedgerLocked: the number is taken: another writer has gone on from the same state.
        DiskFull, LedgerError: it could not be written; nothing has changed.
    """
    path = directory / manifest_name(manifest.number)
    partial = path.with_name(f"{path.name}.tmp")
    disk.discard([partial])
    try:
        with disk.create(partial) as file:
            disk.write(file, manifest.encode())
            disk.sync(file)
        disk.publish(partial, path)
    except FileExistsError:
        disk.discard([partial])
        problem = f"{directory}: another writer has taken this ledger over ({path.name} is there already)"
        raise LedgerLocked(f"{problem}; leave it to that one") from None
    except BaseException:
        disk.discard([partial])
        raise


def _refuse_newer(path: Path, what: str, found: int, known: int) -> None:
    if found > known:
        problem = f"{path.parent} was written by a newer parsimony: {what} version {found}, this one knows {known}"
        raise LedgerError(f"{problem}; use the version that wrote it, or a later one")


def _build(body: Mapping[str, Any]) -> Manifest:
    segments = tuple(Segment(**item) for item in body["segments"])
    journals = tuple(Journal(**item) for item in body["journals"])
    names = [(SEGMENT, item.file) for item in segments] + [(JOURNAL, item.file) for item in journals]
    for pattern, name in names:
        if not pattern.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a file in a ledger")
    return Manifest(body["number"], body["epoch"], body["schema"], segments, journals)
