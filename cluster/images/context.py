"""Build contexts as tar archives that are the same bytes every time."""

from __future__ import annotations

import io
import tarfile
import tempfile
from typing import IO, BinaryIO, Final, cast

IN_MEMORY: Final = 64 << 20


class Context:
    """A tar archive for an engine's builder; what is large goes to disk. Times, owners and order are fixed."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - `close` closes it
        self._archive = tarfile.open(fileobj=self._file, mode="w", format=tarfile.GNU_FORMAT)  # noqa: SIM115

    def add(self, path: str, data: bytes, *, executable: bool = False) -> None:
        """Add a file."""
        member = tarfile.TarInfo(path)
        member.size, member.mode = len(data), 0o755 if executable else 0o644
        self._archive.addfile(member, io.BytesIO(data))

    def folder(self, path: str) -> None:
        """Add a folder, which may stay empty."""
        member = tarfile.TarInfo(path)
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        self._archive.addfile(member)

    def finish(self) -> BinaryIO:
        """The archive, at its beginning."""
        self._archive.close()
        self._file.seek(0)
        return cast("BinaryIO", self._file)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
