"""The footprint of a change: which of its files count, what differs in each, and the sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from parsimony.errors import InputError
from parsimony.footprint.align import Edits
from parsimony.footprint.generated import is_generated
from parsimony.footprint.model import Footprint, Mode
from parsimony.footprint.provenance import provenance
from parsimony.footprint.tracks import Dialects, FileChange, Track, load_track
from parsimony.patches import PatchResult, apply, hunks
from parsimony.patches.application import Counts, Files
from parsimony.scope import classify

DEFAULT_TRACK = "units-v1"
"""The default track of Python; that of another language is the first of its `track_names`."""

_PLAIN_TRACKS = frozenset({DEFAULT_TRACK, "typescript-compiler-units-v1", "tree-sitter-units-v1"})
"""Tracks whose published numbers rest on the published rules for patches (`parsimony.patches.plain`)."""


def measure(
    files: Mapping[str, tuple[bytes | None, bytes | None]],
    *,
    track: str | None = None,
    language: str = "python",
    tokens: bool = True,
) -> Footprint:
    """The footprint of a change to whole files.

    Args:
        files: path -> (content before, content after); None where there is no file. Files that are not named do not
            change.
        track: the rules for coding units; see `docs/footprint.md`. None is the default one of the language.
        tokens: count tokens as well; without them it takes less time, and their fields are None.

    Raises:
        InputError: a path or the track cannot be used, or a file that counts cannot be measured at all (too large, not
            UTF-8, nothing that the tokenizer takes); `file` is its path.
    """
    rules = load_track(track, language=language)
    sums = _Sums(rules, tokens=tokens)
    for path, (before, after) in files.items():
        _check_path(path)
        if before is None and after is None:
            raise InputError("exists on neither side", mend="leave it out", file=path)
        sums.touched.append(path)
        decision = classify(path, language=language, new_file=before is None)
        if not decision:
            sums.exclusions.append((path, decision.reason))
            continue
        sums.take(path, before, after)
    return sums.footprint("full_file")


def measure_patch(
    files: Files,
    patch: bytes,
    *,
    track: str | None = None,
    language: str = "python",
    tokens: bool = True,
) -> Footprint:
    """The footprint of a patch against the exact files that it was made for.

    Track `units-v1` and the published ones of other languages have the published rules for patches: renames, modes and
    quoted names of files that count are errors. Other tracks take these, and a renamed file is compared with what it
    was.

    Args:
        files: path -> content before, or a function that gives it (None: no such file), for files that count.

    Raises:
        InputError: as `measure` does, or the patch is malformed or does not apply; `row` is its line.
    """
    rules = load_track(track, language=language)
    strict = rules.name not in _PLAIN_TRACKS
    result = apply(files, patch, mode="strict" if strict else "measure", counts=_counts(language))
    return _of_result(result, rules, tokens=tokens).footprint("full_file", result.offset_hunks)


def measure_hunks(
    patch: bytes, *, track: str | None = None, language: str = "python", tokens: bool = True
) -> Footprint:
    """An estimate from the lines of the hunks alone, where the files are not at hand: mode `patch_only`.

    Hunks seldom parse, so that most of the time only tokens are known. Never to be pooled with `measure_patch`.

    Raises:
        InputError: the patch is malformed, or its lines cannot be split into tokens.
    """
    rules = load_track(track, language=language)
    result = hunks(patch, counts=_counts(language))
    return _of_result(result, rules, tokens=tokens).footprint("patch_only")


def _counts(language: str) -> Counts:
    return lambda path, new_file: classify(path, language=language, new_file=new_file)


def _of_result(result: PatchResult, rules: Track, *, tokens: bool) -> _Sums:
    sums = _Sums(rules, tokens=tokens, touched=list(result.touched_files), exclusions=list(result.exclusions))
    for file in result.files:
        copied = file.keeps_old
        sums.take(file.path, None if copied else file.before, file.after)
    return sums


def _check_path(path: str) -> None:
    if not path or path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise InputError("is no path within a repository", mend="name files relative to its root", file=path or None)


@dataclass(slots=True)
class _Sums:
    """The files seen so far, and their sums."""

    rules: Track
    tokens: bool
    touched: list[str] = field(default_factory=list)
    exclusions: list[tuple[str, str]] = field(default_factory=list)
    changes: dict[str, FileChange] = field(default_factory=dict)

    def take(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Measure one file that counts, unless its text before says that a program wrote it."""
        try:
            if before and is_generated(self.rules.text(before, "before"), language=self.rules.language):
                self.exclusions.append((path, "generated_header"))
                return
            rules = self.rules.dialect(path) if isinstance(self.rules, Dialects) else self.rules
            self.changes[path] = rules.compare(before, after, tokens=self.tokens)
        except InputError as error:
            raise error.at(file=path) from None

    def footprint(self, mode: Mode, offset_hunks: int = 0) -> Footprint:
        """The record."""
        changes = self.changes.values()
        units = _total(change.units for change in changes)
        blind = _total(change.blind for change in changes)
        tokens = _total(change.tokens for change in changes) if self.tokens else None
        full = mode == "full_file"
        excluded = {path for path, _ in self.exclusions}
        return Footprint(
            units_added=units.added if units else None,
            units_deleted=units.deleted if units else None,
            net_units=units.net if units else None,
            churn=units.total if units else None,
            structural_churn=blind.total if blind else None,
            tokens_added=tokens.added if tokens else None,
            tokens_deleted=tokens.deleted if tokens else None,
            net_tokens=tokens.net if tokens else None,
            token_churn=tokens.total if tokens else None,
            files_changed=sum(change.changed for change in changes),
            ast_delta=_sum(change.nodes for change in changes) if full else None,
            complexity_delta=_sum(change.branches for change in changes) if full else None,
            mode=mode,
            touched_files=tuple(self.touched),
            excluded_files=tuple(path for path in self.touched if path in excluded),
            lexical_files=tuple(path for path, change in self.changes.items() if change.units is None),
            approximate_files=(),
            offset_hunks=offset_hunks,
            exclusions=tuple(self.exclusions),
            provenance=provenance(self.rules.name, self.rules.language, self.rules.parser),
        )


def _total(edits: Iterable[Edits | None]) -> Edits | None:
    """The sum; None if any part is not known."""
    added = deleted = 0
    for one in edits:
        if one is None:
            return None
        added += one.added
        deleted += one.deleted
    return Edits(added, deleted)


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total
