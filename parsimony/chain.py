"""An append-only file of JSON lines in which every line seals all lines before it.

A line is the canonical JSON of `at`, `data`, `digest`, `kind`, `number` and `previous`; `digest` is the SHA-256 of the
digest before it, a line feed and the canonical JSON of the line's own `at`, `data`, `kind` and `number`. So an edited,
removed, added or swapped line breaks the chain where it stands. What a chain alone cannot show is that its last lines
were cut off: beside the file stands its *head* (`NAME.head`: number and digest of the last line), written after a line
is durable, and a file that ends before its head is damaged too.

There is no key in it: who rewrites the file from some line on, and the head with it, leaves a chain that is whole. It
is another chain, though: `Chain.holds` says whether a digest that was written down elsewhere (in a commit, a report) is
still in it.

A line without its line feed is what a crash leaves while it appends. It is mended, and the mend is itself a line.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from parsimony.canonical import canonical_json, digest_bytes
from parsimony.errors import InputError, LedgerCorrupt, LedgerError

GENESIS: Final = digest_bytes(b"parsimony chain 1")
"""What the first line has before it; it names the version of the format."""
MENDED: Final = "chain.mended"
"""Kind of the line that records what was done about a torn tail."""
ADOPTED: Final = "chain.adopted"
"""Kind of the line that records that somebody took over a file without its head."""
KEPT_OF_A_TAIL: Final = 4096
"""Bytes of a torn tail that its mend keeps."""

_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_FIELDS = {"at", "data", "digest", "kind", "number", "previous"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line.

    Attributes:
        number: from 1, without gaps.
        at: when it was appended, ISO 8601 in UTC, by the clock of the machine that did it.
        data: a JSON object, as it reads back.
        previous, digest: `sha256:` and 64 hexadecimal digits.
    """

    number: int
    at: str
    kind: str
    data: Mapping[str, Any]
    previous: str
    digest: str

    @classmethod
    def following(cls, number: int, previous: str, at: str, kind: str, data: Mapping[str, Any]) -> Entry:
        """The entry with this content, sealed."""
        body = canonical_json({"at": at, "data": data, "kind": kind, "number": number})
        digest = "sha256:" + hashlib.sha256(previous.encode("ascii") + b"\n" + body).hexdigest()
        return cls(number, at, kind, data, previous, digest)

    @property
    def line(self) -> bytes:
        """The line with its line feed; the only bytes that stand for this entry."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return canonical_json(fields) + b"\n"


class Chain:
    """A chain in a file, verified when it is opened. Several processes may append to it in turn.

    Entries that others append after `open` are seen from the next `append`, `writing` or `refresh` on.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self.path = path
        self._clock = clock
        self._entries: list[Entry] = []
        self._end = 0
        self._locked = False

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Chain:
        """The chain in `path`; an empty one when nothing is there yet (the first `append` makes the file).

        Raises:
            LedgerCorrupt: a line was edited, removed, added or moved, or the end is gone; names the line.
            LedgerError: the file cannot be read, or not mended.
        """
        chain = cls(path, clock)
        chain.refresh()
        return chain

    @property
    def head(self) -> str:
        """Digest of the last entry, `GENESIS` when there is none. Written down elsewhere, it pins all that is here."""
        return self._entries[-1].digest if self._entries else GENESIS

    @property
    def head_file(self) -> Path:
        """Where the head stands."""
        return self.path.with_name(self.path.name + ".head")

    def __len__(self) -> int:
        return len(self._entries)

    def holds(self, digest: str) -> bool:
        """Whether an entry has this digest."""
        return any(entry.digest == digest for entry in self._entries)

    def entries(self, kind: str | None = None) -> Iterator[Entry]:
        """The entries in their order; only those of a kind when one is given."""
        return (entry for entry in tuple(self._entries) if kind is None or entry.kind == kind)

    def append(self, kind: str, data: Mapping[str, Any]) -> Entry:
        """Add one entry; it is durable when this returns.

        Args:
            kind: lower case letters, digits, `_`, `.` and `-`.
            data: what JSON can hold (no NaN).

        Raises:
            LedgerCorrupt: what others appended meanwhile does not continue this chain.
            LedgerError: the file cannot be written; nothing was added.
        """
        return self.extend([(kind, data)])[0]

    def extend(self, items: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Entry]:
        """Add several entries with one write: all of them, or none. Raises as `append`."""
        with self.writing():
            added: list[Entry] = []
            at = self._clock().astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
            for kind, data in items:
                if not _KIND.fullmatch(kind):
                    raise ValueError(f"{kind!r} is no kind of entry")
                previous = added[-1].digest if added else self.head
                plain = json.loads(canonical_json(data))
                added.append(Entry.following(len(self) + len(added) + 1, previous, at, kind, plain))
            if added:
                self._write(added)
            return added

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock, with all entries of others read: what is checked inside still holds when it is appended."""
        if self._locked:
            yield
            return
        with _locked(self._create(), fcntl.LOCK_EX):
            self._locked = True
            try:
                self._read(mend=True)
                yield
            finally:
                self._locked = False

    def refresh(self) -> None:
        """Read and verify what was appended since. Raises as `open`."""
        if not self.path.exists() and not self.head_file.exists():
            return
        if not self.path.exists():
            raise self._corrupt(1, "the file is gone, and its head is there")
        with self._reported():
            handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        with _locked(handle, fcntl.LOCK_SH):
            torn = self._read(mend=False)
        if torn:
            with self.writing():  # whose reading mends it
                pass

    @classmethod
    def adopt(cls, path: Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Chain:
        """Like `open`, for a file whose head is lost (it was moved alone): what is there is taken as complete.

        An entry records it, unless the head is there after all.
        """
        chain = cls(path, clock)
        if chain.head_file.exists() or not path.exists():
            chain.refresh()
            return chain
        with _locked(chain._create(), fcntl.LOCK_EX):
            chain._locked = True
            try:
                chain._read(mend=True, headless=True)
                chain.append(ADOPTED, {"entries": len(chain), "head": chain.head})
            finally:
                chain._locked = False
        return chain

    def _create(self) -> int:
        """The file, opened to be written; made when it is not there."""
        fresh = not self.path.exists()
        if fresh and self.head_file.exists():
            raise self._corrupt(1, "the file is gone, and its head is there")
        folder = self.path.parent
        if not folder.is_dir():
            raise InputError("there is no such folder", mend="make it, or name another file", file=str(folder))
        with self._reported():
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if fresh:
            _sync_folder(folder)
        return handle

    def _read(self, *, mend: bool, headless: bool = False) -> bytes:
        """Verify what stands after what is known. Returns the torn tail, b"" once it is mended. With the lock held."""
        with self._reported():
            data = self.path.read_bytes()
        if len(data) < self._end:
            raise self._corrupt(len(self), "lines that were there are gone")
        *lines, tail = data[self._end :].split(b"\n")
        for line in lines:
            self._entries.append(self._parse(line + b"\n"))
            self._end += len(line) + 1
        if not headless:
            self._check_head(tail)
        if tail and mend:
            self._mend(tail)
            tail = b""
        return tail

    def _parse(self, raw: bytes) -> Entry:
        """The next entry. Its bytes must be the very ones that `Entry.line` gives: nothing is left to edit."""
        number = len(self) + 1
        try:
            fields = json.loads(raw)
            if not isinstance(fields, dict) or set(fields) != _FIELDS or not isinstance(fields["data"], dict):
                raise ValueError
            entry = Entry.following(number, self.head, fields["at"], fields["kind"], fields["data"])
        except (ValueError, TypeError, RecursionError):
            raise self._corrupt(number, "this is no line of a ledger") from None
        if fields["number"] != number:
            raise self._corrupt(number, f"line {fields['number']} stands here: lines were removed, added or moved")
        if fields["previous"] != self.head:
            raise self._corrupt(number, "it does not follow the line before: one of the two was changed")
        if entry.line != raw:
            raise self._corrupt(number, "the line was changed after it was written")
        return entry

    def _check_head(self, tail: bytes) -> None:
        """The last line that was durable once must be there. Later lines may stand after it (a crash in between)."""
        try:
            number, digest = self.head_file.read_text(encoding="utf-8").split()
            position = int(number)
        except FileNotFoundError:
            if len(self) <= 1:
                return  # a crash after the very first line
            problem = f"{self.head_file.name} is not beside it, so that nobody knows whether its last lines are there"
            raise self._corrupt(len(self), problem, adopt=True) from None
        except ValueError:
            raise self._corrupt(len(self), f"{self.head_file.name} holds no number and digest") from None
        if position == len(self) + 1 and tail and self._continues(tail, digest):
            return
        if position > len(self):
            raise self._corrupt(len(self) + 1, f"the file ends here and had {position} lines")
        if position < 1 or self._entries[position - 1].digest != digest:
            raise self._corrupt(max(position, 1), f"it is not the line that {self.head_file.name} names")

    def _continues(self, tail: bytes, digest: str) -> bool:
        """Whether a tail is the whole next line of that digest, less its line feed."""
        try:
            return self._parse(tail + b"\n").digest == digest
        except LedgerCorrupt:
            return False

    def _mend(self, tail: bytes) -> None:
        """A tail that is a whole line but for its line feed gets one; any other is cut off. Both are recorded."""
        try:
            whole: Entry | None = self._parse(tail + b"\n")
        except LedgerCorrupt:
            whole = None
        record = {
            "done": "cut off" if whole is None else "line feed added",
            "bytes": len(tail),
            "sha256": digest_bytes(tail),
            "tail_base64": base64.b64encode(tail[:KEPT_OF_A_TAIL]).decode("ascii") if whole is None else None,
        }
        if whole is not None:
            self._write([whole])  # over the very same bytes
        else:
            os.truncate(self.path, self._end)
        self.append(MENDED, record)

    def _write(self, added: list[Entry]) -> None:
        """Append lines, then the head. On an error the file is as before. With the lock held."""
        data = b"".join(entry.line for entry in added)
        try:
            with self.path.open("r+b", buffering=0) as file:
                file.seek(self._end)
                written = 0
                while written < len(data):
                    written += file.write(data[written:]) or 0
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                os.truncate(self.path, self._end)
            raise LedgerError(f"{self.path}: cannot be written ({error.strerror}); nothing was added") from None
        self._entries += added
        self._end += len(data)
        fresh = self.head_file.with_name(f".{self.head_file.name}.{os.getpid()}.new")
        with fresh.open("w", encoding="ascii") as head:
            head.write(f"{len(self)} {self.head}\n")
            head.flush()
            os.fsync(head.fileno())
        fresh.replace(self.head_file)
        _sync_folder(self.path.parent)

    def _corrupt(self, line: int, problem: str, *, adopt: bool = False) -> LedgerCorrupt:
        mend = "put back a copy of the file and of its head from before that"
        if adopt:
            mend = (
                f"put it back, or say that the file is complete: `parsimony sets verify --adopt --ledger {self.path}`"
            )
        return LedgerCorrupt(f"{self.path}:{line}: {problem}; {mend}")

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror or error}; check the path and its permissions") from None


@contextlib.contextmanager
def _locked(handle: int, how: int) -> Iterator[None]:
    """Hold the kernel's lock on an open file; it is closed at the end."""
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
