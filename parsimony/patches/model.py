"""What a patch is made of. Everything is bytes: paths, modes' owners and content have no encoding here.

`row` is a line number of the patch, counted from 1.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from enum import StrEnum

MODE_SYMLINK = 0o120000
MODE_SUBMODULE = 0o160000

MAX_LINES = 8_000_000
"""Most lines of a patch, and of a file that it changes: each takes some sixty bytes of memory, however short it is."""

_SPACE, _PLUS, _MINUS, _BACKSLASH = b" +-\\"


class ChangeKind(StrEnum):
    """What a section does to its file."""

    MODIFY = "modify"
    ADD = "add"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


class ProblemKind(StrEnum):
    """What can be wrong with a patch. None of these keeps `parse` from returning what it could read."""

    TOO_LARGE = "too_large"
    NO_FILES = "no_files"
    FINAL_NEWLINE = "final_newline"  # the last line has no line feed
    BYTE_ORDER_MARK = "byte_order_mark"
    COMBINED_DIFF = "combined_diff"
    MISSING_PLUS = "missing_plus"  # "--- " without "+++ " on the next line
    EMPTY_SECTION = "empty_section"  # a section that changes nothing
    NAMES = "names"  # a path cannot be told
    CONTRADICTION = "contradiction"  # headers of one section disagree
    MODE = "mode"
    MISSING_MODE = "missing_mode"  # a new or deleted file in a git section that does not say so before "--- "
    STRAY_HEADER = "stray_header"  # a header line of git out of its place
    HEADER_GAP = "header_gap"  # other lines between the mode and the names of a file
    HUNK_HEADER = "hunk_header"
    HUNK_COUNTS = "hunk_counts"  # the body does not have the lines that its header states
    BLANK_CONTEXT = "blank_context"  # a blank context line that lost its leading space
    EXTRA_CONTEXT = "extra_context"  # context lines beyond the counts
    EXTRA_EDITS = "extra_edits"  # added or deleted lines beyond the counts: git leaves them out in silence
    MARKER = "marker"  # a "\\" line that is too short to say that a line feed is missing
    BLANK_GAP = "blank_gap"  # blank lines between the hunks of one file
    TEXT_GAP = "text_gap"  # other text between the hunks of one file
    ORPHAN_HUNK = "orphan_hunk"
    BINARY_DATA = "binary_data"  # not base85 as git writes it
    BINARY_IDS = "binary_ids"  # no whole blob ids, without which git applies no binary data
    BINARY_END = "binary_end"  # no blank line after the data
    BINARY_WITHOUT_DATA = "binary_without_data"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a patch, and where."""

    row: int
    kind: ProblemKind
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk of a text file.

    Attributes:
        header: the "@@" line as it stands.
        old_start, old_count, new_start, new_count: as the header states them.
        body: the lines of the hunk as they stand, with sign and line feed, "\\ No newline" markers among them.
        extra: lines that follow at once and look like more of the body, beyond the stated counts.
        sound: the body has the stated counts and nothing extra follows.
    """

    row: int
    header: bytes
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    body: tuple[bytes, ...]
    extra: tuple[bytes, ...] = ()
    sound: bool = True

    def old_lines(self) -> list[bytes]:
        """Context and deleted lines without their signs: what the base must hold."""
        return _side(self.body, _MINUS)

    def new_lines(self) -> list[bytes]:
        """Context and added lines without their signs: what takes their place."""
        return _side(self.body, _PLUS)


def _side(body: tuple[bytes, ...], sign: int) -> list[bytes]:
    lines: list[bytes] = []
    kept = False
    for line in body:
        first = line[0]
        if first == _BACKSLASH:
            if kept:
                lines[-1] = lines[-1].removesuffix(b"\n")
            continue
        if first in (_SPACE, sign):
            lines.append(line[1:])
            kept = True
        elif is_blank_line(line):
            lines.append(line)
            kept = True
        else:
            kept = False
    return lines


def is_marker(line: bytes) -> bool:
    """Whether this is "\\ No newline at end of file", in whatever language: git looks at its start and its length."""
    return line.startswith(b"\\ ") and len(line) >= 12


def is_blank_line(line: bytes) -> bool:
    """Nothing but its end: a separator, or in a hunk a context line that lost its space."""
    return line in (b"\n", b"\r\n")


@dataclass(frozen=True, slots=True)
class BinaryHunk:
    """One direction of a `GIT binary patch`.

    Attributes:
        method: b"literal" or b"delta".
        size: bytes of the inflated data, as stated.
        lines: the method line and the base85 lines as they stand, without the blank line that ends them.
    """

    row: int
    method: bytes
    size: int
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class BinaryData:
    """The data of a `GIT binary patch`: forward, and backward where the patch has it."""

    row: int
    header: bytes
    forward: BinaryHunk
    reverse: BinaryHunk | None = None


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file.

    Attributes:
        git: the section starts with a "diff --git" line.
        old_path, new_path: the path before and after, one leading "a/" or "b/" taken off; None where the file does
            not exist on that side, or where the patch does not say.
        old_name, new_name: the same as the header spells them (unquoted, prefix and all); None where absent.
        names: every name that any line of the section gives, prefixes and all.
        bare_names: names from lines that carry no prefix (rename, copy).
        old_mode, new_mode: as stated, such as 0o100644; None where the patch does not say.
        old_id, new_id: blob ids of the "index" line in hexadecimal, shortened or not.
        header: the lines before the first hunk that mean something, as they stand.
        binary: data of a `GIT binary patch`.
        dataless: the section says that binary files differ and brings no data.
    """

    row: int
    kind: ChangeKind
    git: bool
    old_path: bytes | None
    new_path: bytes | None
    old_name: bytes | None
    new_name: bytes | None
    names: tuple[bytes, ...]
    bare_names: tuple[bytes, ...]
    old_mode: int | None
    new_mode: int | None
    old_id: bytes | None
    new_id: bytes | None
    header: tuple[bytes, ...]
    hunks: tuple[Hunk, ...] = ()
    binary: BinaryData | None = None
    dataless: bool = False

    @property
    def path(self) -> bytes:
        """The path to speak of: the new one, else the old one, else empty."""
        return self.new_path or self.old_path or b""


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch as it was read: `data` as given, its sections in order, and what is wrong with it."""

    data: bytes
    files: tuple[FilePatch, ...]
    problems: tuple[Problem, ...]

    def has(self, *kinds: ProblemKind) -> bool:
        """Whether a problem of one of these kinds was found."""
        return any(problem.kind in kinds for problem in self.problems)


def show(path: bytes) -> str:
    """A path for people: decoded where it can be, the rest escaped, never with control characters."""
    text = path.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else repr(text)[1:-1]


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their line feeds. Only a line feed ends a line: a lone CR, a form feed and U+2028 are content."""
    return io.BytesIO(data).readlines()
