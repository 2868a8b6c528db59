"""Archives of a cache: a `.tar.gz` of `manifest.json` and then `cache/SHA256-OF-URL` for each of its entries.

An archive comes from somebody else. It is read as a stream, never extracted by a library: only plain files are taken,
in the order and with the sizes that the manifest states, so that no name leads outside, no link is followed, and
memory and disk are bounded by what was announced. A stream that goes on after its last file is refused.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from parsimony import strict_json
from parsimony.artifacts.cache import name_of
from parsimony.errors import InputError
from parsimony.measurements import required_text
from parsimony.tasks.fields import Fields

FORMAT: Final = "parsimony-cache-snapshot-v1"
MAX_MANIFEST: Final = 64 * 2**20
MAX_ENTRY: Final = 2**30
MAX_TOTAL: Final = 16 * 2**30
"""Bytes, decompressed, that an archive may hold unless its reader allows more."""

_BLOCK: Final = tarfile.BLOCKSIZE
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MEND: Final = "make the snapshot again, or get it from where it was made"


@dataclass(frozen=True, slots=True)
class Entry:
    """One URL whose content is in an archive; `sha256` is that of the content, hex."""

    url: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """Its name in the archive."""
        return f"cache/{name_of(self.url)}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive states to hold.

    Attributes:
        results_sha256: {path as it was typed: SHA-256 of the results file that the content is for}.
        absent: URLs at which there was nothing.
    """

    entries: tuple[Entry, ...]
    results_sha256: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The manifest file."""
        return {
            "entries": [{"sha256": one.sha256, "size": one.size, "url": one.url} for one in self.entries],
            "format": FORMAT,
            "results_sha256": dict(self.results_sha256),
            **({"absent": list(self.absent)} if self.absent else {}),
        }

    @classmethod
    def from_json(cls, data: bytes, most: int) -> Manifest:
        """Read a manifest file.

        Raises:
            InputError: it is none, or it announces more than `most` bytes.
        """
        value = strict_json.loads(data)
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise InputError(f"is no snapshot of format {FORMAT}", mend=_MEND, field="format")
        fields, listed, results = Fields(value), value.get("entries"), value.get("results_sha256", {})
        if not isinstance(listed, list):
            raise fields.wrong("entries", "a list")
        if not isinstance(results, dict) or not all(_is_digest(told) for told in results.values()):
            raise fields.wrong("results_sha256", "an object of SHA-256 digests by path")
        entries = tuple(_entry(one, number) for number, one in enumerate(listed))
        if len({one.url for one in entries}) != len(entries):
            raise InputError("names a URL twice", mend=_MEND, field="entries")
        if (total := sum(one.size for one in entries)) > most:
            mend = "it may be a decompression bomb; allow more with --max-bytes if you trust it"
            raise InputError(f"announces {total} bytes, more than {most}", mend=mend, field="entries")
        return cls(entries, results, fields.names("absent") or ())


def _entry(value: object, number: int) -> Entry:
    within = f"entries[{number}]"
    if not isinstance(value, dict):
        raise InputError.wrong(within, value, "an object of url, sha256 and size")
    fields = Fields(value, within)
    url, digest, size = required_text(fields, "url"), fields.text("sha256"), fields.integer("size", most=MAX_ENTRY)
    if digest is None or not _is_digest(digest):
        raise fields.wrong("sha256", "64 hex digits")
    if size is None:
        raise fields.wrong("size", "a number of bytes")
    return Entry(url, digest, size)


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def write(file: BinaryIO, manifest: Manifest, contents: Iterable[bytes]) -> None:
    """Write an archive. The same manifest and contents give the same bytes at any time.

    Args:
        contents: of the entries, in their order.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        _add(archive, "manifest.json", json.dumps(manifest.to_json(), sort_keys=True).encode())
        for entry, content in zip(manifest.entries, contents, strict=True):
            _add(archive, entry.name, content)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = 0o644
    archive.addfile(info, io.BytesIO(content))


def read(path: Path, *, most: int = MAX_TOTAL) -> Iterator[Manifest | tuple[Entry, bytes]]:
    """The manifest of an archive, and then each entry with its content, verified.

    Raises:
        InputError: it is no archive, or holds anything else than its manifest says; names the entry.
    """
    try:
        with gzip.open(path, "rb") as stream:
            yield from _members(stream, most)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InputError(problem, mend=_MEND, file=str(path)) from None
    except InputError as error:
        raise error.at(file=str(path)) from None


def _members(stream: gzip.GzipFile, most: int) -> Iterator[Manifest | tuple[Entry, bytes]]:
    manifest = Manifest.from_json(_member(stream, "manifest.json", MAX_MANIFEST), most)
    yield manifest
    for entry in manifest.entries:
        content = _member(stream, entry.name, entry.size)
        if len(content) != entry.size or hashlib.sha256(content).hexdigest() != entry.sha256:
            raise InputError("is not what the manifest says", mend=_MEND, field=entry.url)
        yield entry, content
    # Two blocks of zeros, and padding up to a record; a stream of zeros without an end is a bomb as well.
    rest = stream.read(2 * tarfile.RECORDSIZE + 1)
    if len(rest) > 2 * tarfile.RECORDSIZE or rest.strip(b"\0"):
        raise InputError("holds more than its manifest says", mend=_MEND)


def _member(stream: gzip.GzipFile, name: str, most: int) -> bytes:
    """The content of the next member, which must be a plain file of this name and at most so many bytes."""
    header = _exactly(stream, _BLOCK, name)
    info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
    if info.name != name or info.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
        raise InputError(f"has {ascii(info.name)[:80]} where {name} should be", mend=_MEND)
    if not 0 <= info.size <= most:
        raise InputError(f"has {info.size} bytes where at most {most} should be", mend=_MEND, field=name)
    content = _exactly(stream, info.size, name)
    _exactly(stream, -info.size % _BLOCK, name)
    return content


def _exactly(stream: gzip.GzipFile, size: int, name: str) -> bytes:
    """So many bytes; what is announced and not there takes no memory."""
    content = bytearray()
    while len(content) < size:
        chunk = stream.read(min(size - len(content), 2**20))
        if not chunk:
            raise InputError("ends too early", mend=_MEND, field=name)
        content += chunk
    return bytes(content)
