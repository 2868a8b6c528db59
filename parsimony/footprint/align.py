"""Exact alignment: the fewest insertions and deletions that turn one sequence into another.

The length of a longest common subsequence gives both, since added - deleted is the difference of the lengths. RapidFuzz
computes it in C++ with one bit per element (H. Hyyrö, 2004): rows of 64 elements at once. Nothing is approximate: a
pair of sequences that would take too long is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from rapidfuzz.distance import Indel

from parsimony.errors import InputError

MAX_CELLS = 50_000_000_000
"""Most pairs of elements to compare, after everything that cannot matter is taken off: a few seconds of work."""

_SMALL = 4_000_000
"""Below so many pairs, preparation costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Edits:
    """A minimal edit script, counted. `added` and `deleted` are numbers of elements."""

    added: int
    deleted: int

    @property
    def total(self) -> int:
        """Insertions and deletions together."""
        return self.added + self.deleted

    @property
    def net(self) -> int:
        """Insertions less deletions."""
        return self.added - self.deleted


def align(before: Sequence[int], after: Sequence[int]) -> Edits:
    """The fewest elements to delete from `before` and to add, to get `after`.

    Elements are small non-negative integers; the smaller the frequent ones, the faster.

    Raises:
        InputError: both sequences are long and share little (see `MAX_CELLS`).
    """
    if before == after:
        return Edits(0, 0)
    start, end = _common_ends(before, after)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old or not new:
        return Edits(len(new), len(old))
    only_old = only_new = 0
    if len(old) * len(new) > _SMALL:
        shared_old, shared_new = _shared(old, new)
        only_old, only_new = len(old) - len(shared_old), len(new) - len(shared_new)
        old, new = shared_old, shared_new
    if len(old) * len(new) > MAX_CELLS:
        raise InputError(
            f"{len(old)} and {len(new)} elements take too long to align", mend="leave the file out, or split it"
        )
    distance = int(Indel.distance(old, new))
    added = (distance + len(new) - len(old)) // 2
    return Edits(added + only_new, distance - added + only_old)


def _common_ends(before: Sequence[int], after: Sequence[int]) -> tuple[int, int]:
    """How many elements are equal at the start, and how many of the others at the end."""
    most = min(len(before), len(after))
    start = _common_start(before, after, most)
    end = _common_start(before[::-1], after[::-1], most - start)
    return start, end


def _common_start(before: Sequence[int], after: Sequence[int], most: int) -> int:
    if before[:most] == after[:most]:
        return most
    return next(index for index, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)


def _shared(old: Sequence[int], new: Sequence[int]) -> tuple[list[int], list[int]]:
    """Both sequences without what the other does not have at all, their elements numbered by how frequent they are.

    What only one side has is never part of a common subsequence. RapidFuzz looks up elements below 256 in a table and
    others in a hash map, which is ten times slower.
    """
    counts_old, counts_new = Counter(old), Counter(new)
    shared = counts_old.keys() & counts_new.keys()
    ranked = sorted(shared, key=lambda element: (-counts_old[element] - counts_new[element], element))
    codes = {element: code for code, element in enumerate(ranked)}
    return _recode(old, codes), _recode(new, codes)


def _recode(elements: Sequence[int], codes: dict[int, int]) -> list[int]:
    kept = compress(elements, map(codes.__contains__, elements))
    return list(map(codes.__getitem__, kept))
