"""A patch for grading: the forms in which it may be handed to `git apply` and to GNU patch.

What decides here was measured with git 2.39 and GNU patch 2.7 (tests/parsimony/patches/test_patches_cascade.py):

- git drops parts of a damaged patch and exits with 0 (edits beyond the counts of a hunk, a file behind a byte order
  mark, a hunk whose header it cannot read, everything from damaged binary data on). A form with such `losses` must not
  count as applied.
- GNU patch drops more (every hunk after a gap), makes empty files of binary ones without data and of submodules, and
  writes into `.git`. It gets a form of its own, made only of what was understood, or nothing.
- git reads headers that end in CR LF, but the body must match the file: LF files need the form without CR.
"""

from __future__ import annotations

from dataclasses import dataclass

from parsimony.patches.endings import to_crlf, to_lf, was_converted
from parsimony.patches.model import MODE_SUBMODULE, FilePatch, Patch, ProblemKind
from parsimony.patches.reader import parse
from parsimony.patches.repair import complete_modes, drop_dataless, recount, render, rendering_mends
from parsimony.patches.safety import crosses_link, refusals, touched

_SILENT_LOSSES = {
    ProblemKind.BYTE_ORDER_MARK: "git may pass over the file behind the byte order mark",
    ProblemKind.HEADER_GAP: "git reads hunks apart from the mode of their file",
    ProblemKind.EXTRA_EDITS: "git leaves out edits beyond the counts of a hunk",
    ProblemKind.MISSING_MODE: "git takes /dev/null for a file of the tree",
    ProblemKind.STRAY_HEADER: "git leaves out a header line out of its place",
    ProblemKind.HUNK_HEADER: "git leaves out a hunk whose header is malformed",
    ProblemKind.BINARY_DATA: "git stops at damaged binary data and leaves out the rest",
    ProblemKind.BINARY_IDS: "git does not apply binary data without whole blob ids",
    ProblemKind.BINARY_END: "git stops at binary data without a blank line after them",
    ProblemKind.COMBINED_DIFF: "git leaves out a combined diff",
}
# With one of these, what was understood is not all that the patch may say, so that nothing is made of it.
_NOT_UNDERSTOOD = (
    ProblemKind.TOO_LARGE,
    ProblemKind.NO_FILES,
    ProblemKind.COMBINED_DIFF,
    ProblemKind.MISSING_PLUS,
    ProblemKind.NAMES,
    ProblemKind.CONTRADICTION,
    ProblemKind.STRAY_HEADER,
    ProblemKind.HUNK_HEADER,
    ProblemKind.MARKER,
    ProblemKind.TEXT_GAP,
    ProblemKind.ORPHAN_HUNK,
    ProblemKind.BINARY_DATA,
    ProblemKind.BINARY_IDS,
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One form of a patch.

    Attributes:
        name: `raw`, `mended`, `recounted`, `lf`, `crlf`; `sections` for GNU patch.
        data: the bytes to hand over.
        repairs: what was done to the patch as submitted, one clause each.
        losses: what git leaves out of this form without an error, one clause each. A form with losses must not count
            as applied, whatever git's exit status.
    """

    name: str
    data: bytes
    repairs: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A patch ready for grading.

    Attributes:
        patch: what was read.
        variants: forms for `git apply`, in the order to try them; the patch as submitted is always the first.
        fuzzy: the one form for `patch --fuzz`; None where GNU patch cannot be trusted with this patch.
        touched: every path, old and new, in the order of the patch (see `safety.touched`).
        refused: why the patch must not be applied at all; empty if it may.
    """

    patch: Patch
    variants: tuple[Variant, ...]
    fuzzy: Variant | None
    touched: tuple[bytes, ...]
    refused: tuple[str, ...]

    @property
    def applicable(self) -> tuple[Variant, ...]:
        """The forms that may count as applied: those without losses, and none of a refused patch."""
        return () if self.refused else tuple(variant for variant in self.variants if not variant.losses)

    @property
    def data(self) -> bytes:
        """The first form to try."""
        return (self.applicable or self.variants)[0].data

    @property
    def repairs(self) -> tuple[str, ...]:
        """What was done to the patch in its first form to try."""
        return (self.applicable or self.variants)[0].repairs


def prepare(data: bytes) -> Prepared:
    """Read a patch, mend it where that is safe, and say what it touches and whether it may be applied.

    Raises nothing for any input.
    """
    patch = parse(data)
    refused = refusals(patch)
    raw = Variant("raw", data, losses=_losses(patch))
    paths = touched(patch)
    if refused or patch.has(*_NOT_UNDERSTOOD) or not patch.files:
        return Prepared(patch, (raw,), None, paths, refused)
    mended = _mended(patch)
    if mended is None:
        return Prepared(patch, (raw,), None, paths, refused)
    name, files, repairs = mended
    forms = [raw]
    if repairs:
        forms.append(Variant(name, render(files), repairs))
    for ending, convert in (("lf", to_lf), ("crlf", to_crlf)):
        converted, changes = convert(files)
        if changes:
            forms.append(Variant(ending, render(converted), (*repairs, *changes)))
    return Prepared(patch, tuple(forms), _fuzzy(patch, files, repairs), paths, refused)


def _losses(patch: Patch) -> tuple[str, ...]:
    losses = [
        f"{_SILENT_LOSSES[problem.kind]} (line {problem.row})"
        for problem in patch.problems
        if problem.kind in _SILENT_LOSSES
    ]
    for file in patch.files:
        # A dataless section makes git refuse the patch, but only where it sees that the file is binary.
        if file.dataless and (not file.git or was_converted(file)):
            losses.append(f"git leaves out a binary file without data (line {file.row})")
        if file.binary is not None and file.binary.header.endswith(b"\r\n"):
            losses.append(f"git does not see binary data behind CR LF (line {file.binary.row})")
    return tuple(losses)


def _mended(patch: Patch) -> tuple[str, tuple[FilePatch, ...], tuple[str, ...]] | None:
    """The sections after every mend, the name of that form, and what was mended; None if too little is left."""
    files, dropped = drop_dataless(patch.files)
    recounted = recount(files)
    if not files or recounted is None:
        return None
    files, counted = recounted
    files, completed = complete_modes(files)
    repairs = (*rendering_mends(patch), *dropped, *completed, *counted)
    return "recounted" if counted else "mended", files, repairs


def _fuzzy(patch: Patch, files: tuple[FilePatch, ...], repairs: tuple[str, ...]) -> Variant | None:
    if crosses_link(patch):
        return None
    if any(file.binary is not None or MODE_SUBMODULE in (file.old_mode, file.new_mode) for file in files):
        return None
    changes: list[str] = []
    if any(was_converted(file) for file in files):
        files, changes = to_lf(files)
    data, done = render(files), (*repairs, *changes)
    if data != patch.data and not done:
        done = ("text around the diff left out",)
    return Variant("sections", data, done)
