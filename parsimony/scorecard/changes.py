"""What a patch changes: its implementation files on both sides, and the lines that it takes out and puts in."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from parsimony import patches
from parsimony.errors import InputError
from parsimony.patches import FilePatch, Hunk
from parsimony.patches.model import split_lines
from parsimony.patches.strict import apply_section
from parsimony.scope import classify
from parsimony.scorecard.python_delta import Window

Base = Mapping[str, bytes | None]
"""path -> content before the patch, None where there is no file; a path that is not here is not known."""

_CONTEXT, _MINUS, _MARKER = b" "[0], b"-"[0], b"\\"[0]


@dataclass(frozen=True, slots=True)
class Change:
    """What a patch does to one implementation file.

    Attributes:
        old_path, new_path: None where there is no file on that side.
        before, after: the content; None where there is no file. Both None when the section does not fit the base.
        removed, added: numbers of the lines that are taken out of `before` and put into `after`, counted from 1.
    """

    old_path: str | None
    new_path: str | None
    before: bytes | None = None
    after: bytes | None = None
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()

    @property
    def path(self) -> str:
        """Where the file is in the base, else where it will be."""
        return self.old_path or self.new_path or ""

    def windows(self) -> list[Window]:
        """What differs, as runs of lines."""
        found: list[Window] = []
        out, put = deque(self.removed), deque(self.added)
        shift = 0
        while out or put:
            first = min(out[0] if out else math.inf, put[0] - shift if put else math.inf)
            last, growth = int(first) - 1, 0
            while (out and out[0] == last + 1) or (put and put[0] == last + 1 + shift + growth):
                if out and out[0] == last + 1:
                    out.popleft()
                    last, growth = last + 1, growth - 1
                else:
                    put.popleft()
                    growth += 1
            found.append(Window(int(first), last, growth))
            shift += growth
        return found

    @property
    def is_new(self) -> bool:
        """Whether there is no such file before the patch."""
        return self.old_path is None


class Unknown(Exception):
    """Something that is needed is not at hand; the message says what."""


def needed(patch: bytes, language: str) -> tuple[str, ...]:
    """Paths of the implementation files of a patch that must be known before it can be applied."""
    sections = _sections(patch, language)
    return tuple(dict.fromkeys(path for file in sections for path in _paths(file) if path is not None))


def order(patch: bytes, language: str) -> tuple[str, ...]:
    """The implementation files that a patch touches, in its order: old paths, new ones for files that it makes."""
    return tuple(dict.fromkeys(old or new or "" for old, new in map(_paths, _sections(patch, language))))


def changes(patch: bytes, base: Base, language: str, *, whole: bool) -> tuple[Change, ...]:
    """What a patch does to the implementation files of a language.

    Args:
        whole: every section must fit, as those of a patch that was applied do. Without it, one that does not fit
            stands without contents and lines: it says which file it means, and no more.

    Raises:
        Unknown: a file of `base` that is needed is not known, or (with `whole`) a section does not fit.
    """
    return tuple(_change(file, base, whole=whole) for file in _sections(patch, language))


@lru_cache(maxsize=64)
def _sections(patch: bytes, language: str) -> tuple[FilePatch, ...]:
    """The sections that count. Kept, because a patch is asked for its paths, its order and its changes."""
    return tuple(file for file in patches.parse(patch).files if _counts(file, language))


def _counts(file: FilePatch, language: str) -> bool:
    """A section counts where a side is implementation: a file that is moved out of the tests becomes that."""
    old, new = _paths(file)
    if old is None and new is None:
        return False
    return any(
        path is not None and classify(path, language=language, new_file=old is None).in_scope for path in (old, new)
    )


def _paths(file: FilePatch) -> tuple[str | None, str | None]:
    return _text(file.old_path), _text(file.new_path)


def _text(path: bytes | None) -> str | None:
    return None if path is None else path.decode("utf-8", "surrogateescape")


def _change(file: FilePatch, base: Base, *, whole: bool) -> Change:
    old, new = _paths(file)
    try:
        before = _before(old, base)
        after, offset_hunks = apply_section(file, before or b"")
    except InputError as error:
        if whole:
            raise Unknown(f"the patch does not fit the base files that are at hand: {error}") from None
        return Change(old, new)
    removed, added = _by_content(before or b"", after) if offset_hunks else _by_hunks(file.hunks)
    if file.kind is patches.ChangeKind.COPY:
        return Change(None, new, None, after, (), tuple(range(1, len(split_lines(after)) + 1)))
    return Change(old, new, before, None if new is None else after, removed, added)


def _before(old: str | None, base: Base) -> bytes | None:
    if old is None:
        return None
    if old not in base:
        raise Unknown(f"the base version of {old} is not known")
    before = base[old]
    if before is None:
        raise InputError("is not in the base", mend="make the patch against it", file=old)
    return before


def _by_hunks(hunks: Iterable[Hunk]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lines by the numbers that the hunks state, which hold where no hunk is off."""
    removed: list[int] = []
    added: list[int] = []
    for hunk in hunks:
        old = hunk.old_start + (hunk.old_count == 0)
        new = hunk.new_start + (hunk.new_count == 0)
        for line in hunk.body:
            if line[0] == _MARKER:
                continue
            if line[0] == _MINUS:
                removed.append(old)
                old += 1
            elif line.startswith(b"+"):
                added.append(new)
                new += 1
            else:  # context, also where it lost its space
                old += 1
                new += 1
    return tuple(removed), tuple(added)


def _by_content(before: bytes, after: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lines by comparing both sides, for hunks that are not at their stated lines."""
    removed: list[int] = []
    added: list[int] = []
    matcher = SequenceMatcher(None, split_lines(before), split_lines(after), autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            removed += range(old_from + 1, old_to + 1)
            added += range(new_from + 1, new_to + 1)
    return tuple(removed), tuple(added)
