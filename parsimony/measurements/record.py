"""One record: what the measurement of one agent's patch for one task found, and how its evaluation ended.

A record is a JSON object, one a line in a results file (schema version 2). Here it becomes typed, and nothing that
contradicts itself gets through: counts are integers, net is added minus deleted, churn is added plus deleted. The
objects that other files take over as they are (`metrics`, `provenance`) stay available unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from parsimony.errors import InputError
from parsimony.tasks.fields import LARGEST_INTEGER, Fields

SCHEMA_VERSION: Final = 2
FULL_FILE: Final = "full_file"
PATCH_ONLY: Final = "patch_only"

_NO_ATTEMPT: Final = frozenset({"no_generation", "no_submission"})
_FAILED: Final = frozenset({"unresolved", "failed", "not_resolved"})
_EMPTY_PATCH_SHA256: Final = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


class Evaluation(StrEnum):
    """How an attempt ended, as far as its publisher says so. Absence from a list proves nothing: that is `UNKNOWN`."""

    RESOLVED = "resolved"
    FAILED = "failed"
    NO_ATTEMPT = "no_attempt"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Base:
    """The tree that a patch was made for."""

    repo: str
    base_commit: str

    def to_json(self) -> dict[str, str]:
        """As manifests and panels hold it."""
        return {"base_commit": self.base_commit, "repo": self.repo}


@dataclass(frozen=True, slots=True)
class Metrics:
    """The footprint of one patch. Units and tokens are counts; None is unknown and never zero.

    Attributes:
        mode: `full_file`, or `patch_only` for estimates from hunks alone.
        excluded_files: those of `touched_files` that are out of scope.
        raw: the object as it was read.
    """

    units_added: int | None
    units_deleted: int | None
    net_units: int | None
    churn: int | None
    structural_churn: int | None
    net_tokens: int | None
    token_churn: int | None
    ast_delta: int | None
    complexity_delta: int | None
    files_changed: int | None
    offset_hunks: int
    mode: str
    touched_files: tuple[str, ...]
    excluded_files: tuple[str, ...]
    lexical_files: tuple[str, ...]
    approximate_files: tuple[str, ...]
    raw: Mapping[str, object]

    @property
    def out_of_scope(self) -> bool:
        """Whether something was touched, and nothing that counts."""
        return bool(self.touched_files) and len(self.excluded_files) >= len(self.touched_files)

    @classmethod
    def from_json(cls, value: object, within: str = "metrics") -> Metrics:
        """The metrics in a record or in a panel's reference.

        Raises:
            InputError: a field has the wrong type, or counts contradict each other; names the field.
        """
        if not isinstance(value, dict):
            raise InputError.wrong(within, value, "an object or null")
        fields = Fields(value, within)
        mode = fields.text("mode")
        if mode not in {FULL_FILE, PATCH_ONLY}:
            raise fields.wrong("mode", f"{FULL_FILE} or {PATCH_ONLY}")
        metrics = cls(
            units_added=fields.integer("units_added"),
            units_deleted=fields.integer("units_deleted"),
            net_units=_signed(fields, "net_units"),
            churn=fields.integer("churn"),
            structural_churn=fields.integer("structural_churn"),
            net_tokens=_signed(fields, "net_tokens"),
            token_churn=fields.integer("token_churn"),
            ast_delta=_signed(fields, "ast_delta"),
            complexity_delta=_signed(fields, "complexity_delta"),
            files_changed=fields.integer("files_changed"),
            offset_hunks=fields.integer("offset_hunks") or 0,
            mode=mode,
            touched_files=fields.texts("touched_files") or (),
            excluded_files=fields.texts("excluded_files") or (),
            lexical_files=fields.texts("lexical_files") or (),
            approximate_files=fields.texts("approximate_files") or (),
            raw=value,
        )
        metrics._check(fields)
        return metrics

    def _check(self, fields: Fields) -> None:
        """Net and churn must be what the two counts say; a churn without the counts behind it proves nothing."""
        known = self.units_added is not None and self.units_deleted is not None
        if not known and self.churn is not None:
            missing = "units_added" if self.units_added is None else "units_deleted"
            raise fields.wrong(missing, "an integer, 0 or more, as churn is known")
        added, deleted = self.units_added or 0, self.units_deleted or 0
        for name, told, right in (
            ("net_units", self.net_units, added - deleted),
            ("churn", self.churn, added + deleted),
        ):
            if known and told is not None and told != right:
                raise fields.wrong(name, f"{right}, as {added} units were added and {deleted} deleted")


@dataclass(frozen=True, slots=True)
class Record:
    """What is known about one agent's attempt at one task.

    Attributes:
        categories: names of the lists that the publisher put this task on.
        analysis_status: `ok`, or why there is no measurement.
        analyzer_commit: None also when the record says null; see `has_analyzer_commit`.
        track: identity of the parsers of a language other than Python; None for Python.
        published_resolved_count, benchmark_tasks, resolve_rate: totals that the publisher states for the agent.
        seed: which of several attempts of the agent at the task; None where there is one only.
        file, row: where the record was read.
    """

    agent: str
    task_id: str
    resolved: bool
    categories: tuple[str, ...]
    analysis_status: str
    metrics: Metrics | None
    model_human_ratio: float | None
    analyzer_version: str
    python_version: str
    analyzer_commit: str | None
    has_analyzer_commit: bool
    track: Mapping[str, object] | None
    published_resolved_count: int | None
    benchmark_tasks: int | None
    resolve_rate: float | None
    base: Base | None
    patch_sha256: str | None
    provenance: Mapping[str, object]
    seed: int | None = None
    file: str | None = None
    row: int | None = None

    @property
    def evaluation(self) -> Evaluation:
        """How the attempt ended. Explicit words decide, and missing logs void what claims a failure."""
        if self.resolved:
            return Evaluation.RESOLVED
        if not _NO_ATTEMPT.isdisjoint(self.categories):
            return Evaluation.NO_ATTEMPT
        if "no_logs" in self.categories or _FAILED.isdisjoint(self.categories):
            return Evaluation.UNKNOWN
        return Evaluation.FAILED

    @property
    def analyzed(self) -> Metrics | None:
        """The metrics of a completed analysis, whether its units are known or not."""
        return self.metrics if self.analysis_status == "ok" else None

    @property
    def measured(self) -> Metrics | None:
        """The metrics of a completed analysis with known units."""
        metrics = self.analyzed
        return metrics if metrics is not None and None not in (metrics.net_units, metrics.churn) else None

    @property
    def attempt(self) -> str:
        """The task, and the seed where the record has one."""
        return self.task_id if self.seed is None else f"{self.task_id} seed {self.seed}"

    @property
    def has_patch(self) -> bool:
        """Whether bytes of a patch were seen; an empty file is none."""
        return self.patch_sha256 not in {None, _EMPTY_PATCH_SHA256}

    def error(self, problem: str, mend: str, field: str | None = None) -> InputError:
        """An error at this record's place that names agent and task."""
        told = f"{self.agent} on {self.task_id} {problem}"
        return InputError(told, mend=mend, file=self.file, row=self.row, field=field)

    @classmethod
    def from_json(cls, value: object, *, file: str | None = None, row: int | None = None) -> Record:
        """The record in an object of a results file.

        Raises:
            InputError: a field is missing, has the wrong type or contradicts another one; names place and field.
        """
        try:
            return cls._read(value, file, row)
        except InputError as error:
            raise error.at(file=file, row=row) from None

    @classmethod
    def _read(cls, value: object, file: str | None, row: int | None) -> Record:
        if not isinstance(value, dict):
            raise InputError(f"is no object: {str(value)[:40]!r}", mend="a record is an object, one a line")
        fields = Fields(value)
        if (version := fields.integer("schema_version")) is not None and version > SCHEMA_VERSION:
            raise fields.wrong("schema_version", f"at most {SCHEMA_VERSION}; newer records need a newer Parsimony")
        resolved = fields.flag("resolved")
        if resolved is None:
            raise fields.wrong("resolved", "true or false")
        track, metrics = value.get("measurement_track"), value.get("metrics")
        if track is not None and not isinstance(track, dict):
            raise fields.wrong("measurement_track", "an object, or absent for Python")
        provenance = value.get("provenance")
        if not isinstance(provenance, dict):
            raise fields.wrong("provenance", "an object")
        return cls(
            agent=required_text(fields, "agent"),
            task_id=required_text(fields, "task_id"),
            resolved=resolved,
            categories=fields.texts("published_result_categories") or (),
            analysis_status=required_text(fields, "analysis_status"),
            metrics=None if metrics is None else Metrics.from_json(metrics),
            model_human_ratio=fields.number("model_human_ratio"),
            analyzer_version=required_text(fields, "analyzer_version"),
            python_version=required_text(fields, "python_version"),
            analyzer_commit=fields.text("analyzer_commit"),
            has_analyzer_commit="analyzer_commit" in value,
            track=track,
            published_resolved_count=fields.integer("published_resolved_count"),
            benchmark_tasks=fields.integer("benchmark_tasks"),
            resolve_rate=fields.number("resolve_rate", most=1),
            base=read_base(provenance, "provenance"),
            patch_sha256=Fields(provenance, "provenance").text("patch_sha256"),
            provenance=provenance,
            seed=fields.integer("seed"),
            file=file,
            row=row,
        )


def read_base(value: Mapping[str, object], within: str) -> Base | None:
    """The base that `repo` and `base_commit` name, None when one of the two is not there.

    Raises:
        InputError: one of them is no text.
    """
    fields = Fields(value, within)
    repo, commit = fields.text("repo"), fields.text("base_commit")
    return Base(repo, commit) if repo is not None and commit is not None else None


def required_text(fields: Fields, name: str) -> str:
    """A field that must be there.

    Raises:
        InputError: it is not, or it is no text of printable characters.
    """
    value = fields.identifier(name)
    if value is None:
        raise fields.wrong(name, "a text that is not blank")
    return value


def _signed(fields: Fields, name: str) -> int | None:
    return fields.integer(name, least=-LARGEST_INTEGER)
