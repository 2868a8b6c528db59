"""The base files of a run: what candidates changed, as it was before. Footprints and scorecards are read off them."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsimony.canonical import digest_bytes
from parsimony.errors import LedgerCorrupt

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """Base files of a run, each content once, compressed: `DIR/base/ab/cdef…` by the SHA-256 of the content."""

    root: Path

    def keep(self, files: Mapping[str, bytes | None]) -> dict[str, str | None]:
        """Store what is not there yet. Returns path -> digest, None where there was no file."""
        return {path: None if data is None else self._keep(data) for path, data in files.items()}

    def _keep(self, data: bytes) -> str:
        digest = digest_bytes(data)
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
            with fresh.open("wb") as out:
                out.write(zlib.compress(data, 6))
                out.flush()
                os.fsync(out.fileno())  # a row of the ledger is about to name it
            fresh.replace(path)
        return digest

    def get(self, digest: str) -> bytes:
        """The content of a digest.

        Raises:
            LedgerCorrupt: it is not there, or not what its name says.
        """
        path = self._path(digest)
        try:
            data = zlib.decompress(path.read_bytes())
        except (OSError, zlib.error) as error:
            raise LedgerCorrupt(f"{path}: a base file of this run cannot be read ({error})") from None
        if digest_bytes(data) != digest:
            raise LedgerCorrupt(f"{path}: is not the base file that its name says")
        return data

    def _path(self, digest: str) -> Path:
        plain = digest.removeprefix("sha256:")
        return self.root / plain[:2] / plain[2:]


def of_task(rows: Iterable[Row], files: BaseFiles) -> dict[str, bytes | None]:
    """All base files that the executions of one task and environment brought, by path."""
    found: dict[str, bytes | None] = {}
    for told in dict.fromkeys(row["base_files"] for row in rows):  # candidates of one task change the same files
        for path, digest in json.loads(told or "{}").items():
            if path not in found:
                found[path] = None if digest is None else files.get(digest)
    return found
