"""Where the body of a hunk ends: by its counts, and by its looks where the counts are wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parsimony.patches.model import is_blank_line, is_marker

HUNK_HEADER = re.compile(rb"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@")
_VERSION = re.compile(rb"\d+\.[\w.() -]*\r?\n")

_SPACE, _PLUS, _MINUS, _BACKSLASH = b" +-\\"


@dataclass(frozen=True, slots=True)
class Body:
    """Lines `start` to `end` of a patch, taken for the body of a hunk.

    Attributes:
        end: the line after the last one.
        complete: the stated counts are met exactly at `end`.
        blank: the first context line that lost its space; None if there is none.
    """

    end: int
    complete: bool
    blank: int | None = None


def counted_body(lines: Sequence[bytes], start: int, old: int, new: int) -> Body:
    """The body from line `start` on that has `old` and `new` lines, if there is one, as git counts them."""
    at, total = start, len(lines)
    blank: int | None = None
    while old > 0 or new > 0:
        if at == total:
            return Body(at, complete=False)
        line = lines[at]
        first = line[0]
        if first == _SPACE:
            old -= 1
            new -= 1
        elif first == _PLUS:
            new -= 1
        elif first == _MINUS:
            old -= 1
        elif is_blank_line(line):
            old -= 1
            new -= 1
            blank = at if blank is None else blank
        elif not is_marker(line):
            return Body(at, complete=False, blank=blank)
        if old < 0 or new < 0:
            return Body(at, complete=False, blank=blank)
        at += 1
    if at > start and at < total and is_marker(lines[at]):
        at += 1
    return Body(at, complete=True, blank=blank)


def likely_end(lines: Sequence[bytes], start: int) -> int:
    """Where a body ends to the eye: before a file, hunk, signature or other text, and before blank lines at its end."""
    at, end, total = start, start, len(lines)
    while at < total and not starts_other(lines, at):
        line = lines[at]
        if line[0] in (_SPACE, _PLUS, _MINUS) or is_marker(line):
            end = at + 1
        elif not is_blank_line(line):
            break
        at += 1
    return end


def extra_end(lines: Sequence[bytes], start: int) -> int:
    """Where lines end that follow a complete body at once and look like more of it; `start` if there are none."""
    at, total = start, len(lines)
    while at < total and lines[at][0] in (_SPACE, _PLUS, _MINUS) and not starts_other(lines, at):
        at += 1
        if at < total and is_marker(lines[at]):
            at += 1
    return at


def starts_other(lines: Sequence[bytes], at: int) -> bool:
    """Whether line `at`, which could be a deletion by its sign, is the header of a plain diff or a mail signature."""
    if lines[at][0] != _MINUS:
        return False
    if is_plain_header(lines, at):
        return at + 2 >= len(lines) or lines[at + 2].startswith(b"@@ -")
    if lines[at].rstrip() == b"--":
        following = lines[at + 1] if at + 1 < len(lines) else b"\n"
        return is_blank_line(following) or _VERSION.fullmatch(following) is not None
    return False


def is_plain_header(lines: Sequence[bytes], at: int) -> bool:
    """Whether lines `at` and the next are "--- " and "+++ "."""
    return lines[at].startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ ")


def count(body: Sequence[bytes]) -> tuple[int, int]:
    """How many old and new lines a body has."""
    old = new = 0
    for line in body:
        first = line[0]
        if first == _PLUS:
            new += 1
        elif first == _MINUS:
            old += 1
        elif first != _BACKSLASH:
            old += 1
            new += 1
    return old, new
