"""What a mutation is, in any language: a small change of one node, of the kinds that mutation testing uses (DeMillo,
Lipton, Sayward 1978; the set is that of the usual tools: conditions, comparisons, connectives, arithmetic, constants,
calls, returned values, statements).

A mutant is the source with the bytes of one node replaced: everything else stays as it is written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Protocol

from parsimony.errors import InputError

MOST_BYTES: Final = 1 << 20
"""A larger source is not mutated."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One changed node.

    Attributes:
        operator: name of the kind of change; the same names in every language.
        line: where, from 1.
        was, now: the text on both sides, shortened.
        source: the whole mutated source.
    """

    operator: str
    line: int
    was: str
    now: str
    source: bytes


class Mutator(Protocol):
    """The operators of one language."""

    def __call__(self, source: bytes, lines: Collection[int], /) -> list[Mutation]:
        """Every mutation of a node that stands whole on `lines` (from 1), in the order of the source.

        Mutants that are no program any more, that read back as the same program, or that are the same as another one
        are left out.

        Raises:
            InputError: the source is too large, or cannot be read by what reads it here.
        """


def check_size(source: bytes) -> None:
    """Refuse a source that is larger than `MOST_BYTES`.

    Raises:
        InputError: it is.
    """
    if len(source) > MOST_BYTES:
        raise InputError(f"has {len(source)} bytes", mend=f"sources of at most {MOST_BYTES} bytes are mutated")


def short(text: str) -> str:
    """A text in one line of at most 120 characters."""
    one = " ".join(text.split())
    return one if len(one) <= 120 else one[:117] + "..."
