"""Symbols of a repository: which of them a change touches, and which one a name in a trace means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from parsimony.scorecard.changes import Change, Unknown
from parsimony.scorecard.outline import Definition, Outline
from parsimony.scorecard.sources import Sources

_SEPARATORS: Final = re.compile(r"[./:#\\]+")


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A function, class or method: the file in the base (the new one for a file that a patch makes), the namespaces
    around it, and its name qualified by its types."""

    path: str
    space: str
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.space + '.' if self.space else ''}{self.name}"


@dataclass(frozen=True, slots=True)
class Touched:
    """What a change touches.

    Attributes:
        entities: every symbol with a changed line: on the old side for lines taken out, on the new for those put in.
        places: the same as places of the base: a symbol that the change makes stands for the type around it, where
            there is one before the change. What a search could have found.
        parses: whether what the change leaves parses; compiles: and passes the language's own check.
    """

    entities: tuple[Symbol, ...] = ()
    places: tuple[Symbol, ...] = ()
    parses: bool = True
    compiles: bool = True


def touched(changes: Iterable[Change], sources: Sources, language: str) -> Touched:
    """What the changes to the files of one patch touch, in the order of the patch and of the lines.

    Raises:
        Unknown: a file does not parse before a change, so that what is in it is not known.
        InputError: there is no parser for the language here.
    """
    entities: dict[Symbol, None] = {}
    places: dict[Symbol, None] = {}
    parses = compiles = True
    for change in changes:
        before = after = None
        if change.old_path is not None and change.before is not None:
            before = sources.read(change.old_path, change.before, language)
        if change.new_path is not None and change.after is not None:
            base, windows = change.before, change.windows()
            after = sources.read(change.new_path, change.after, language, base=base, windows=windows)
        if before is not None and before.outline is None:
            raise Unknown(f"{change.old_path} does not parse before the patch: {before.problem}")
        if after is not None:
            parses &= after.outline is not None
            # A base file that the check does not take (older syntax) says nothing about the patch.
            compiles &= after.compiles or (after.outline is not None and before is not None and not before.compiles)
        old = before.outline if before else None
        new = after.outline if after else None
        for one in _changed(change, old, new):
            entities[Symbol(change.path, one.space, one.name)] = None
            place = _place(one, old)
            if place is not None:
                places[Symbol(change.path, place[0], place[1])] = None
    return Touched(tuple(entities), tuple(places), parses, compiles)


def _changed(change: Change, old: Outline | None, new: Outline | None) -> list[Definition]:
    return [*(old.of(change.removed) if old else ()), *(new.of(change.added) if new else ())]


def _place(one: Definition, old: Outline | None) -> tuple[str, str] | None:
    """The innermost symbol of the base that `one` is, or is inside of."""
    known = old.names if old else frozenset()
    name = one.name
    while name:
        if (one.space, name) in known:
            return one.space, name
        name = name.rpartition(".")[0]
    return None


@lru_cache(maxsize=1 << 16)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, however it is spelled: `a/b.py::C.m`, `a.b.C.m`, `C#m`, `C::m`."""
    return tuple(filter(None, _SEPARATORS.split(name.strip().removesuffix("()"))))


def means(spelled: str, symbol: Symbol) -> bool:
    """Whether a name in a trace means `symbol`.

    It must hold the whole qualified name (`C.m`, not `m`). Before that may stand the namespaces, and the end of the
    file's path with or without its suffix, or of its folder, as modules and packages are named.
    """
    return spelled_like(words(spelled), symbol)


def spelled_like(said: tuple[str, ...], symbol: Symbol) -> bool:
    """`means` for words."""
    local, space = words(symbol.name), words(symbol.space)
    if said[-len(local) :] != local:
        return False
    before = said[: len(said) - len(local)]
    if not before:
        return True
    return any(_is_end(before, (*place, *space)) or _is_end(before, place) for place in _locations(symbol.path))


@lru_cache(maxsize=1 << 14)
def _locations(path: str) -> tuple[tuple[str, ...], ...]:
    """A path as words: with its suffix, without it, and its folder."""
    plain = PurePosixPath(path)
    return words(path), words(str(plain.with_suffix(""))) if plain.name else (), words(str(plain.parent))


def _is_end(before: Sequence[str], place: Sequence[str]) -> bool:
    return len(before) <= len(place) and tuple(place[len(place) - len(before) :]) == tuple(before)
