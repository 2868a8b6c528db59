"""The tracks of Python: what differs between two versions of a file, by the parser of the running interpreter."""

from __future__ import annotations

import ast
import platform
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

from parsimony.errors import InputError
from parsimony.footprint.align import Edits, align
from parsimony.footprint.labels import Labels
from parsimony.footprint.python_change import Change, compare
from parsimony.footprint.python_source import Memo, PythonSource, decode, is_text, read, unify_line_ends, without_mark
from parsimony.footprint.python_tokens import render, rendered_tokens, tokens
from parsimony.footprint.python_units import Handlers, Units, handlers_v1, walk
from parsimony.footprint.python_units_v2 import handlers_v2
from parsimony.footprint.tracks import FileChange

CACHED_CHARACTERS = 2_000_000
"""How much text of parsed files is kept: their trees take some forty times as much memory."""

_NONE = Edits(0, 0)


class SourceCache:
    """Parsed base files by their text, the least recently used dropped first. Many candidates share one base."""

    def __init__(self, characters: int = CACHED_CHARACTERS) -> None:
        self._most = characters
        self._held = 0
        self._sources: OrderedDict[str, PythonSource] = OrderedDict()
        self._lock = Lock()

    def read(self, text: str) -> PythonSource:
        """The source for a text, parsed unless it is held."""
        with self._lock:
            source = self._sources.get(text)
            if source is not None:
                self._sources.move_to_end(text)
                return source
        source = read(text)
        with self._lock:
            if len(text) <= self._most and text not in self._sources:
                self._sources[text] = source
                self._held += len(text)
            while self._held > self._most:
                dropped, _ = self._sources.popitem(last=False)
                self._held -= len(dropped)
        return source

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._sources.clear()
            self._held = 0


@dataclass(frozen=True, slots=True)
class PythonTrack:
    """One set of rules for Python.

    Attributes:
        marks: whether a byte order mark of the new text is taken off where the old text has none.
    """

    name: str
    handlers: Handlers = field(repr=False)
    marks: bool = False
    cache: SourceCache = field(default_factory=SourceCache, repr=False)
    language: str = "python"

    @property
    def parser(self) -> str:
        """The running interpreter: `ast` and `tokenize` are its own."""
        return f"{platform.python_implementation()} {platform.python_version()} ast, {sys.implementation.cache_tag}"

    def text(self, data: bytes, side: str) -> str:
        """The text of one side without a byte order mark."""
        return without_mark(decode(data, side))

    def compare(self, before: bytes | None, after: bytes | None, *, tokens: bool) -> FileChange:
        """What differs between two versions.

        Raises:
            InputError: a side is too large or no UTF-8; one does not parse, and one cannot be split into tokens; or
                what differs is too large to align.
        """
        old, new = self._texts(before or b"", after or b"")
        source = self.cache.read(old)
        change = compare(source, new)
        if change is None:
            return _lexical(source.text, unify_line_ends(new))
        with source.memo.lock:
            source.memo.bound()
            return self._structural(source, change, with_tokens=tokens)

    def _texts(self, before: bytes, after: bytes) -> tuple[str, str]:
        """A mark at the start of the old text is in none of the two: a patch is applied to the text without it."""
        old, new = decode(before, "before"), decode(after, "after")
        plain = without_mark(old)
        return plain, without_mark(new) if self.marks or plain is not old else new

    def _structural(self, source: PythonSource, change: Change, *, with_tokens: bool) -> FileChange:
        if not change.before and not change.after:
            return FileChange(_NONE, _NONE, _NONE if with_tokens else None, 0, 0, changed=False)
        reading = _Reading(source.memo, self.handlers, frozenset(map(id, change.before)))
        old, new = reading.units(change.before), reading.units(change.after)
        labels = source.memo.labels
        units = align(old.labels, new.labels)
        blind = align(labels.blind(old.labels), labels.blind(new.labels)) if units.total else _NONE
        lexical = None
        if with_tokens or not units.total:
            lexical = align(
                reading.tokens(change.before, opens=change.opens), reading.tokens(change.after, opens=change.opens)
            )
        return FileChange(
            units,
            blind,
            lexical if with_tokens else None,
            new.nodes - old.nodes,
            new.branches - old.branches,
            changed=units.total > 0 or (lexical is not None and lexical.total > 0),
        )


@dataclass(frozen=True, slots=True)
class _Reading:
    """Units and tokens of statements; what is made of those of the base (`kept`, by identity) is made once."""

    memo: Memo
    handlers: Handlers
    kept: frozenset[int]

    def units(self, statements: Sequence[ast.stmt]) -> Units:
        labels: list[int] = []
        nodes = branches = 0
        for statement in statements:
            known = self.memo.units.get(id(statement)) if id(statement) in self.kept else None
            if known is None:
                known = walk((statement,), self.memo.labels, self.handlers)
                if id(statement) in self.kept:
                    self.memo.units[id(statement)] = known
            labels += known.labels
            nodes += known.nodes
            branches += known.branches
        return Units(labels, nodes, branches)

    def tokens(self, statements: Sequence[ast.stmt], *, opens: bool) -> list[int]:
        numbers: list[int] = []
        for index, statement in enumerate(statements):
            key = id(statement), opens and index == 0 and is_text(statement)
            known = self.memo.tokens.get(key) if key[0] in self.kept else None
            if known is None:
                text = render((statement,), opens=key[1])
                known = list(map(self.memo.words.__getitem__, rendered_tokens(text)))
                if key[0] in self.kept:
                    self.memo.tokens[key] = known
            numbers += known
        return numbers


def _lexical(before: str, after: str) -> FileChange:
    """The change of a file of which a side does not parse: only its tokens are known.

    They are made even where nobody asked for them: a text that has none is an error either way.
    """
    edits = _edits(_split(before, "before"), _split(after, "after"))
    return FileChange(None, None, edits, None, None, edits.total > 0)


def _edits(before: list[str], after: list[str]) -> Edits:
    numbers = Labels()
    return align(list(map(numbers.__getitem__, before)), list(map(numbers.__getitem__, after)))


def _split(text: str, side: str) -> list[str]:
    try:
        return tokens(text)
    except InputError as error:
        raise error.at(field=side) from None


@lru_cache(maxsize=1)
def units_v1() -> PythonTrack:
    """The published rules."""
    return PythonTrack("units-v1", handlers_v1())


@lru_cache(maxsize=1)
def units_v2() -> PythonTrack:
    """The published rules and what they do not see."""
    return PythonTrack("units-v2", handlers_v2(), marks=True)
