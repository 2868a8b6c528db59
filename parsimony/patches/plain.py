"""The text of a patch as the footprint reads it: plain unified diffs, and an error for everything else.

These are the published rules (analyzer 0.9): no renames, modes, binaries or quoted names of files that count, no hunk
header that is malformed, lines of text as `str.splitlines` sees them. What the rules pass over is passed over: text
between hunks, and lines beyond the counts of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from parsimony.errors import InputError
from parsimony.patches.model import MAX_LINES
from parsimony.patches.place import Edit

DEV_NULL = "/dev/null"
_GIT = "diff --git "
_HUNK = re.compile(r"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@")
_LOOKS_LIKE_A_HUNK = re.compile(r" *@@")
_MEND = "make the patch again with git diff --no-renames"
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@dataclass(slots=True)
class PlainSection:
    """What a patch does to one file.

    Attributes:
        row: the line of its "--- " in the patch, counted from 1.
        old, new: paths as stated, without one leading "a/" or "b/"; `DEV_NULL` where there is no file.
    """

    row: int
    old: str
    new: str
    edits: list[Edit[str]] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The path to speak of: the new one, else the old one."""
        return self.old if self.new == DEV_NULL else self.new


def read_plain(text: str, counts: Callable[[str], bool]) -> list[PlainSection]:
    """The sections of a patch that is not blank.

    Args:
        counts: whether a file counts. One that does must have text hunks behind its "diff --git" line; its names are
            judged with their prefixes here.

    Raises:
        InputError: the patch breaks a rule; `row` is its line.
    """
    if not text.endswith("\n"):
        text += "\n"
    return list(_Reader(text_lines(text, "a patch"), counts).sections())


def text_lines(text: str, what: str) -> list[str]:
    """The lines of `text` as `str.splitlines` sees them, with their ends.

    Raises:
        InputError: more than `MAX_LINES` of them. Each costs some sixty bytes, however short it is.
    """
    if len(text) > MAX_LINES and sum(map(text.count, _LINE_ENDS)) > MAX_LINES:
        raise InputError(f"{what} has over {MAX_LINES} lines", mend="split it")
    return text.splitlines(keepends=True)


class _Reader:
    """One pass over the lines. Line numbers count from 0 in here."""

    def __init__(self, lines: list[str], counts: Callable[[str], bool]) -> None:
        self.lines = lines
        self.counts = counts

    def sections(self) -> Iterator[PlainSection]:
        at, found, total = 0, False, len(self.lines)
        while at < total:
            line = self.lines[at]
            if line.startswith(_GIT):
                self._check_block(at)
                at += 1
            elif line.startswith("--- "):
                section, at = self._section(at)
                found = True
                yield section
            else:
                at += 1
        if not found:
            raise _error("no text diff in it", 0)

    def _check_block(self, at: int) -> None:
        names = self.lines[at][len(_GIT) :].split()
        if len(names) != 2:
            raise _error('a "diff --git" line with spaces in its names', at)
        for index in range(at + 1, len(self.lines)):  # no slice: a patch may have a hundred thousand blocks
            if self.lines[index].startswith("--- "):
                return
            if self.lines[index].startswith(_GIT):
                break
        if any(map(self.counts, names)):
            raise _error("a file that counts has no text hunks (a rename, a mode, binary data or an empty file)", at)

    def _section(self, at: int) -> tuple[PlainSection, int]:
        if at + 1 == len(self.lines) or not self.lines[at + 1].startswith("+++ "):
            raise _error('no "+++ " line after "--- "', at)
        section = PlainSection(at + 1, _path(self.lines[at], at), _path(self.lines[at + 1], at + 1))
        at += 2
        while at < len(self.lines) and not self.lines[at].startswith((_GIT, "--- ")):
            header = _HUNK.match(self.lines[at])
            if header is None:
                if _LOOKS_LIKE_A_HUNK.match(self.lines[at]):
                    raise _error("no hunk header: it needs the form @@ -1,2 +1,2 @@", at)
                at += 1
                continue
            edit, at = self._hunk(header, at)
            section.edits.append(edit)
        return section, at

    def _hunk(self, header: re.Match[str], at: int) -> tuple[Edit[str], int]:
        old_start, old_count, new_start, new_count = (int(number or 1) for number in header.groups())
        sides: dict[str, list[str]] = {"-": [], "+": []}
        start, signs = at, ""
        at += 1
        while at < len(self.lines):
            sign, line = self.lines[at][0], self.lines[at][1:]
            complete = len(sides["-"]) >= old_count and len(sides["+"]) >= new_count
            if sign == "\\":
                for side in signs:
                    sides[side][-1] = sides[side][-1].removesuffix("\n")
            elif complete:
                break
            elif sign in "+- ":
                signs = "-+" if sign == " " else sign
                for side in signs:
                    sides[side].append(line)
            else:
                raise _error("a line of a hunk starts with neither a space nor a sign", at)
            at += 1
        if len(sides["-"]) != old_count or len(sides["+"]) != new_count:
            raise _error(f"the hunk does not have {old_count} old and {new_count} new lines", start)
        return Edit(start + 1, old_start, sides["-"], new_start, sides["+"]), at


def _path(line: str, at: int) -> str:
    """The name of a header line: up to a tab, without a prefix."""
    name = line[4:].split("\t", 1)[0].strip()
    if name == DEV_NULL:
        return name
    if name[:2] in ("a/", "b/"):
        name = name[2:]
    if not name or name.startswith("/") or ".." in name.split("/") or '"' in name:
        raise _error("a path is absolute, leaves the tree or is quoted", at)
    return name


def _error(problem: str, at: int) -> InputError:
    return InputError(problem, mend=_MEND, row=at + 1)
