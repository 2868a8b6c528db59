"""Every change that the ledger makes to files: durable, counted in few verbs, and with errors of ours.

The verbs are one class so that tests can stand in for a disk that fills up or a machine that stops between any two of
them. Reading needs no such care and opens files directly.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Final

from parsimony.errors import DiskFull, LedgerError

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a disk, or of a quota, that is full."""

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_RETRY_AFTER_S = 30.0


@contextlib.contextmanager
def reported(path: Path) -> Iterator[None]:
    """OSErrors within become DiskFull (no space, no quota) or LedgerError, naming `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull(f"no space left for {path}", retry_after=_RETRY_AFTER_S) from error
        raise LedgerError(f"{path}: {error.strerror or error}") from error


@contextlib.contextmanager
def reported_below(root: Path) -> Iterator[None]:
    """OSErrors within become DiskFull or LedgerError if they are about files below `root`; every full disk does."""
    try:
        yield
    except OSError as error:
        named = Path(str(error.filename or root))
        if error.errno not in FULL and not named.is_relative_to(root):
            raise
        with reported(named):
            raise


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """OSErrors within become LedgerError, naming `path`; but FileNotFoundError, which a reader has an answer to."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror or error}") from error


class Disk:
    """The real thing. All methods raise DiskFull or LedgerError."""

    def make_directory(self, path: Path) -> None:
        """Make a directory with its parents, durably."""
        with reported(path):
            if not path.is_dir():
                path.mkdir(parents=True, exist_ok=True)
                self.sync_directory(path.parent)

    def create(self, path: Path) -> FileIO:
        """A new, unbuffered file. LedgerError when the name is taken: a name has one writer, ever."""
        with reported(path):
            return FileIO(path, "xb")

    def write(self, file: FileIO, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at the file's position."""
        with reported(Path(str(file.name))):
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]

    def sync(self, file: FileIO) -> None:
        """On return the file's bytes survive a power cut."""
        with reported(Path(str(file.name))):
            os.fsync(file.fileno())

    def truncate(self, file: FileIO, size: int) -> None:
        """Cut the file to `size` and go on writing there."""
        with reported(Path(str(file.name))):
            file.truncate(size)
            file.seek(size)

    def rename(self, old: Path, new: Path) -> None:
        """Move within a directory, replacing."""
        with reported(new):
            old.replace(new)

    def publish(self, old: Path, new: Path) -> None:
        """Move within a directory, never replacing: FileExistsError when the name is taken.

        By a hard link, which is exclusive on the servers of network file systems too. Where there are none, by a look
        and a rename.
        """
        with reported(new):
            try:
                self.link(old, new)
            except FileExistsError:
                taken = True
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                taken = new.exists()
                if not taken:
                    old.rename(new)
            else:
                taken = False
        if taken:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        self.discard([old])

    def link(self, old: Path, new: Path) -> None:
        """A second name for a file. Raises OSError."""
        os.link(old, new)

    def sync_directory(self, path: Path) -> None:
        """On return the names in the directory survive a power cut."""
        with reported(path):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def discard(self, paths: Sequence[Path]) -> None:
        """Remove files that nothing refers to any more. Best effort: the next writer sweeps up what stays."""
        for path in paths:
            with contextlib.suppress(OSError):
                path.unlink()
