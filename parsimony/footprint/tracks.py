"""Tracks: one language with one set of rules and one parser. Counts of two tracks are never pooled.

A track compares two versions of one file. A language whose parser gives whole sequences needs no more than a function
from both texts to their sequences (`SequenceTrack`); Python compares only what differs (`python_track`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, cast, runtime_checkable

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


@runtime_checkable
class Dialects(Protocol):
    """A track whose grammar depends on the name of the file."""

    def dialect(self, path: str) -> Track:
        """The track for files that are named like this one; its counts are those of the same track."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """What a parser makes of one whole file: labels, value-blind labels and tokens as numbers that both sides of a
    comparison share, the number of nodes of its tree, and its cyclomatic proxy. `tokens` is None if not asked for.
    """

    labels: list[int]
    blind: list[int]
    nodes: int
    branches: int
    tokens: list[int] | None


class ParseBoth(Protocol):
    """Gives the sequences of both sides, numbered alike. Raises InputError where a side does not parse."""

    def __call__(self, before: str, after: str, /, *, tokens: bool) -> tuple[Sequence, Sequence]:
        """Parse the text before and that after; tokens are None unless they are asked for."""


MAX_SOURCE_BYTES = 4 << 20
"""Most bytes of one file that parsers of other languages than Python take: trees take far more than their text."""


@dataclass(frozen=True, slots=True)
class SequenceTrack:
    """A track of a parser that takes whole files. A side that does not parse is an error."""

    name: str
    language: str
    parser: str
    parse: ParseBoth = field(repr=False)

    def text(self, data: bytes, side: str) -> str:
        """The text of one side as UTF-8, without a byte order mark."""
        if len(data) > MAX_SOURCE_BYTES:
            raise InputError(
                f"has {len(data)} bytes {side}, over the limit of {MAX_SOURCE_BYTES}",
                mend="leave the file out",
                field=side,
            )
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"is not UTF-8 {side}", mend="only UTF-8 sources are measured", field=side) from None

    def compare(self, before: bytes | None, after: bytes | None, *, tokens: bool) -> FileChange:
        """What differs between two versions. A file whose units are the same did not change."""
        old, new = self.parse(self.text(before or b"", "before"), self.text(after or b"", "after"), tokens=tokens)
        units = align(old.labels, new.labels)
        blind = align(old.blind, new.blind)
        words = None if old.tokens is None or new.tokens is None else align(old.tokens, new.tokens)
        changed = units.total > 0
        return FileChange(units, blind, words, new.nodes - old.nodes, new.branches - old.branches, changed)


_LOADERS: Mapping[tuple[str, str], str] = {
    ("python", "units-v1"): "parsimony.footprint.python_track:units_v1",
    ("python", "units-v2"): "parsimony.footprint.python_track:units_v2",
    ("javascript", "typescript-compiler-units-v1"): "parsimony.footprint.languages.script:javascript",
    ("typescript", "typescript-compiler-units-v1"): "parsimony.footprint.languages.script:typescript",
    ("go", "tree-sitter-units-v1"): "parsimony.footprint.languages.trees:go",
    ("java", "named-nodes-v1"): "parsimony.footprint.languages.trees:java",
    ("rust", "named-nodes-v1"): "parsimony.footprint.languages.trees:rust",
    ("c", "named-nodes-v1"): "parsimony.footprint.languages.trees:c",
    ("cpp", "named-nodes-v1"): "parsimony.footprint.languages.trees:cpp",
}
"""(language, track) -> the function that makes it. Loaded when asked for: parsers are optional dependencies."""


def track_names(language: str) -> tuple[str, ...]:
    """The tracks of a language, its default one first."""
    return tuple(name for known, name in _LOADERS if known == language)


def load_track(name: str | None = None, *, language: str = "python") -> Track:
    """The track of this name, or the default one of the language.

    Raises:
        InputError: there is none, or its parser is not installed.
    """
    name = name or next(iter(track_names(language)), "at all")
    target = _LOADERS.get((language, name))
    if target is None:
        known = ", ".join(track_names(language)) or "nothing: the language is not measured"
        raise InputError(f"{language} has no track {name!r}", mend=f"it has: {known}", field="track")
    module, _, function = target.partition(":")
    try:
        make = getattr(import_module(module), function)
        return cast("Track", make())
    except ImportError as error:
        raise InputError(
            f"the parser of {language} is not installed ({error.name})", mend="install parsimony-grading[languages]"
        ) from None
