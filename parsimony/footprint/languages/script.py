"""The tracks of JavaScript and TypeScript: units by the official compiler, in one Node process for all files."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path, PurePosixPath

from parsimony.errors import InputError
from parsimony.footprint.languages.lineprocess import LineProcess
from parsimony.footprint.languages.remote import parse_both
from parsimony.footprint.tracks import Sequence, SequenceTrack
from parsimony.measurements.tracks import pinned_parsers

MODULES_VARIABLE = "PARSIMONY_NODE_MODULES"
"""Names the folder that holds the package `typescript`."""

_TRACK = "typescript-compiler-units-v1"
_MEMORY_MEBIBYTES = 2048
_MEND = f"run `make node`, or name a node_modules folder that has it in {MODULES_VARIABLE}"


@dataclass(frozen=True, slots=True)
class ScriptTrack(SequenceTrack):
    """A track whose grammar depends on the suffix of the file: `<T>x` is a cast in .ts and markup in .tsx."""

    def dialect(self, path: str) -> SequenceTrack:
        """The track for files that are named like this one."""
        name = "file" + PurePosixPath(path).suffix
        return replace(self, parse=partial(_parse_both, name))


def javascript() -> ScriptTrack:
    """The track of repositories whose implementation is JavaScript; it also takes files of TypeScript."""
    return _track("javascript", "file.js")


def typescript() -> ScriptTrack:
    """The track of repositories whose implementation is TypeScript; it also takes files of JavaScript."""
    return _track("typescript", "file.ts")


def _track(language: str, name: str) -> ScriptTrack:
    wanted = pinned_parsers(language)["typescript"]
    _place(wanted)
    return ScriptTrack(_TRACK, language, f"typescript {wanted}", partial(_parse_both, name))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where Node and its packages are."""

    node: str
    modules: Path


def _place(wanted: str) -> _Place:
    """Where the compiler is.

    Raises:
        InputError: Node or the compiler is not there, or has another version than the track.
    """
    node = shutil.which("node")
    if node is None:
        raise InputError("Node.js is not installed (no `node` on PATH)", mend="install Node.js 18 or later")
    for folder in _folders():
        found = _version(folder)
        if found is None:
            continue
        if found != wanted:
            raise InputError(
                f"typescript {found} is installed, but the track {_TRACK} is that of {wanted}",
                mend=_MEND,
                file=str(folder),
            )
        return _Place(node, folder)
    raise InputError(f"the package typescript {wanted} is not installed for Node.js", mend=_MEND)


def _folders() -> Iterator[Path]:
    named = os.environ.get(MODULES_VARIABLE)
    if named:
        yield Path(named)
        return
    yield Path(sys.prefix, "node", "node_modules")
    yield from map(Path, filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep)))


@lru_cache
def _version(folder: Path) -> str | None:
    try:
        package = json.loads((folder / "typescript" / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    found = package.get("version") if isinstance(package, dict) else None
    return found if isinstance(found, str) else None


@lru_cache
def _script() -> Path:
    """The program for Node as a file, which it is not where the package is imported from an archive."""
    files = ExitStack()
    atexit.register(files.close)
    return files.enter_context(resources.as_file(resources.files(__package__) / "node" / "script_units.cjs"))


def _start() -> subprocess.Popen[bytes]:
    place = _place(pinned_parsers("typescript")["typescript"])
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return subprocess.Popen(
        [place.node, f"--max-old-space-size={_MEMORY_MEBIBYTES}", str(_script()), str(place.modules.resolve())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=inherited,
    )


@lru_cache
def _process() -> LineProcess:
    return LineProcess(_start)


def _parse_both(name: str, before: str, after: str, /, *, tokens: bool) -> tuple[Sequence, Sequence]:
    return parse_both(_process(), {"name": name, "sides": [before, after], "tokens": tokens})
