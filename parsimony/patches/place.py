"""Where hunks go in a file: the strict rule of the footprint, without any fuzz.

A hunk is wanted at its stated line, shifted by what the hunks before it were off. If its old lines are not there, the
nearest place at or after the end of the hunk before it takes it; two places at the same distance are ambiguous. Lines
must be equal in every byte.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import AnyStr, Generic

from parsimony.errors import InputError

_MOST_COMPARISONS = 50_000_000
_MEND = "make the patch again against the exact base"


@dataclass(frozen=True, slots=True)
class Edit(Generic[AnyStr]):
    """A hunk as both of its sides: lines with their ends. `old_start` and `new_start` as its header states them."""

    row: int
    old_start: int
    old: Sequence[AnyStr]
    new_start: int
    new: Sequence[AnyStr]


def place(lines: Sequence[AnyStr], edits: Sequence[Edit[AnyStr]]) -> tuple[list[AnyStr], int]:
    """Apply `edits`, in their order, to the lines of a file.

    Returns:
        The new lines, and how many hunks were not at their stated line (one that only inherits a shift counts).

    Raises:
        InputError: a hunk does not fit, fits in two places alike, overlaps the one before, or states a new position
            that does not follow from the old one. `row` is that of the hunk in the patch.
    """
    finder = _Finder(lines)
    out: list[AnyStr] = []
    cursor = shift = offset_hunks = 0
    for edit in edits:
        stated = edit.old_start - 1 if edit.old else edit.old_start
        wanted = stated + shift
        if not cursor <= wanted <= len(lines):
            raise InputError("a hunk starts outside of the file or inside the hunk before it", mend=_MEND, row=edit.row)
        at = finder.nearest(edit, wanted, cursor)
        shift = at - stated
        offset_hunks += shift != 0
        out += lines[cursor:at]
        new_at = edit.new_start - 1 if edit.new else edit.new_start
        if len(out) != new_at + shift:
            raise InputError("the new line number of a hunk does not follow from its old one", mend=_MEND, row=edit.row)
        out += edit.new
        cursor = at + len(edit.old)
    out += lines[cursor:]
    return out, offset_hunks


class _Finder(Generic[AnyStr]):
    """Finds the lines of a hunk in a file, with a bound on the work that a hostile pair of both can cause."""

    def __init__(self, lines: Sequence[AnyStr]) -> None:
        self.lines: list[AnyStr] = list(lines)
        self.places: dict[AnyStr, list[int]] = {}
        self.comparisons = 0

    def nearest(self, edit: Edit[AnyStr], wanted: int, cursor: int) -> int:
        old = list(edit.old)
        if not old or self.lines[wanted : wanted + len(old)] == old:
            return wanted
        anchor, starts = self._candidates(old)
        up = bisect_left(starts, wanted + anchor)
        down = up - 1
        while down >= 0 or up < len(starts):
            below = starts[down] - anchor if down >= 0 else -1
            above = starts[up] - anchor if up < len(starts) else -1
            ahead = above - wanted if above >= 0 else len(self.lines) + 1
            behind = wanted - below if below >= cursor else len(self.lines) + 1
            if ahead == behind == len(self.lines) + 1:
                break
            fits_ahead = ahead <= behind and self._fits(old, above, edit.row)
            fits_behind = behind <= ahead and self._fits(old, below, edit.row)
            if fits_ahead and fits_behind:
                raise InputError("a hunk fits in two places at the same distance", mend=_MEND, row=edit.row)
            if fits_ahead or fits_behind:
                return above if fits_ahead else below
            up += ahead <= behind
            down -= behind <= ahead
        raise InputError("the lines of a hunk are not in the base", mend=_MEND, row=edit.row)

    def _candidates(self, old: list[AnyStr]) -> tuple[int, list[int]]:
        """The line of the hunk that is rarest in the file: its index in the hunk, and where the file has it."""
        if not self.places:
            for number, line in enumerate(self.lines):
                self.places.setdefault(line, []).append(number)
        return min(
            ((index, self.places.get(line, [])) for index, line in enumerate(old)),
            key=lambda candidate: len(candidate[1]),
        )

    def _fits(self, old: list[AnyStr], at: int, row: int) -> bool:
        self.comparisons += len(old)
        if self.comparisons > _MOST_COMPARISONS:
            raise InputError("the place of a hunk takes too long to find", mend=_MEND, row=row)
        return self.lines[at : at + len(old)] == old
