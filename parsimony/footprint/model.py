"""The record of a footprint."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from parsimony.footprint.provenance import Provenance

Mode = Literal["full_file", "patch_only"]


@dataclass(frozen=True, slots=True)
class Footprint:
    """How much code a change leaves behind.

    Units are coding units of one track; tokens are lexical and a diagnostic. All counts are exact minima.

    Attributes:
        units_added, units_deleted, net_units, churn: units; net is added - deleted, churn is added + deleted. These and
            `structural_churn` are None, all five, if any file that counts does not parse on either side.
        structural_churn: churn that ignores identifiers and literals.
        tokens_added, tokens_deleted, net_tokens, token_churn: the same in tokens; None where they were not asked for,
            or the track has none.
        files_changed: files that count whose normalised code differs.
        ast_delta: nodes of the syntax tree, after minus before; None in mode patch_only or where a file does not parse.
        complexity_delta: the cyclomatic proxy, likewise.
        mode: full_file, or patch_only where only the lines of the hunks were compared (never to be pooled).
        touched_files: every path of the change, in its order.
        excluded_files: those that do not count: out of scope, or generated.
        lexical_files: those that do not parse on a side, so that only their tokens are known.
        approximate_files: always empty; the field is that of older records, whose long alignments were approximate.
        offset_hunks: hunks of the patch that were not at their stated line.
        exclusions: (path, reason) for each of `excluded_files`.
    """

    units_added: int | None
    units_deleted: int | None
    net_units: int | None
    churn: int | None
    structural_churn: int | None
    tokens_added: int | None
    tokens_deleted: int | None
    net_tokens: int | None
    token_churn: int | None
    files_changed: int
    ast_delta: int | None
    complexity_delta: int | None
    mode: Mode
    touched_files: tuple[str, ...]
    excluded_files: tuple[str, ...]
    lexical_files: tuple[str, ...]
    approximate_files: tuple[str, ...]
    offset_hunks: int
    exclusions: tuple[tuple[str, str], ...]
    provenance: Provenance

    def metrics(self) -> dict[str, object]:
        """The `metrics` object of a record: these fields, without exclusions and provenance, ready for JSON."""
        names = [field.name for field in fields(self) if field.name not in ("exclusions", "provenance")]
        values = {name: getattr(self, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def human_ratio(model: Footprint, human: Footprint) -> float | None:
    """Churn of a model's patch relative to that of the human one; None if that is zero or either is not known.

    Raises:
        ValueError: the two are of different tracks or modes, whose counts do not compare.
    """
    ours, theirs = model.provenance, human.provenance
    if (ours.track, ours.language, model.mode) != (theirs.track, theirs.language, human.mode):
        raise ValueError(f"{ours.language} {ours.track} {model.mode} does not compare with {theirs} {human.mode}")
    if model.churn is None or not human.churn:
        return None
    return model.churn / human.churn
