"""Strict application in memory of everything that git writes: renames, copies, modes, binary data, any path.

Nothing is guessed: hunks must fit byte for byte, counts must be right, every file may be named once. A file that
changes its type has two sections, one that deletes it and one that makes it, as git writes them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from parsimony.errors import InputError
from parsimony.patches import binary
from parsimony.patches.model import MAX_LINES, ChangeKind, FilePatch, Patch, ProblemKind, show, split_lines
from parsimony.patches.place import Edit, place
from parsimony.patches.reader import is_blank, parse
from parsimony.patches.safety import refusals

MAX_RESULT_BYTES = 512 << 20
_MEND = "make the patch again with git diff --binary"
_BASE_MEND = "make the patch against this base"

Base = Mapping[bytes, bytes] | Callable[[bytes], bytes | None]

# What a strict reading refuses: all but what leaves no doubt (no final line feed, no blank line after binary data at
# the end, no mode of a new file) and what the rule of the footprint passes over (text between hunks, lines beyond the
# counts of one).
_FATAL = frozenset(ProblemKind) - {
    ProblemKind.FINAL_NEWLINE,
    ProblemKind.MISSING_MODE,
    ProblemKind.EXTRA_CONTEXT,
    ProblemKind.EXTRA_EDITS,
    ProblemKind.BLANK_GAP,
    ProblemKind.TEXT_GAP,
    ProblemKind.BINARY_END,
}

# What does not matter in a section that is not applied.
_OF_CONTENT = frozenset(
    {
        ProblemKind.BINARY_DATA,
        ProblemKind.BINARY_IDS,
        ProblemKind.BINARY_WITHOUT_DATA,
        ProblemKind.EMPTY_SECTION,
    }
)


@dataclass(frozen=True, slots=True)
class Section:
    """One section as applied.

    Attributes:
        before, after: the content on both sides; None where there is no file.
        offset_hunks: how many of its hunks were not at their stated line.
    """

    patch: FilePatch
    before: bytes | None
    after: bytes | None
    offset_hunks: int


@dataclass(frozen=True, slots=True, eq=False)
class StrictResult(Mapping[bytes, bytes | None]):
    """What a patch makes of its base: path -> new content, or None for a path that is gone. Other paths stay as is.

    The content of a symbolic link is its target; that of a submodule is git's line "Subproject commit ...".

    Attributes:
        modes: path -> mode, such as 0o100755, where the patch states one for a path that remains.
        sections: the same by section, in the order of the patch.
    """

    contents: Mapping[bytes, bytes | None]
    modes: Mapping[bytes, int]
    sections: tuple[Section, ...]

    @property
    def offset_hunks(self) -> int:
        """How many hunks were not at their stated line."""
        return sum(section.offset_hunks for section in self.sections)

    def __getitem__(self, path: bytes) -> bytes | None:
        return self.contents[path]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.contents)

    def __len__(self) -> int:
        return len(self.contents)


def apply_strict(data: bytes, base: Base, *, counts: Callable[[FilePatch], bool] | None = None) -> StrictResult:
    """Apply a patch to files in memory, strictly.

    Args:
        data: the patch. A missing final line feed is restored; an empty or blank patch changes nothing.
        base: path -> content of every file that the patch reads, or a function that gives it (None: no such file).
        counts: which sections to apply; all of them without it. The others must be well formed, but may be binary.

    Raises:
        InputError: the patch is malformed, names a file twice, is refused (`refusals`), or does not fit the base;
            `row` is the line of the patch.
    """
    if is_blank(data):
        return StrictResult({}, {}, ())
    patch = parse(data)
    files = patch.files if counts is None else tuple(filter(counts, patch.files))
    _refuse(patch, files)
    lookup = base if callable(base) else base.get
    tree = _Tree(lookup)
    for file in files:
        tree.take(file)
    return tree.result()


def apply_section(file: FilePatch, before: bytes, *, limit: int = MAX_RESULT_BYTES) -> tuple[bytes, int]:
    """The content of one file after its section, and how many hunks were not at their stated line.

    Args:
        before: content of the old side; empty where there is none.
        limit: most bytes that the result may have.

    Raises:
        InputError: the section does not fit, or its result is too large.
    """
    if file.binary is not None:
        return _binary(file, before, limit), 0
    after, offset_hunks = before, 0
    if file.hunks:
        if len(before) > MAX_LINES and before.count(b"\n") > MAX_LINES:
            raise InputError(f"{show(file.path)} has over {MAX_LINES} lines", mend="leave it out", row=file.row)
        edits = [
            Edit(hunk.row, hunk.old_start, hunk.old_lines(), hunk.new_start, hunk.new_lines()) for hunk in file.hunks
        ]
        lines, offset_hunks = place(split_lines(before), edits)
        after = b"".join(lines)
    if len(after) > limit:
        raise InputError(f"{show(file.path)} is over the limit of {limit} bytes", mend=_MEND, row=file.row)
    return after, offset_hunks


def _refuse(patch: Patch, taken: Sequence[FilePatch]) -> None:
    rows = [file.row for file in patch.files]
    for problem in patch.problems:
        at = bisect_right(rows, problem.row) - 1
        harmless = problem.kind in _OF_CONTENT and at >= 0 and patch.files[at] not in taken
        if problem.kind in _FATAL and not harmless:
            raise InputError(problem.text, mend=_MEND, row=problem.row)
    for reason in refusals(patch):
        raise InputError(reason, mend="a patch may only touch files of the tree")


@dataclass(slots=True)
class _Tree:
    """The sections taken so far. All of them read from the base, whatever their order, as git does."""

    lookup: Callable[[bytes], bytes | None]
    written: dict[bytes, bytes] = field(default_factory=dict)
    removed: set[bytes] = field(default_factory=set)
    made: dict[bytes, int] = field(default_factory=dict)
    modified: dict[bytes, int] = field(default_factory=dict)
    modes: dict[bytes, int] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    total: int = 0

    def take(self, file: FilePatch) -> None:
        old, new = file.old_path, file.new_path
        before = None if old is None else self.lookup(old)
        if old is not None and before is None:
            raise InputError(f"{show(old)} is not in the base", mend=_BASE_MEND, row=file.row)
        after, offset_hunks = apply_section(file, before or b"", limit=MAX_RESULT_BYTES - self.total)
        self.total += len(after)
        if file.kind in (ChangeKind.DELETE, ChangeKind.RENAME) and old is not None:
            if old in self.removed:
                raise _twice(old, file)
            self.removed.add(old)
        if new is None:
            if after:
                raise InputError(f"{show(file.path)} is deleted but not all of it", mend=_BASE_MEND, row=file.row)
            self.sections.append(Section(file, before, None, offset_hunks))
            return
        if new in self.written:
            raise _twice(new, file)
        (self.modified if file.kind is ChangeKind.MODIFY else self.made)[new] = file.row
        self.written[new] = after
        if file.new_mode is not None:
            self.modes[new] = file.new_mode
        self.sections.append(Section(file, before, after, offset_hunks))

    def result(self) -> StrictResult:
        """Everything together, once no path contradicts another."""
        for path, row in self.modified.items():
            if path in self.removed:
                raise InputError(f"{show(path)} is changed and removed", mend=_MEND, row=row)
        for path, row in self.made.items():
            if path not in self.removed and self.lookup(path) is not None:
                raise InputError(f"{show(path)} is made but is in the base", mend=_BASE_MEND, row=row)
            self._check_parents(path, row)
        contents: dict[bytes, bytes | None] = dict.fromkeys(self.removed)
        contents.update(self.written)
        return StrictResult(contents, self.modes, tuple(self.sections))

    def _check_parents(self, path: bytes, row: int) -> None:
        at = path.find(b"/")
        while at >= 0:
            parent = path[:at]
            if parent in self.written or (parent not in self.removed and self.lookup(parent) is not None):
                raise InputError(f"{show(path)} lies below {show(parent)}, a file", mend=_MEND, row=row)
            at = path.find(b"/", at + 1)


def _twice(path: bytes, file: FilePatch) -> InputError:
    return InputError(f"{show(path)} has two sections", mend="merge them into one", row=file.row)


def _binary(file: FilePatch, before: bytes, limit: int) -> bytes:
    """The content after a binary section; where the patch gives whole blob ids, both sides must have them."""
    assert file.binary is not None
    after = binary.content(file.binary.forward, before, limit)
    for side, stated, data in (("base", file.old_id, before), ("result", file.new_id, after)):
        exists = (file.kind is not ChangeKind.ADD) if side == "base" else (file.kind is not ChangeKind.DELETE)
        if exists and stated is not None and len(stated) in (40, 64) and binary.blob_id(data, len(stated)) != stated:
            raise InputError(f"{show(file.path)}: the {side} is not {stated.decode()}", mend=_BASE_MEND, row=file.row)
    return after
