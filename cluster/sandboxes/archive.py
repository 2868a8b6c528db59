"""Inbox and outbox as tar streams: written from memory in one go, read under a cap and with no trust in names."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from parsimony.errors import PermanentError

MAX_ENTRIES: Final = 20_000
"""How many entries of an outbox are looked at."""

_BUFFER: Final = 1 << 18


def checked_inbox(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The inbox with normal paths.

    Raises:
        PermanentError: a path is absolute, empty, leaves the inbox, holds a NUL, is there twice, or names both a file
            and a folder.
    """
    checked: dict[str, bytes] = {}
    for name, data in files.items():
        path = PurePosixPath(name)
        if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name or str(path) in checked:
            raise PermanentError(f"the inbox cannot hold a file at {name!r}")
        checked[str(path)] = data
    for folder in folders_of(checked):
        if folder in checked:
            raise PermanentError(f"the inbox cannot hold {folder!r} as a file and as a folder")
    return checked


def folders_of(files: Iterable[str]) -> list[str]:
    """Every folder above `files`, parents first."""
    return sorted({str(parent) for name in files for parent in PurePosixPath(name).parents if parent.parts})


def pack(files: Mapping[str, bytes], folders: Mapping[str, int]) -> bytes:
    """A tar archive owned by root.

    Args:
        files: path -> content; mode 644, 755 for what starts with `#!`.
        folders: path -> mode, parents first.
    """
    now = int(time.time())
    parts: list[bytes] = []
    for name, mode in folders.items():
        parts.append(_header(name, now, mode, folder=True))
    for name, data in files.items():
        parts += (_header(name, now, 0o755 if data.startswith(b"#!") else 0o644, size=len(data)), data)
        parts.append(bytes(-len(data) % tarfile.BLOCKSIZE))
    parts.append(bytes(2 * tarfile.BLOCKSIZE))
    return b"".join(parts)


def _header(name: str, mtime: int, mode: int, *, size: int = 0, folder: bool = False) -> bytes:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE if folder else tarfile.REGTYPE
    info.mode, info.mtime, info.size, info.uname, info.gname = mode, mtime, size, "root", "root"
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


@dataclass(slots=True)
class Outbox:
    """What was read: path relative to the outbox -> content, and plain words on what was left out."""

    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class OutboxCap:
    """Counts what an outbox holds and says when enough was read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0
        self._entries = 0

    def admits(self, size: int) -> bool:
        """Whether an entry of `size` bytes still fits; counts it."""
        self._entries += 1
        self._bytes += size
        return self._bytes <= self._limit and self._entries <= MAX_ENTRIES

    @property
    def note(self) -> str:
        """What to say of an outbox that was cut."""
        return f"the outbox was cut: more than {self._limit} bytes or {MAX_ENTRIES} entries"


def unpack(chunks: Iterable[bytes], limit: int) -> Outbox:
    """Read a tar stream whose first path component is the outbox itself; stops reading at the cap.

    Only regular files count (a hard link counts as the file that it names). Links, devices and names that would leave
    the outbox are passed over with a note.

    Args:
        chunks: the stream, in pieces of any size.
        limit: bytes of content in all.

    Raises:
        tarfile.TarError, EOFError: the stream broke off or is no tar.
    """
    outbox, cap = Outbox(), OutboxCap(limit)
    passed_over: list[str] = []
    stream = _Chunks(chunks)
    with tarfile.open(fileobj=stream, mode="r|", bufsize=_BUFFER, errors="surrogateescape") as archive:
        for member in archive:
            archive.members = []  # type: ignore[attr-defined]  # tarfile keeps every header otherwise
            if not cap.admits(member.size if member.isreg() else 0):
                outbox.notes.append(cap.note)
                break
            name = _inner(member.name)
            if name is None:
                if not member.isdir():
                    passed_over.append(member.name)
            elif member.isreg():
                source = archive.extractfile(member)
                outbox.files[name] = source.read() if source is not None else b""
            elif member.islnk() and (target := _inner(member.linkname)) in outbox.files:
                outbox.files[name] = outbox.files[target]
            elif not member.isdir():
                passed_over.append(name)
        else:
            # tarfile takes a stream that broke off between two entries for a whole one.
            if stream.drained_bytes() < archive.offset + tarfile.BLOCKSIZE:
                raise EOFError("the archive breaks off")
    outbox.notes += passed_over_note(passed_over)
    return outbox


def passed_over_note(names: list[str]) -> list[str]:
    """One note on what in an outbox is no regular file; none when everything is."""
    if not names:
        return []
    shown = ", ".join(repr(name) for name in sorted(names)[:5])
    return [f"{len(names)} in the outbox not read, being no regular files: {shown}"]


def _inner(name: str) -> str | None:
    parts = PurePosixPath(name).parts[1:]
    return None if not parts or ".." in parts or name.startswith("/") else str(PurePosixPath(*parts))


class _Chunks(io.RawIOBase):
    """A file of what an iterator yields."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._rest = memoryview(b"")
        self._bytes = 0

    def drained_bytes(self) -> int:
        """How long the stream was; reads it to its end."""
        while self.read(_BUFFER):
            pass
        return self._bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
            self._bytes += len(chunk)
        size = min(len(target), len(self._rest))
        target[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
