"""The journal: rows as lines of text, each with its checksum, in files that only ever grow.

A line is `crc32 SP json LF`: eight hexadecimal digits, the checksum of the JSON, and
`{"n":12,"kind":"score","row":{...}}` with `n` the row's number in the ledger. A file starts with the number that its
manifest entry says, and numbers within it have no gaps: a lost, doubled or swapped line is found as a flipped bit is.

A file whose writer was killed may end in a *torn tail*: a line without its newline, or blocks that the file system
promised and never wrote (zeros). Every other damage is LedgerCorrupt.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster.ledger.disk import Disk, reading
from parsimony.errors import LedgerCorrupt, LedgerError, ParsimonyError

_LINE = re.compile(rb'([0-9a-f]{8}) (\{"n":(0|[1-9][0-9]{0,18}),"kind":"([a-z]+)","row":(\{.*\})\})\n')


def encode_line(n: int, kind: str, row: str) -> bytes:
    """One journal line; `row` is ASCII JSON without newlines."""
    body = f'{{"n":{n},"kind":"{kind}","row":{row}}}'.encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(body), body)


@dataclass(frozen=True, slots=True)
class Line:
    """A line whose checksum is right. `row` is its JSON, not parsed yet."""

    n: int
    kind: str
    row: bytes


def parse_line(raw: bytes) -> Line | None:
    """The line, or None when it is not whole or its checksum is wrong."""
    match = _LINE.fullmatch(raw)
    if match is None or int(match[1], 16) != zlib.crc32(match[2]):
        return None
    return Line(int(match[3]), match[4].decode("ascii"), match[5])


def damaged(path: Path, place: str, problem: str) -> LedgerCorrupt:
    """The error for a damaged file, with the way to mend it."""
    mend = f"run `python -m cluster.ledger.mend {path.parent}`: it sets the damaged part aside and keeps the rest"
    return LedgerCorrupt(f"{path}{place}: {problem}; {mend}")


class JournalScan:
    """One pass over the lines of a journal.

    Args:
        first: the number of its first row.
        end: where a closed journal ends, in bytes; nothing after it counts, and all before it must be whole. None for
            a journal that is, or may be, still written: then a torn tail ends the pass.
        after: bytes and rows that an earlier pass has checked; this one goes on after them.

    Attributes, valid after the pass:
        end: bytes up to the end of the last whole line.
        rows: how many lines there were.
        torn: bytes after `end` that are a torn tail.
    """

    def __init__(self, path: Path, *, first: int, end: int | None = None, after: tuple[int, int] = (0, 0)) -> None:
        self._path = path
        self._first = first
        self._closed_at = end
        self.end, self.rows = after
        self.torn = 0

    def __iter__(self) -> Iterator[Line]:
        """The whole lines in order. Raises LedgerCorrupt with file and line, FileNotFoundError when it is gone."""
        with reading(self._path), self._path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(self.end)
            limit = size if self._closed_at is None else self._closed_at
            if size < max(limit, self.end):
                raise damaged(self._path, "", f"the file has {size} bytes where it had {max(limit, self.end)}")
            raws = _bounded(file, limit - self.end)
            for raw in raws:
                line = parse_line(raw)
                if line is None:
                    self._end_with(raw, raws, limit)
                    return
                expected = self._first + self.rows
                if line.n != expected:
                    raise damaged(self._path, f":{self.rows + 1}", f"row {line.n} stands where row {expected} belongs")
                self.rows += 1
                self.end += len(raw)
                yield line

    def _end_with(self, raw: bytes, following: Iterator[bytes], limit: int) -> None:
        """Decide on a bad line: a torn tail is noted, anything else raises."""
        whole = raw.endswith(b"\n")
        unwritten = b"\0" in raw
        for later in following:
            if parse_line(later) is not None:
                raise self._bad_checksum()
            unwritten = unwritten or b"\0" in later
            whole = True
        if self._closed_at is not None or (whole and not unwritten):
            raise self._bad_checksum()
        self.torn = limit - self.end

    def _bad_checksum(self) -> LedgerCorrupt:
        return damaged(self._path, f":{self.rows + 1}", "the line does not match its checksum")


def _bounded(file: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Lines of the first `limit` bytes: what a writer adds meanwhile stays out."""
    offset = 0
    for raw in file:
        if offset + len(raw) > limit:
            raw = raw[: limit - offset]  # noqa: PLW2901 -- the line as it was when the pass began
        if raw:
            yield raw
        offset += len(raw)
        if offset >= limit:
            return


