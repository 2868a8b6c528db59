"""Reading a patch: from bytes to sections, with everything that is wrong on the way, and never an exception."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from parsimony.errors import InputError
from parsimony.patches import binary
from parsimony.patches.hunks import HUNK_HEADER, counted_body, extra_end, is_plain_header, likely_end
from parsimony.patches.model import (
    MAX_LINES,
    BinaryData,
    BinaryHunk,
    FilePatch,
    Hunk,
    Patch,
    Problem,
    ProblemKind,
    is_blank_line,
    split_lines,
)
from parsimony.patches.names import binary_names
from parsimony.patches.section import Section, is_extended_header

MAX_PATCH_BYTES = 64 << 20
MAX_INFLATED_BYTES = 128 << 20
_MOST_PROBLEMS_OF_A_KIND = 100
_BOM = b"\xef\xbb\xbf"
_GIT = b"diff --git "
_COMBINED = (b"diff --cc ", b"diff --combined ")
_BINARY_HEADERS = (b"GIT binary patch\n", b"GIT binary patch\r\n")
_BINARY_DIFFER = (b"Binary files ", b"Files ")


def parse(data: bytes) -> Patch:
    """Read a unified or git diff.

    Text around the diff (mail headers, prose, fences) is passed over. Whatever is wrong stands in `Patch.problems`;
    sections hold what could be read all the same. Raises nothing for any input. A patch over 64 MiB, or of more
    than 8 million lines, is not read.
    Binary data are checked, up to 128 MiB of them.
    """
    if len(data) > MAX_PATCH_BYTES:
        text = f"a patch of {len(data)} bytes is over the limit of {MAX_PATCH_BYTES}"
        return Patch(data, (), (Problem(1, ProblemKind.TOO_LARGE, text),))
    if len(data) > MAX_LINES and data.count(b"\n") > MAX_LINES:
        text = f"a patch has over {MAX_LINES} lines"
        return Patch(data, (), (Problem(1, ProblemKind.TOO_LARGE, text),))
    return _Reader(data).read()


def is_blank(data: bytes) -> bool:
    """Whether a patch is empty or nothing but white space (and a byte order mark): not to be executed."""
    return not data.removeprefix(_BOM).strip()


class _Reader:
    """One pass over the lines of a patch. Line numbers count from 0 in here and from 1 in what comes out."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.lines = split_lines(data)
        self.files: list[FilePatch] = []
        self.problems: list[Problem] = []
        self.inflated = 0
        self.seen: Counter[ProblemKind] = Counter()

    def read(self) -> Patch:
        self._mend_ends()
        at = 0
        while at < len(self.lines):
            at = self._top(at)
        if not self.files and not is_blank(self.data):
            self.note(0, ProblemKind.NO_FILES, "no unified diff in it")
        return Patch(self.data, tuple(self.files), tuple(sorted(self.problems, key=lambda problem: problem.row)))

    def note(self, at: int, kind: ProblemKind, text: str) -> None:
        self.seen[kind] += 1
        if self.seen[kind] <= _MOST_PROBLEMS_OF_A_KIND:
            self.problems.append(Problem(at + 1, kind, text))

    def _mend_ends(self) -> None:
        lines = self.lines
        if lines and not lines[-1].endswith(b"\n"):
            self.note(len(lines) - 1, ProblemKind.FINAL_NEWLINE, "the last line has no line feed")
            lines[-1] += b"\n"
        if lines and lines[0].startswith(_BOM):
            self.note(0, ProblemKind.BYTE_ORDER_MARK, "a byte order mark stands before the first line")
            lines[0] = lines[0][len(_BOM) :]

    def _starts_file(self, at: int) -> bool:
        line = self.lines[at]
        return (
            line.startswith(_GIT)
            or is_plain_header(self.lines, at)
            or line.startswith(_COMBINED)
            or self._differ(at) is not None
        )

    def _differ(self, at: int) -> Sequence[object] | None:
        line = self.lines[at]
        return binary_names(line) if line.startswith(_BINARY_DIFFER) else None

    def _top(self, at: int) -> int:
        """What line `at` starts outside of any section; returns the line to go on at."""
        line = self.lines[at]
        if line.startswith(_GIT):
            return self._git_section(at)
        if is_plain_header(self.lines, at):
            section = Section(self, at, git=False)
            return self._hunks(self._file_names(at, section), section)
        if line.startswith(_COMBINED):
            self.note(at, ProblemKind.COMBINED_DIFF, "a combined diff (of a merge) cannot be applied")
        elif line.startswith(_BINARY_DIFFER) and (names := binary_names(line)):
            section = Section(self, at, git=False)
            section.old_side, section.new_side = names
            self._dataless(at, section)
            self._finish(section)
        else:
            self._note_stray(at)
        return at + 1

    def _note_stray(self, at: int) -> None:
        """Lines that would mean something in a section and are lost outside of one."""
        line = self.lines[at]
        if line.startswith(b"@@ -") and HUNK_HEADER.match(line):
            self.note(at, ProblemKind.ORPHAN_HUNK, "a hunk that belongs to no file")
        elif line.startswith(b"--- ") and line[4:].strip():
            self.note(at, ProblemKind.MISSING_PLUS, 'no "+++ " line after "--- "')

    def _git_section(self, at: int) -> int:
        section = Section(self, at, git=True)
        section.start_git(self.lines[at])
        at += 1
        while at < len(self.lines) and section.take(at, self.lines[at]):
            at += 1
        if at < len(self.lines):
            line = self.lines[at]
            if line in _BINARY_HEADERS:
                at = self._binary(at, section)
            elif self._differ(at) is not None:
                self._dataless(at, section)
                at += 1
            else:
                return self._hunks(self._skip_to_names(at, section), section)
        self._finish(section)
        return at

    def _skip_to_names(self, at: int, section: Section) -> int:
        """Past the "--- " and "+++ " lines of a git section, also where other lines stand before them."""
        ahead = at
        while ahead < len(self.lines) and not self._starts_file(ahead):
            if self.lines[ahead].startswith(b"@@ -"):
                return at
            ahead += 1
        if ahead == len(self.lines) or not is_plain_header(self.lines, ahead):
            return at
        if ahead == at:
            return self._file_names(at, section)
        if not section.would_accept(self.lines[ahead], self.lines[ahead + 1]):
            return at
        if section.has_mode:
            self.note(at, ProblemKind.HEADER_GAP, "other lines between the mode of a file and its names")
        return self._file_names(ahead, section)

    def _file_names(self, at: int, section: Section) -> int:
        section.take_names(at, self.lines[at], self.lines[at + 1])
        return at + 2

    def _hunks(self, at: int, section: Section) -> int:
        """The hunks of a section from line `at` on, with whatever stands between them; returns where others begin."""
        gap: int | None = None
        while at < len(self.lines) and not self._starts_file(at):
            line = self.lines[at]
            header = HUNK_HEADER.match(line) if line.startswith(b"@@ -") else None
            if header is None:
                self._note_no_hunk(at, section)
                gap = at if gap is None else gap
                at += 1
                continue
            if gap is not None and section.hunks:
                self._note_gap(gap, at)
            gap = None
            old_start, old_count, new_start, new_count = (int(number or 1) for number in header.groups())
            at = self._hunk(at, (old_start, old_count, new_start, new_count), section)
        self._finish(section)
        return at

    def _note_no_hunk(self, at: int, section: Section) -> None:
        """Lines between the header and the hunks of a section, between its hunks, or after them."""
        line = self.lines[at]
        named, started = section.new_side is not None, bool(section.hunks)
        if line[0] in b" @" and line.lstrip(b" ").startswith(b"@@"):
            self._damage(at, section, ProblemKind.HUNK_HEADER, "no hunk header: it needs the form @@ -1,2 +1,2 @@")
        elif line[0] in b"+-" and named and not started and not section.damaged:
            self._damage(at, section, ProblemKind.HUNK_HEADER, "a change without a hunk header before it")
        elif is_extended_header(line) and section.git and not started:
            self._damage(at, section, ProblemKind.STRAY_HEADER, "a header line of git out of its place")
        elif line.startswith(b"--- ") and line[4:].strip():
            kind = ProblemKind.MISSING_PLUS if named or not section.git else ProblemKind.STRAY_HEADER
            self._damage(at, section, kind, 'no "+++ " line after "--- "')

    def _damage(self, at: int, section: Section, kind: ProblemKind, text: str) -> None:
        section.damaged = True
        self.note(at, kind, text)

    def _note_gap(self, start: int, end: int) -> None:
        if all(is_blank_line(line) for line in self.lines[start:end]):
            self.note(start, ProblemKind.BLANK_GAP, "blank lines between two hunks of a file")
        else:
            self.note(start, ProblemKind.TEXT_GAP, "text between two hunks of a file")

    def _hunk(self, at: int, stated: tuple[int, int, int, int], section: Section) -> int:
        lines, start = self.lines, at + 1
        body = counted_body(lines, start, stated[1], stated[3])
        end = extra = body.end
        if body.complete:
            extra = extra_end(lines, end)
        else:
            end = extra = likely_end(lines, start)
            self.note(at, ProblemKind.HUNK_COUNTS, f"the hunk does not have {stated[1]} old and {stated[3]} new lines")
        if extra > end:
            edits = any(line[0] in b"+-" for line in lines[end:extra])
            kind = ProblemKind.EXTRA_EDITS if edits else ProblemKind.EXTRA_CONTEXT
            self.note(end, kind, "lines go on after the hunk has all that its header states")
        if extra < len(lines) and lines[extra].startswith(b"\\"):
            self.note(extra, ProblemKind.MARKER, 'not a marker: it needs the form "\\ No newline at end of file"')
        if body.blank is not None:
            self.note(body.blank, ProblemKind.BLANK_CONTEXT, "a blank context line without its leading space")
        sound = body.complete and extra == end
        hunk = Hunk(start, lines[at], *stated, tuple(lines[start:end]), tuple(lines[end:extra]), sound)
        section.hunks.append(hunk)
        return extra

    def _binary(self, at: int, section: Section) -> int:
        header, start = self.lines[at], at
        forward = binary.read_hunk(self.lines, at + 1)
        if forward is None:
            self._damage(at, section, ProblemKind.BINARY_DATA, "a binary patch without data")
            return at + 1
        at = self._end_of_data(forward[1])
        reverse = binary.read_hunk(self.lines, at)
        if reverse is not None:
            at = self._end_of_data(reverse[1])
        elif at < len(self.lines) and self.lines[at].startswith((b"literal ", b"delta ")):
            # Git takes it for the reverse data, cannot read it, and passes over the rest of the patch without a word.
            self.note(at, ProblemKind.BINARY_DATA, "the size of the reverse binary data is not a number")
        section.binary = BinaryData(start + 1, header, forward[0], reverse[0] if reverse else None)
        for read in (forward, reverse):
            if read is not None:
                self._check_data(read[0])
        return at

    def _check_data(self, hunk: BinaryHunk) -> None:
        """Git inflates the data of both directions when it reads a patch, and so must we: see `forms`."""
        try:
            self.inflated += len(binary.inflate(hunk, MAX_INFLATED_BYTES - self.inflated))
        except InputError as error:
            self.note(hunk.row - 1, ProblemKind.BINARY_DATA, error.problem)

    def _end_of_data(self, at: int) -> int:
        if at < len(self.lines) and is_blank_line(self.lines[at]):
            return at + 1
        if at == len(self.lines):
            self.note(at - 1, ProblemKind.BINARY_END, "no blank line after binary data")
        else:
            self.note(at, ProblemKind.BINARY_DATA, "a line that is not binary data as git writes them")
        return at

    def _dataless(self, at: int, section: Section) -> None:
        section.header.append(self.lines[at])
        section.dataless = True
        self.note(at, ProblemKind.BINARY_WITHOUT_DATA, "a binary file without its data")

    def _finish(self, section: Section) -> None:
        self.files.append(section.finish())
