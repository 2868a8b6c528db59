"""Line ends of a patch: the same sections for files with the other kind of line end.

What a patch says about line ends is lost when it is converted on its way (a Windows host, a model that writes only LF).
The bytes as given come first; these forms are for when they do not fit. Only exact application may use them: matching
every context line is what shows that the guess is right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from parsimony.patches.model import (
    MODE_SUBMODULE,
    MODE_SYMLINK,
    BinaryData,
    BinaryHunk,
    ChangeKind,
    FilePatch,
    Hunk,
    is_blank_line,
    is_marker,
    show,
    split_lines,
)

_CRLF = b"\r\n"
Files = tuple[FilePatch, ...]


def to_lf(files: Files) -> tuple[Files, list[str]]:
    """CR LF -> LF, section by section, and a line on each that changes.

    Where even the headers end in CR LF the patch was converted on its way: every line of the section loses one CR.
    Else only bodies that have CR LF throughout, and only of files that exist before: those of new files are meant.
    """
    return _each(files, _section_to_lf, "CR LF line ends made LF")


def to_crlf(files: Files) -> tuple[Files, list[str]]:
    """LF -> CR LF in the bodies of text files that exist before and have no CR LF in this patch."""
    return _each(files, _section_to_crlf, "LF line ends made CR LF")


def was_converted(file: FilePatch) -> bool:
    """Whether even the header lines of a section end in CR LF."""
    return bool(file.header) and all(line.endswith(_CRLF) for line in file.header)


def _each(files: Files, change: Callable[[FilePatch], FilePatch], what: str) -> tuple[Files, list[str]]:
    changed = tuple(change(file) for file in files)
    repairs = [f"{what}: {show(new.path)}" for old, new in zip(files, changed, strict=True) if old is not new]
    return changed, repairs


def _section_to_lf(file: FilePatch) -> FilePatch:
    if was_converted(file):
        return replace(
            file,
            header=_map_lf(file.header),
            hunks=tuple(_hunk_to_lf(hunk) for hunk in file.hunks),
            binary=file.binary and _binary_to_lf(file.binary),
        )
    if file.kind is not ChangeKind.ADD and _is_text(file) and all(_is_crlf(hunk) for hunk in file.hunks):
        return replace(file, hunks=tuple(_hunk_to_lf(hunk) for hunk in file.hunks))
    return file


def _section_to_crlf(file: FilePatch) -> FilePatch:
    if file.kind is ChangeKind.ADD or not _is_text(file) or was_converted(file):
        return file
    if any(_CRLF in b"".join(hunk.body) for hunk in file.hunks):
        return file
    return replace(file, hunks=tuple(replace(hunk, body=_body_to_crlf(hunk.body)) for hunk in file.hunks))


def _is_text(file: FilePatch) -> bool:
    special = (MODE_SYMLINK, MODE_SUBMODULE)
    return bool(file.hunks) and file.old_mode not in special and file.new_mode not in special


def _is_crlf(hunk: Hunk) -> bool:
    """Whether every line of a body ends in CR LF; the last line of a file may end in nothing."""
    if not hunk.body or _CRLF not in hunk.body[0]:
        return False
    return all(
        line.endswith(_CRLF) or is_marker(line) or is_marker(following)
        for line, following in zip(hunk.body, (*hunk.body[1:], b""), strict=True)
    )


def _map_lf(lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(line[:-2] + b"\n" if line.endswith(_CRLF) else line for line in lines)


def _hunk_to_lf(hunk: Hunk) -> Hunk:
    (header,) = _map_lf((hunk.header,))
    return replace(hunk, header=header, body=_map_lf(hunk.body), extra=_map_lf(hunk.extra))


def _binary_to_lf(data: BinaryData) -> BinaryData:
    def convert(hunk: BinaryHunk) -> BinaryHunk:
        return replace(hunk, lines=_map_lf(hunk.lines))

    (header,) = _map_lf((data.header,))
    return replace(data, header=header, forward=convert(data.forward), reverse=data.reverse and convert(data.reverse))


def _body_to_crlf(body: tuple[bytes, ...]) -> tuple[bytes, ...]:
    text = b"".join(body)
    if b"\n\\" not in text and b"\n\n" not in text and not text.startswith(b"\n"):
        return tuple(split_lines(text.replace(b"\n", _CRLF)))
    out = []
    for line, following in zip(body, (*body[1:], b""), strict=True):
        if is_marker(line) or is_marker(following):
            out.append(line)
        elif is_blank_line(line):
            out.append(b" " + _CRLF)  # git takes a bare LF for blank context, but no bare CR LF
        else:
            out.append(line[:-1] + _CRLF)
    return tuple(out)
