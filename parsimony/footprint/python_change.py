"""What differs between two versions of a Python file: the smallest lists of statements that hold all of it.

Most of a file is the same before and after, down to its characters. A statement that has the same text on both sides
has the same tree, so that only what lies between the first and the last line that differ is parsed again, walked and
rendered. Taking equal ends off both sides changes no count: an optimal alignment can always match them.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from parsimony.footprint.python_source import (
    PythonSource,
    first_line,
    is_text,
    line_offsets,
    parse,
    read,
    unify_line_ends,
)

_NOWHERE = 1 << 60


@dataclass(frozen=True, slots=True)
class Change:
    """Statements of both sides; what is not among them is the same on both.

    Attributes:
        opens: the first of them, on either side, is the first of a module, class or function without its docstring. A
            string there is rendered like a docstring.
    """

    before: Sequence[ast.stmt]
    after: Sequence[ast.stmt]
    opens: bool


@dataclass(frozen=True, slots=True)
class _Lines:
    """Which whole lines are equal at the ends of two texts. Lines count from 1.

    Attributes:
        head: how many lines are equal at the start.
        old_tail, new_tail: the line of each side where the equal lines at the end start; far away if there are none.
    """

    head: int
    old_tail: int
    new_tail: int


def compare(before: PythonSource, after: str) -> Change | None:
    """The statements that differ; None where a side does not parse."""
    if before.statements is None:
        return None
    after = unify_line_ends(after)
    if before.text == after:
        return Change((), (), opens=False)
    lines = _equal_lines(before.text, after)
    change, shift = _between(before, after, lines)
    if change is None:
        whole = read(after)
        if whole.statements is None:
            return None
        change, shift = Change(before.body, whole.body, opens=True), 0
    return _share(_narrow(change, before, lines, shift), before, after, shift)


def _equal_lines(before: str, after: str) -> _Lines:
    start = _common_length(before, after, min(len(before), len(after)))
    end = _common_length(before, after, min(len(before), len(after)) - start, at_end=True)
    head = before.count("\n", 0, start)
    at = len(before) - end
    if not (_starts_line(before, at) and _starts_line(after, len(after) - end)):
        at = before.find("\n", at) + 1 or len(before)
        end = len(before) - at
    if not end:
        return _Lines(head, _NOWHERE, _NOWHERE)
    return _Lines(head, before.count("\n", 0, at) + 1, after.count("\n", 0, len(after) - end) + 1)


def _starts_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _common_length(before: str, after: str, most: int, *, at_end: bool = False) -> int:
    """How many characters, up to `most`, are equal at the start or the end: by halving, since slices compare fast."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if at_end:
            equal = before[len(before) - middle : len(before) - low] == after[len(after) - middle : len(after) - low]
        else:
            equal = before[low:middle] == after[low:middle]
        if equal:
            low = middle
        else:
            high = middle
    return low


def _between(before: PythonSource, after: str, lines: _Lines) -> tuple[Change | None, int]:
    """The statements of the module that differ, with only those of `after` parsed, and the line they start after.

    Where the text between two places parses on its own, and both places start a statement of the module in `before`,
    then `after` as a whole parses to the statements before, those between and those behind: what follows a statement
    can change it only by continuing it, and then (`else`, an indent, an open bracket) it does not parse on its own.

    Returns:
        No change where that does not hold: then all of `after` must be parsed.
    """
    statements = before.statements or ()
    count = len(statements)
    text, offsets = before.text, before.line_offsets
    starts = [*before.first_lines, text.count("\n") + 1 + (not text.endswith("\n"))]
    low = max(bisect_right(starts, lines.head + 1) - 1, 0)
    while low and not _alone(statements, starts, low):
        low -= 1
    opens = low in (0, before.docstring)
    high = max(min(bisect_left(starts, lines.old_tail), count), low)
    while high < count and (not _alone(statements, starts, high) or (opens and is_text(statements[high]))):
        high += 1
    begin = offsets[starts[low] - 1] if low else 0
    end = offsets[starts[high] - 1] if high < count else len(text)
    part = after[begin : len(after) - (len(text) - end)]
    new = None if part.endswith("\\\n") else parse(part)
    if new is None:
        return None, 0
    old = statements[low:high]
    if low == 0:
        old, new = old[before.docstring :], new[bool(new) and is_text(new[0]) :]
    return Change(old, new, opens), starts[low] - 1 if low else 0


