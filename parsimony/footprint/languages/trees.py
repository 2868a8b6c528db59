"""The tracks whose parser is tree-sitter: Go by the published rules, Java, Rust, C and C++ by rules of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import version

from parsimony.errors import InputError
from parsimony.footprint.languages.grammars import GRAMMARS
from parsimony.footprint.languages.lineprocess import LineProcess
from parsimony.footprint.languages.remote import parse_both
from parsimony.footprint.tracks import Sequence, SequenceTrack
from parsimony.measurements.tracks import pinned_parsers


def go() -> SequenceTrack:
    """The published track of Go."""
    return _track("go")


def java() -> SequenceTrack:
    """The track of Java."""
    return _track("java")


def rust() -> SequenceTrack:
    """The track of Rust."""
    return _track("rust")


def c() -> SequenceTrack:
    """The track of C."""
    return _track("c")


def cpp() -> SequenceTrack:
    """The track of C++."""
    return _track("cpp")


@lru_cache
def _track(language: str) -> SequenceTrack:
    track, pins = GRAMMARS[language].track, pinned_parsers(language)
    for package, pinned in pins.items():
        found = version(package)
        if found != pinned:
            raise InputError(
                f"{package} {found} is installed, but the track {track} of {language} is that of {pinned}",
                mend=f"install {package}=={pinned}",
                field="track",
            )

    def parse(before: str, after: str, /, *, tokens: bool) -> tuple[Sequence, Sequence]:
        return parse_both(_process(), {"language": language, "sides": [before, after], "tokens": tokens})

    parser = ", ".join(f"{package} {pinned}" for package, pinned in pins.items())
    return SequenceTrack(track, language, parser, parse)


@lru_cache
def _process() -> LineProcess:
    return LineProcess(_start)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "parsimony.footprint.languages.treesitter"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
