"""Mending a patch that was read: each mend says what it did, and none guesses at content.

All functions take sections and give new ones; `render` writes them as a patch again, without the text around them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from parsimony.patches.hunks import HUNK_HEADER, count
from parsimony.patches.model import BinaryData, ChangeKind, FilePatch, Hunk, Patch, ProblemKind, show

_CRLF = b"\r\n"
_MENDED_BY_RENDERING = {
    ProblemKind.FINAL_NEWLINE: "final line feed added",
    ProblemKind.BYTE_ORDER_MARK: "byte order mark taken off",
    ProblemKind.BINARY_END: "blank line after binary data added",
    ProblemKind.HEADER_GAP: "lines between the headers of a file left out",
    ProblemKind.BLANK_GAP: "blank lines between hunks left out",
}
_MODE_LINES = {ChangeKind.ADD: b"new file mode 100644", ChangeKind.DELETE: b"deleted file mode 100644"}


def render(files: Iterable[FilePatch]) -> bytes:
    """The sections as a patch."""
    lines: list[bytes] = []
    for file in files:
        lines += file.header
        for hunk in file.hunks:
            lines.append(hunk.header)
            lines += hunk.body
            lines += hunk.extra
        if file.binary is not None:
            lines += _binary_lines(file.binary)
    return b"".join(lines)


def _binary_lines(binary: BinaryData) -> list[bytes]:
    blank = _CRLF if binary.header.endswith(_CRLF) else b"\n"
    lines = [binary.header, *binary.forward.lines, blank]
    if binary.reverse is not None:
        lines += (*binary.reverse.lines, blank)
    return lines


def rendering_mends(patch: Patch) -> list[str]:
    """What is mended by rendering alone."""
    return [
        f"{text} (line {problem.row})"
        for problem in patch.problems
        for kind, text in _MENDED_BY_RENDERING.items()
        if problem.kind is kind
    ]


def drop_dataless(files: tuple[FilePatch, ...]) -> tuple[tuple[FilePatch, ...], list[str]]:
    """Without the sections of binary files that bring no data: they make git refuse the whole patch."""
    kept = tuple(file for file in files if not file.dataless)
    return kept, [f"binary file without data left out: {show(file.path)}" for file in files if file.dataless]


def complete_modes(files: tuple[FilePatch, ...]) -> tuple[tuple[FilePatch, ...], list[str]]:
    """With "new file mode" and "deleted file mode" lines where "/dev/null" says that they belong.

    Without them git looks for a file dev/null, or makes one.
    """
    repairs: list[str] = []
    out: list[FilePatch] = []
    for file in files:
        line = _MODE_LINES.get(file.kind)
        if line is not None and file.git and not any(one.startswith(line[:12]) for one in file.header):
            end = b"\r\n" if file.header[0].endswith(b"\r\n") else b"\n"
            out.append(replace(file, header=(file.header[0], line + end, *file.header[1:])))
            repairs.append(f"{line.decode()} added: {show(file.path)}")
        else:
            out.append(file)
    return tuple(out), repairs


def recount(files: tuple[FilePatch, ...]) -> tuple[tuple[FilePatch, ...], list[str]] | None:
    """With hunk headers that state what the bodies hold. None if a hunk would hold no change at all."""
    repairs: list[str] = []
    out: list[FilePatch] = []
    for file in files:
        if all(hunk.sound for hunk in file.hunks):
            out.append(file)
            continue
        hunks: list[Hunk] = []
        for hunk in file.hunks:
            new = hunk if hunk.sound else _recounted(hunk)
            if new is None:
                return None
            if new.header != hunk.header:
                repairs.append(f"hunk at line {hunk.row} of {show(file.path)}: counts corrected to {_counts(new)}")
            hunks.append(new)
        out.append(replace(file, hunks=tuple(hunks)))
    return tuple(out), repairs


def _recounted(hunk: Hunk) -> Hunk | None:
    body = hunk.body + hunk.extra
    if not any(line[0] in b"+-" for line in body):
        return None
    old, new = count(body)
    stated = b"@@ -%d,%d +%d,%d @@" % (hunk.old_start, old, hunk.new_start, new)
    header = HUNK_HEADER.sub(stated, hunk.header, count=1)
    return replace(hunk, header=header, old_count=old, new_count=new, body=body, extra=(), sound=True)


def _counts(hunk: Hunk) -> str:
    return f"-{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count}"