def _alone(statements: Sequence[ast.stmt], starts: Sequence[int], index: int) -> bool:
    """Whether a statement of the module starts on a line of its own, with nothing of the one before it on that line."""
    if index in (0, len(statements)):
        return True
    return statements[index].col_offset == 0 and starts[index] > (statements[index - 1].end_lineno or 0)


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Block = _Definition | ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith


def _narrow(change: Change, before: PythonSource, lines: _Lines, shift: int) -> Change:
    """Take equal statements off both ends, and go into a block as long as only one is left that differs inside."""
    while True:
        change = _trim(change, lines, shift)
        if len(change.before) != 1 or len(change.after) != 1:
            return change
        old, new = change.before[0], change.after[0]
        if not isinstance(old, _Block) or not isinstance(new, _Block):
            return change
        if not _same_header(old, new, before, lines, shift):
            return change
        change = Change(old.body, new.body, isinstance(old, _Definition))


def _trim(change: Change, lines: _Lines, shift: int) -> Change:
    old, new = change.before, change.after
    most = min(len(old), len(new))
    start = 0
    while start < most and _in_head(old[start], new[start], lines, shift):
        start += 1
    end = 0
    while end < most - start and _in_tail(old[-1 - end], new[-1 - end], lines, shift):
        end += 1
    return Change(old[start : len(old) - end], new[start : len(new) - end], change.opens and start == 0)


def _share(change: Change, before: PythonSource, after: str, shift: int) -> Change:
    """The same change with the trees of `before` for statements that have the same text on both sides."""
    if len(change.before) < 2 or len(change.after) < 2:
        return change
    known = {_place(old, before.text, before.line_offsets, 0): old for old in change.before}
    offsets = line_offsets(after)
    shared = [known.get(_place(new, after, offsets, shift), new) for new in change.after]
    return Change(change.before, shared, change.opens)


def _place(statement: ast.stmt, text: str, offsets: Sequence[int], shift: int) -> tuple[str, int, int | None]:
    """The lines of a statement, and where it starts and ends on the first and the last of them."""
    first, last, start, end = _extent(statement)
    return text[offsets[first + shift - 1] : offsets[last + shift]], start, end


def _extent(statement: ast.stmt) -> tuple[int, int, int, int | None]:
    last = statement.end_lineno or statement.lineno
    return first_line(statement), last, statement.col_offset, statement.end_col_offset


def _in_head(old: ast.stmt, new: ast.stmt, lines: _Lines, shift: int) -> bool:
    first, last, *columns = _extent(old)
    if last > lines.head:
        return False
    new_first, new_last, *new_columns = _extent(new)
    return (first, last, columns) == (new_first + shift, new_last + shift, new_columns)


def _in_tail(old: ast.stmt, new: ast.stmt, lines: _Lines, shift: int) -> bool:
    """Whether two statements are one in the equal lines at the end. Strings stay: one that comes first is special."""
    first, last, *columns = _extent(old)
    if first < lines.old_tail or is_text(old):
        return False
    new_first, new_last, *new_columns = _extent(new)
    moved = lines.new_tail - lines.old_tail - shift
    return (first + moved, last + moved, columns) == (new_first, new_last, new_columns)


def _same_header(old: _Block, new: _Block, before: PythonSource, lines: _Lines, shift: int) -> bool:
    """Whether all that differs lies in one block of two statements: all before it is equal, and nothing follows."""
    if old.__class__ is not new.__class__:
        return False
    if getattr(old, "orelse", None) or getattr(new, "orelse", None):
        return False
    if not old.body or not new.body:
        return False
    start = old.body[0]
    first = first_line(start)
    if first - 1 > lines.head or first != first_line(new.body[0]) + shift or first_line(old) != first_line(new) + shift:
        return False
    offset = before.line_offsets[start.lineno - 1]
    return not before.text[offset : offset + start.col_offset].strip()
