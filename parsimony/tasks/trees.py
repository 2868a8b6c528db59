"""Base trees that a task brings with it: a directory or a tar archive becomes the same bytes on every machine.

What goes in: regular files (mode 644 or 755) and symbolic links that stay in the tree. Like git, a tree knows no empty
directories, owners or times.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from parsimony.errors import InputError

LARGEST_TREE = 512 << 20  # bytes; a tree lives in memory with its task
BY_PRODUCTS = frozenset({"__pycache__", ".pytest_cache"})  # of running tests in place; not part of a directory's tree


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file (`content`) or a link (`target`)."""

    content: bytes = b""
    target: str | None = None
    executable: bool = False


class Trees:
    """The trees that lie beside a task file. One that several tasks name is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._read: dict[Path, bytes] = {}

    def read(self, name: str) -> bytes:
        """The tree at the path `name`, relative to the folder, as an uncompressed tar archive.

        Raises:
            InputError: it is not there, leads out of the folder, cannot be read, or holds what no tree may hold.
        """
        path = self._resolve(name)
        if path not in self._read:
            try:
                entries = dict(_from_directory(path)) if path.is_dir() else _from_archive(path)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror or error}", mend="check its permissions") from None
            except (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"is a damaged archive: {error}", mend="pack it again") from None
            _refuse_clashes(entries)
            self._read[path] = _pack(entries)
        return self._read[path]

    def _resolve(self, name: str) -> Path:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise InputError(f"is {name[:60]!r}", mend="it must be a path below the folder of the task file")
        try:
            path = (self._folder / parts).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle, to Python 3.12
            raise InputError(f"there is no {name[:60]!r}", mend=f"put it into {self._folder}") from None
        if not path.is_relative_to(self._folder):
            raise InputError(f"{name[:60]!r} leads out of the folder through a link", mend="copy it into the folder")
        return path


def _from_directory(root: Path) -> Iterator[tuple[str, _Entry]]:
    room = LARGEST_TREE
    for folder, folders, files in os.walk(root, onerror=_raise):
        folders[:] = [name for name in folders if name not in BY_PRODUCTS]
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            inside = _checked_name(path.relative_to(root).as_posix())
            if stat.S_ISLNK(status.st_mode):
                yield inside, _link(inside, str(path.readlink()))
            elif stat.S_ISREG(status.st_mode):
                room = _take(room, status.st_size)
                yield inside, _Entry(path.read_bytes(), executable=bool(status.st_mode & stat.S_IXUSR))
            elif not stat.S_ISDIR(status.st_mode):
                raise _refused(inside, "is neither a file, a directory nor a link")


def _raise(error: OSError) -> None:
    raise error


def _from_archive(path: Path) -> dict[str, _Entry]:
    if not path.name.endswith((".tar", ".tar.gz", ".tgz")):
        raise InputError("is neither a directory nor a .tar, .tar.gz or .tgz", mend="pack it with tar")
    room = LARGEST_TREE
    entries: dict[str, _Entry] = {}
    with tarfile.open(path, "r:*", encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            if member.isdir():
                continue
            name = _checked_name(member.name)
            if member.issym():
                entries[name] = _link(name, member.linkname)
            elif member.islnk():
                entries[name] = _linked(name, _checked_name(member.linkname), entries)
                room = _take(room, len(entries[name].content))
            elif member.isreg():
                room = _take(room, member.size)
                content = archive.extractfile(member)
                data = content.read() if content else b""
                if len(data) != member.size:
                    raise InputError("is a damaged archive: it ends in the middle of a file", mend="pack it again")
                entries[name] = _Entry(data, executable=bool(member.mode & stat.S_IXUSR))
            else:
                raise _refused(name, "is neither a file, a directory nor a link")
    return entries


def _linked(name: str, first: str, entries: Mapping[str, _Entry]) -> _Entry:
    """The file that a hard link names: an archive has it before its other names."""
    if first not in entries or entries[first].target is not None:
        raise _refused(name, "is another name of a file that is not there")
    return entries[first]


def _take(room: int, size: int) -> int:
    if size > room:
        raise InputError(f"holds more than {LARGEST_TREE >> 20} MiB", mend="put large files into the image")
    return room - size


def _checked_name(name: str) -> str:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or "\0" in name:
        raise _refused(name, "leads out of the tree")
    if any(part.lower() == ".git" for part in parts.parts):
        raise _refused(name, "belongs to a git repository, which a base tree may not bring")
    return parts.as_posix()


def _link(name: str, target: str) -> _Entry:
    """A link that surely stays in the tree: up no further than its own depth, and up only at its beginning (through
    another link, `a/..` is not where it seems to be)."""
    parts = PurePosixPath(target)
    up = next((index for index, part in enumerate(parts.parts) if part != ".."), len(parts.parts))
    depth = len(PurePosixPath(name).parts) - 1
    if not target or parts.is_absolute() or up > depth or ".." in parts.parts[up:] or "\0" in target:
        raise _refused(name, f"is a link to {target[:60]!r}, which may lead out of the tree")
    return _Entry(target=target)


def _refuse_clashes(entries: Mapping[str, _Entry]) -> None:
    """No file or link may be the folder of another entry."""
    for name in entries:
        for parent in PurePosixPath(name).parents:
            if parent.as_posix() in entries:
                raise _refused(name, f"lies in {parent.as_posix()!r}, which is no directory")


def _refused(name: str, why: str) -> InputError:
    return InputError(f"{name[:80]!r} {why}", mend="take it out of the tree")


def _pack(entries: Mapping[str, _Entry]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(
        fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for name in sorted(entries, key=os.fsencode):
            entry = entries[name]
            member = tarfile.TarInfo(name)
            if entry.target is not None:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.target, 0o777
            else:
                member.size, member.mode = len(entry.content), 0o755 if entry.executable else 0o644
            archive.addfile(member, io.BytesIO(entry.content))
    return packed.getvalue()
