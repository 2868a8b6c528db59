"""Tracks: one language with one set of rules and one parser. Counts of two tracks are never pooled.

A track compares two versions of one file. A language whose parser gives whole sequences needs no more than a function
from bytes to `Units` (`SequenceTrack`); Python compares only what differs (`python_track`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from parsimony.errors import InputError
from parsimony.footprint.align import Edits, align


@dataclass(frozen=True, slots=True)
class FileChange:
    """What differs between two versions of one file.

    Attributes:
        units, blind: coding units, with and without identifiers and literals; None where a side does not parse.
        tokens: lexical tokens; None where they were not asked for, or the track has none.
        nodes, branches: after minus before, of the syntax tree and of the cyclomatic proxy; None where a side does not
            parse.
        changed: whether the normalised code differs.
    """

    units: Edits | None
    blind: Edits | None
    tokens: Edits | None
    nodes: int | None
    branches: int | None
    changed: bool


class Track(Protocol):
    """The rules of one language."""

    @property
    def name(self) -> str:
        """Such as `units-v1`."""

    @property
    def language(self) -> str:
        """Such as `python`: the name under which `parsimony.scope` knows the paths that count."""

    @property
    def parser(self) -> str:
        """The parser and its version, for the record: counts may depend on it."""

    def text(self, data: bytes, side: str) -> str:
        """The text of one side, for the header of generated files. Raises InputError where it has none."""

    def compare(self, before: bytes | None, after: bytes | None, *, tokens: bool) -> FileChange:
        """What differs between two versions; None stands for no file.

        Raises:
            InputError: a side cannot be measured at all.
        """


@dataclass(frozen=True, slots=True)
class Sequence:
    """What a parser makes of one whole file: labels and value-blind labels of its units as numbers that both sides of a
    comparison share, the number of nodes of its tree, and its cyclomatic proxy.
    """

    labels: list[int]
    blind: list[int]
    nodes: int
    branches: int


@dataclass(frozen=True, slots=True)
class SequenceTrack:
    """A track of a parser that takes whole files.

    Attributes:
        parse: gives the sequences of both sides, numbered alike. Raises InputError where a side does not parse.
    """

    name: str
    language: str
    parser: str
    parse: Callable[[bytes, bytes], tuple[Sequence, Sequence]]

    def text(self, data: bytes, side: str) -> str:
        """The text of one side as UTF-8."""
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"is not UTF-8 {side}", mend="only UTF-8 sources are measured", field=side) from None

    def compare(self, before: bytes | None, after: bytes | None, *, tokens: bool) -> FileChange:
        """What differs between two versions. There are no tokens."""
        old, new = self.parse(before or b"", after or b"")
        units = align(old.labels, new.labels)
        blind = align(old.blind, new.blind)
        changed = units.total > 0
        return FileChange(units, blind, None, new.nodes - old.nodes, new.branches - old.branches, changed)


_LOADERS: Mapping[tuple[str, str], str] = {
    ("python", "units-v1"): "parsimony.footprint.python_track:units_v1",
    ("python", "units-v2"): "parsimony.footprint.python_track:units_v2",
}
"""(language, track) -> the function that makes it. Loaded when asked for: parsers are optional dependencies."""


def track_names(language: str) -> tuple[str, ...]:
    """The tracks of a language."""
    return tuple(name for known, name in _LOADERS if known == language)


def load_track(name: str, *, language: str = "python") -> Track:
    """The track of this name.

    Raises:
        InputError: there is none, or its parser is not installed.
    """
    target = _LOADERS.get((language, name))
    if target is None:
        known = ", ".join(track_names(language)) or "nothing: the language is not measured"
        raise InputError(f"{language} has no track {name!r}", mend=f"it has: {known}", field="track")
    module, _, function = target.partition(":")
    try:
        make = getattr(import_module(module), function)
    except ImportError as error:
        raise InputError(
            f"the parser of {language} is not installed ({error.name})", mend="install parsimony-grading[languages]"
        ) from None
    return cast("Track", make())