class JournalIndex:
    """Where the rows of each kind are in a journal, after one pass that has checked every line of it.

    Args: as of `JournalScan`. Raises as a pass of it.

    Attributes:
        path: the file.
        counts: kind -> rows.
    """

    def __init__(self, path: Path, *, first: int, end: int | None = None) -> None:
        self.path = path
        self._first = first
        self._spans: dict[str, array[int]] = {}  # kind -> offset, length, offset, length ...
        self._known = (0, 0)  # bytes and rows
        self.counts: Mapping[str, int] = {}
        self.grow(end)

    def grow(self, end: int | None = None) -> None:
        """Take in what was appended since the last pass. Rows keep their places: answers about earlier ones hold.

        Args:
            end: where the journal ends, when it is closed by now.

        Raises:
            LedgerError: lines that were read have gone: a writer whose disk was full has taken them back.
            Otherwise as the first pass.
        """
        offset = self._known[0]
        with reading(self.path):
            size = self.path.stat().st_size if end is None else end
        if offset > size:
            raise LedgerError(f"{self.path}: rows that were read have gone; read the ledger again")
        scan = JournalScan(self.path, first=self._first, end=end, after=self._known)
        for line in scan:
            self._spans.setdefault(line.kind, array("Q")).extend((offset, scan.end - offset))
            offset = scan.end
            self._known = (scan.end, scan.rows)
        self.counts = {kind: len(spans) // 2 for kind, spans in self._spans.items()}

    def rows(self, kind: str, skip: int = 0) -> Iterator[bytes]:
        """The JSON of the rows of a kind after the first `skip`, in order.

        Raises:
            LedgerCorrupt: a line has changed since the first pass.
            FileNotFoundError: the file is gone (a writer has sealed it).
        """
        spans = iter(self._spans.get(kind, array("Q"))[2 * skip :])
        with reading(self.path), self.path.open("rb") as file:
            for offset, length in zip(spans, spans, strict=True):
                file.seek(offset)
                line = parse_line(file.read(length))
                if line is None or line.kind != kind:
                    raise damaged(self.path, f" (byte {offset})", "the line has changed since it was first read")
                yield line.row


class JournalWriter:
    """Appends lines to one new journal file.

    Attributes:
        path: the file.
        first: number of its first row.
        rows, end: rows and bytes that are durable.
    """

    def __init__(self, path: Path, disk: Disk, *, first: int) -> None:
        self.path = path
        self.first = first
        self.rows = 0
        self.end = 0
        self._disk = disk
        self._file = disk.create(path)
        self._clean = True

    def write(self, lines: list[bytes]) -> None:
        """Append lines; on return they are durable. On an error none of them counts, and the call can be repeated.

        After a failed write or fsync nobody knows what is on the disk (the kernel may have dropped the pages and will
        call the next fsync a success), so the file is cut back to what was durable and written anew.
        """
        if not self._clean:
            self._cut_back()
        self._clean = False
        data = b"".join(lines)
        try:
            self._disk.write(self._file, data)
            self._disk.sync(self._file)
        except ParsimonyError:
            with contextlib.suppress(ParsimonyError):
                self._cut_back()  # now rather than then: readers see only what is durable
            raise
        self._clean = True
        self.rows += len(lines)
        self.end += len(data)

    def _cut_back(self) -> None:
        self._disk.truncate(self._file, self.end)
        self._clean = True

    def close(self) -> None:
        """Give the file back; what was not durable is not made so."""
        self._file.close()
