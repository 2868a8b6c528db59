"""The outline of a file: its functions, classes and methods, and which of them each line belongs to.

A line belongs to the innermost definition around it, so that a change inside of a method touches the method and not
also its class. What stands inside of a function belongs to that function: it has no name that others could use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, a class (or another named type) or a method.

    Attributes:
        name: qualified by the types around it, with dots: `IntervalSet.remove`.
        space: the namespaces around it (C++, TypeScript, modules of Rust), with dots; "" at the top. Modules of
            Python and packages of Java and Go are told by the path and are not here.
        first, last: its lines, counted from 1, decorators included.
    """

    name: str
    space: str
    first: int
    last: int


@dataclass(frozen=True)
class Outline:
    """The definitions of one file, from outer to inner and in the order of their lines."""

    definitions: tuple[Definition, ...]

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.definitions, key=lambda one: (one.first, -one.last)))
        object.__setattr__(self, "definitions", ordered)

    @cached_property
    def names(self) -> frozenset[tuple[str, str]]:
        """(space, name) of every definition."""
        return frozenset((one.space, one.name) for one in self.definitions)

    @cached_property
    def _owners(self) -> list[int]:
        """For each line the index of its definition, -1 outside of all. Made when it is asked for: most files are read
        for a few lines, or only to know that they parse."""
        owners = [-1] * (1 + max((one.last for one in self.definitions), default=0))
        for index, one in enumerate(self.definitions):  # the later ones are inside of the earlier ones, or after them
            owners[one.first : one.last + 1] = [index] * (one.last + 1 - one.first)
        return owners

    def at(self, line: int) -> Definition | None:
        """The innermost definition that `line` belongs to; None outside of all."""
        index = self._owners[line] if 0 < line < len(self._owners) else -1
        return self.definitions[index] if index >= 0 else None

    def of(self, lines: Iterable[int]) -> list[Definition]:
        """The definitions that own any of `lines`, in the order of the lines, each once."""
        found = dict.fromkeys(one for line in sorted(lines) if (one := self.at(line)) is not None)
        return list(found)


def from_rows(rows: Sequence[Sequence[object]]) -> Outline:
    """The outline that a parser in another process answers: `[name, space, first, last]` each."""
    return Outline(tuple(Definition(str(n), str(s), int(str(f)), int(str(t))) for n, s, f, t in rows))
