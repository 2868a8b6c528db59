"""Patches applied in memory to the files that they change: what the footprint is measured on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from parsimony.errors import InputError
from parsimony.patches.model import ChangeKind, FilePatch
from parsimony.patches.place import place
from parsimony.patches.plain import DEV_NULL, PlainSection, read_plain, text_lines
from parsimony.patches.reader import MAX_PATCH_BYTES
from parsimony.patches.strict import MAX_RESULT_BYTES, Section, apply_strict
from parsimony.scope import ScopeDecision, classify, language_of

Files = Mapping[str, bytes] | Callable[[str], bytes | None]
Counts = Callable[[str, bool], ScopeDecision]
"""Whether a path counts; the second argument says that there is no such file before the patch."""

_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class FileResult:
    """One section as applied.

    Attributes:
        old_path, new_path: None where there is no file on that side.
        before, after: the content on both sides. In mode "measure" it is without a byte order mark, and a file that a
            patch deletes leaves what the patch does not take out of it.
        offset_hunks: how many hunks were not at their stated line.
        keeps_old: the file at `old_path` stays as it is: the patch copies it.
    """

    old_path: str | None
    new_path: str | None
    before: bytes | None
    after: bytes | None
    offset_hunks: int = 0
    keeps_old: bool = False

    @property
    def path(self) -> str:
        """The path to speak of: the new one, else the old one."""
        return self.new_path or self.old_path or DEV_NULL


@dataclass(frozen=True, slots=True, eq=False)
class PatchResult(Mapping[str, bytes | None]):
    """What a patch makes of the files that count: path -> new content, None for a path that is gone.

    Attributes:
        files: the same by section, in the order of the patch.
        touched_files: the path of every section, in its order: the new path, else the old one.
        exclusions: (path, reason) of those that do not count; they were neither read nor changed.
    """

    files: tuple[FileResult, ...]
    touched_files: tuple[str, ...]
    exclusions: tuple[tuple[str, str], ...]
    contents: Mapping[str, bytes | None] = field(init=False)

    def __post_init__(self) -> None:
        contents: dict[str, bytes | None] = {
            file.old_path: None for file in self.files if file.old_path is not None and not file.keeps_old
        }
        contents.update((file.new_path, file.after) for file in self.files if file.new_path is not None)
        object.__setattr__(self, "contents", contents)

    @property
    def excluded_files(self) -> tuple[str, ...]:
        """The paths that do not count."""
        return tuple(path for path, _ in self.exclusions)

    @property
    def offset_hunks(self) -> int:
        """How many hunks were not at their stated line."""
        return sum(file.offset_hunks for file in self.files)

    def __getitem__(self, path: str) -> bytes | None:
        return self.contents[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.contents)

    def __len__(self) -> int:
        return len(self.contents)


def any_language(path: str, new_file: bool) -> ScopeDecision:
    """Whether a path counts for the language that claims its suffix."""
    language = language_of(path)
    if language is None:
        return ScopeDecision(in_scope=False, reason="unknown_suffix")
    return classify(path, language=language, new_file=new_file)


def apply(
    files: Files,
    patch: bytes,
    *,
    mode: Literal["measure", "strict"] = "measure",
    counts: Counts = any_language,
) -> PatchResult:
    """Apply a patch to the files that count, in memory, without any fuzz.

    Args:
        files: path -> content before, or a function that gives it. A path that is missing, or None, is no file; one
            that does not count is never asked for.
        patch: a missing final line feed is restored; an empty or blank patch changes nothing.
        mode: "measure" has the published rules (`parsimony.patches.plain`). "strict" also takes what these refuse:
            renames, copies, modes, empty new files, quoted and spaced names, any line but for its line feed.
        counts: which paths to look at. A section counts when both of its paths do.

    Raises:
        InputError: the patch is malformed, changes a file that counts twice, leaves the tree, or does not fit; `row` is
            the line of the patch.
    """
    if mode not in ("measure", "strict"):
        raise InputError.wrong("mode", mode, "measure or strict; to grade a patch see prepare()")
    return (_measure if mode == "measure" else _strict)(_lookup(files), patch, counts)


def _lookup(files: Files) -> Callable[[str], bytes | None]:
    if not callable(files):
        return files.get

    def look(path: str) -> bytes | None:
        try:
            return files(path)
        except KeyError:
            return None

    return look


def hunks(patch: bytes, *, counts: Counts = any_language) -> PatchResult:
    """The lines of the hunks alone, as if they were the files: `before` and `after` are those of all hunks of one.

    For a patch whose base is not at hand, by the rules of mode "measure".

    Raises:
        InputError: the patch is malformed.
    """
    sections, exclusions, touched = _plain_sections(patch, counts)
    return PatchResult(tuple(map(_hunk_lines, sections)), touched, exclusions)


def _measure(lookup: Callable[[str], bytes | None], patch: bytes, counts: Counts) -> PatchResult:
    sections, exclusions, touched = _plain_sections(patch, counts)
    results: list[FileResult] = []
    total = 0
    for section in sections:
        results.append(_place(section, lookup))
        total += len(results[-1].after or b"")
        if total > MAX_RESULT_BYTES:
            raise InputError(f"the result is over the limit of {MAX_RESULT_BYTES} bytes", mend="split the patch")
    return PatchResult(tuple(results), touched, exclusions)


Exclusions = tuple[tuple[str, str], ...]


def _plain_sections(patch: bytes, counts: Counts) -> tuple[list[PlainSection], Exclusions, tuple[str, ...]]:
    """The sections that count, what is left out and why, and the paths of all sections."""
    if len(patch) > MAX_PATCH_BYTES:
        raise InputError(f"a patch of {len(patch)} bytes is over the limit of {MAX_PATCH_BYTES}", mend="split it")
    text = _decode(patch, "the patch", None)
    if not text.strip():
        return [], (), ()
    sections = read_plain(text, lambda path: counts(path, False).in_scope)
    exclusions: list[tuple[str, str]] = []
    taken: dict[str, PlainSection] = {}
    for section in sections:
        old = None if section.old == DEV_NULL else section.old
        decision = _decide(old, section.path, counts)
        if not decision.in_scope:
            exclusions.append((section.path, decision.reason))
            continue
        if section.path in taken:
            raise InputError(f"{section.path} has two sections", mend="merge them into one", row=section.row)
        if not section.edits:
            raise InputError(f"{section.path} has no text hunks", mend="leave the section out", row=section.row)
        taken[section.path] = section
    return list(taken.values()), tuple(exclusions), tuple(section.path for section in sections)


def _decide(old: str | None, path: str, counts: Counts) -> ScopeDecision:
    """A section counts when both of its paths do."""
    decision = counts(path, old is None)
    return counts(old, False) if decision.in_scope and old is not None else decision


def _hunk_lines(section: PlainSection) -> FileResult:
    before = "".join(line for edit in section.edits for line in edit.old)
    after = "".join(line for edit in section.edits for line in edit.new)
    old, new = (None if path == DEV_NULL else path for path in (section.old, section.new))
    return FileResult(old, new, before.encode(), after.encode())


def _place(section: PlainSection, lookup: Callable[[str], bytes | None]) -> FileResult:
    absent = section.old == DEV_NULL
    before = None if absent else lookup(section.old)
    if before is None and not absent:
        raise InputError(f"{section.old} is not in the base", mend="make the patch against it", row=section.row)
    text = _decode(before or b"", section.old, section.row).removeprefix(_MARK)
    lines, offset_hunks = place(text_lines(text, section.old), section.edits)
    return FileResult(
        None if absent else section.old,
        None if section.new == DEV_NULL else section.new,
        None if absent else text.encode(),
        "".join(lines).encode(),
        offset_hunks,
    )


def _decode(data: bytes, what: str, row: int | None) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            mend="only UTF-8 sources are measured",
            row=row,
        ) from None


def _strict(lookup: Callable[[str], bytes | None], patch: bytes, counts: Counts) -> PatchResult:
    touched: list[str] = []
    exclusions: list[tuple[str, str]] = []

    def take(file: FilePatch) -> bool:
        old, new = _text(file.old_path), _text(file.new_path)
        path = new or old or DEV_NULL
        touched.append(path)
        decision = _decide(old, path, counts)
        if not decision.in_scope:
            exclusions.append((path, decision.reason))
        return decision.in_scope

    result = apply_strict(patch, lambda path: lookup(_decode_path(path)), counts=take)
    return PatchResult(tuple(map(_file_result, result.sections)), tuple(touched), tuple(exclusions))


def _file_result(section: Section) -> FileResult:
    patch = section.patch
    old, new = _text(patch.old_path), _text(patch.new_path)
    kept = patch.kind is ChangeKind.COPY
    return FileResult(old, new, section.before, section.after, section.offset_hunks, keeps_old=kept)


def _text(path: bytes | None) -> str | None:
    return None if path is None else _decode_path(path)


def _decode_path(path: bytes) -> str:
    """A path as text; bytes that are not UTF-8 as `os.fsdecode` shows them."""
    return path.decode("utf-8", "surrogateescape")
