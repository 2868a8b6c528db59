"""A folder of downloads, each under the SHA-256 of its URL. A file there is whole: it came by rename.

Beside the file `NAME` of a URL there may be `NAME.absent` (the server said that there is nothing), and while a download
goes on `NAME.part` with what has come so far and `NAME.part.tag`, the server's name for that version of the content.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from parsimony.errors import InputError


def name_of(url: str) -> str:
    """The name of a URL's file: 64 hex digits."""
    return hashlib.sha256(url.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache in a folder, which is made when something is first stored."""

    folder: Path

    def path(self, url: str) -> Path:
        """Where the content of a URL is, if it is here."""
        return self.folder / name_of(url)

    def read(self, url: str) -> bytes | None:
        """The content, or None where it is not here.

        Raises:
            InputError: it is here and cannot be read.
        """
        try:
            return self.path(url).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unusable(self.folder, error) from None

    def has(self, url: str) -> bool:
        """Whether the content is here."""
        return self.path(url).is_file()

    def is_absent(self, url: str) -> bool:
        """Whether the server was asked and had nothing."""
        return self._beside(url, ".absent").exists()

    def store(self, url: str, data: bytes) -> None:
        """Put content in, by rename; it replaces what is there.

        Raises:
            InputError: the folder cannot be written.
        """
        with self.partial(url) as part:
            part.restart(None)
            part.file.write(data)
            part.finish()

    def mark_absent(self, url: str) -> None:
        """Remember that there is nothing at a URL.

        Raises:
            InputError: the folder cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._beside(url, ".absent").touch()
        except OSError as error:
            raise _unusable(self.folder, error) from None

    @contextmanager
    def partial(self, url: str) -> Iterator[Partial]:
        """The download of a URL as far as it has come, for this process alone while the context lasts.

        Faults of the disk within the context are errors of the cache; those of a connection must not leave it.

        Raises:
            InputError: the folder cannot be written.
        """
        part = self._beside(url, ".part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = _locked(part)
        except OSError as error:
            raise _unusable(self.folder, error) from None
        with file:
            try:
                yield Partial(self, url, file, part)
            except OSError as error:
                raise _unusable(self.folder, error) from None

    def _beside(self, url: str, suffix: str) -> Path:
        return self.folder / f"{name_of(url)}{suffix}"


@dataclass(slots=True)
class Partial:
    """One download on its way: what came so far, and how it becomes the content."""

    cache: Cache
    url: str
    file: BinaryIO
    path: Path

    @property
    def received(self) -> int:
        """Bytes that are here."""
        return self.file.seek(0, os.SEEK_END)

    @property
    def tag(self) -> str | None:
        """The server's name for the version of these bytes; None where it gave none, so that nothing can be added."""
        try:
            return self._tag_path.read_text(encoding="ascii") or None
        except (OSError, UnicodeDecodeError):
            return None

    @property
    def _tag_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.tag")

    def restart(self, tag: str | None) -> None:
        """Throw away what came; from here on bytes of version `tag` are written."""
        self.file.truncate(0)
        self.file.seek(0)
        if tag is not None and tag.isascii():
            self._tag_path.write_text(tag, encoding="ascii")
        else:
            self._tag_path.unlink(missing_ok=True)

    def finish(self) -> None:
        """What came is all there is: it becomes the content, durably."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self._tag_path.unlink(missing_ok=True)
        self.path.replace(self.cache.path(self.url))
        self.cache._beside(self.url, ".absent").unlink(missing_ok=True)
        with suppress(OSError):  # a file system without it keeps the rename in its own time
            folder = os.open(self.cache.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _locked(part: Path) -> BinaryIO:
    """The partial file, locked. One whose download another process finished while we waited has been renamed: that is
    content now, and must not be written to."""
    while True:
        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_ino == part.stat().st_ino:
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()


def _unusable(folder: Path, error: OSError) -> InputError:
    mend = "check its permissions and the room on its disk, or name another folder with --cache"
    return InputError(f"the cache cannot be used: {error.strerror or error}", mend=mend, file=str(folder))
