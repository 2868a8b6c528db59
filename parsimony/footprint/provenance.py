"""What made a measurement: the version and the bytes of the analyzer, the parser, the interpreter."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable

ANALYZER_VERSION = "1.0.0"
"""Changes whenever any count can."""

_ROOMS = ("footprint", "patches", "scope.py", "errors.py")
"""What decides counts, relative to the package."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made a record.

    Attributes:
        analyzer_source_sha256: of the analyzer's own source files as they run here, from a checkout or a wheel alike.
        parser: the parser of the track and its version.
        python_version: of the running interpreter, such as "3.12.1".
    """

    analyzer_version: str
    analyzer_source_sha256: str
    track: str
    language: str
    parser: str
    python_version: str


def provenance(track: str, language: str, parser: str) -> Provenance:
    """The provenance of what is measured now."""
    return Provenance(ANALYZER_VERSION, source_sha256(), track, language, parser, platform.python_version())


@lru_cache(maxsize=1)
def source_sha256() -> str:
    """SHA-256 over name NUL content NUL of every source file of the analyzer, sorted by name.

    The files are read as resources of the package, so that the digest is there, and the same, where it is installed
    from a wheel.
    """
    digest = hashlib.sha256()
    package = resources.files("parsimony")
    found = {name: file for room in _ROOMS for name, file in _sources(package / room, room)}
    for name in sorted(found):
        digest.update(name.encode() + b"\0" + found[name].read_bytes() + b"\0")
    return digest.hexdigest()


def _sources(place: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    if place.is_file():
        yield name, place
        return
    for item in place.iterdir():
        if item.is_dir() or item.name.endswith((".py", ".cjs")):
            yield from _sources(item, f"{name}/{item.name}")
