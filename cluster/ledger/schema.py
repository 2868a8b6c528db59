"""What a ledger holds: kinds of rows, their columns, and the version of both.

The rule that keeps old ledgers readable: a column is never removed, renamed or retyped, and what is added later may be
null. `SCHEMA_VERSION` goes up with every addition; a `Migration` is needed only when an added column can be filled from
the others. No Arrow in here, so that a writer that only appends need not load it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from parsimony.errors import InputError
from parsimony.execution import Evidence, ExecutionOutcome

SCHEMA_VERSION = 3


class Type(StrEnum):
    """Types of columns. The three kinds of text differ in how they are checked and stored, not in what Arrow sees.

    KEY: an identity, (nearly) unique per row. NAME: a name that many rows share, dictionary-encoded. TEXT: prose or
    JSON text; lone surrogates are escaped, because what a candidate printed must not stop a run. TEXTS: a list of TEXT.
    TIME: epoch seconds in Python, `timestamp[us, UTC]` in Arrow. BYTES: binary.
    """

    KEY = "key"
    NAME = "name"
    TEXT = "text"
    TEXTS = "texts"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT = "float"
    TIME = "time"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        required: never null. Only columns of the first version may be.
        values: the closed set of values; empty = open.
        since: the schema version that brought it.
    """

    name: str
    type: Type
    required: bool = False
    values: frozenset[str] = frozenset()
    since: int = 1


Columns = Mapping[str, Column]
Migration = Callable[[str, Any], Any]
"""(kind, pyarrow.Table in the current columns, newer ones null) -> table of the same shape, one version further."""


@dataclass(frozen=True, slots=True)
class Schema:
    """All kinds at one version.

    Attributes:
        kinds: kind -> column name -> column, in the order of the tables.
        migrations: version -> how its tables become tables of the next version; absent = nothing to fill in.
    """

    version: int
    kinds: Mapping[str, Columns]
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    def columns(self, kind: str) -> Columns:
        """The columns of a kind. Raises InputError for a kind that does not exist."""
        if kind not in self.kinds:
            raise self.unknown_kind(kind)
        return self.kinds[kind]

    def select(self, kind: str, names: Sequence[str] | None) -> Columns:
        """The named columns of a kind, all when `names` is None. Raises InputError for none and for unknown ones."""
        columns = self.columns(kind)
        if names is None:
            return columns
        if not names:
            raise InputError("no column is named", mend="name some, or give None for all", field=kind)
        for name in names:
            if name not in columns:
                raise self.unknown_column(kind, name)
        return {name: columns[name] for name in names}

    def unknown_kind(self, kind: str) -> InputError:
        """The error for a kind that does not exist."""
        mend = f"use one of {', '.join(self.kinds)}"
        return InputError(f"there is no kind {kind!r} in a ledger", mend=mend, field=kind)

    def unknown_column(self, kind: str, name: str) -> InputError:
        """The error for a column that a kind does not have."""
        mend = f"use some of {', '.join(self.kinds[kind])}"
        return InputError(f"{kind} rows have no column {name!r}", mend=mend, field=f"{kind}.{name}")


def _kind(*columns: Column) -> Columns:
    return {column.name: column for column in columns}


def _enum(name: str, values: frozenset[str], *, required: bool = False) -> Column:
    return Column(name, Type.NAME, required, values)


def _columns(type_: Type, *names: str, required: bool = False, since: int = 1) -> tuple[Column, ...]:
    return tuple(Column(name, type_, required, since=since) for name in names)


ENDINGS = frozenset({"done", "temporary", "permanent", "lost", "cancelled"})
COST_KINDS = frozenset({"llm", "compute_spent", "compute_attributed"})
EXECUTION_OUTCOMES = frozenset(ExecutionOutcome)
SCORE_OUTCOMES = frozenset(
    {
        "resolved",
        "not_resolved",
        "empty_patch",
        "does_not_apply",
        "timed_out",
        "out_of_memory",
        "tampered",
        "missing",
    }
)
EVIDENCE = frozenset(Evidence)

_ATTEMPT = _kind(
    *_columns(Type.KEY, "job_key", required=True),
    *_columns(Type.INT32, "attempt", required=True),
    *_columns(Type.NAME, "agent"),
    *_columns(Type.TIME, "started_at", "ended_at"),
    _enum("ending", ENDINGS),
    *_columns(Type.NAME, "fault"),
    *_columns(Type.TEXT, "message"),
)

_EXECUTION = _kind(
    *_columns(Type.KEY, "execution_key", required=True),
    *_columns(Type.NAME, "task_id"),
    *_columns(Type.KEY, "patch_ref"),
    *_columns(Type.NAME, "task_digest", "environment_digest", "image_digest", "sandbox", "runner_version"),
    *_columns(Type.INT32, "repeat"),
    *_columns(Type.NAME, "variant"),
    _enum("outcome", EXECUTION_OUTCOMES, required=True),
    *_columns(Type.INT32, "exit_status"),
    _enum("evidence", EVIDENCE),
    *_columns(Type.TEXTS, "reasons"),
    *_columns(Type.NAME, "apply_strategy"),
    *_columns(Type.TEXTS, "repairs", "restored"),
    *_columns(Type.TEXT, "apply_messages"),
    *_columns(Type.FLOAT, "wall_seconds", "cpu_seconds"),
    *_columns(Type.INT64, "peak_memory_bytes"),
    *_columns(Type.TEXT, "phases"),
    *_columns(Type.BYTES, "tests", "applied_patch"),
    *_columns(Type.INT64, "log_bytes"),
    *_columns(Type.KEY, "log_file"),
    *_columns(Type.TIME, "started_at", "recorded_at"),
    *_columns(Type.TEXT, "footprint", "base_files", since=2),
)

_SCORE = _kind(
    *_columns(Type.NAME, "task_id", "arm", required=True),
    *_columns(Type.INT64, "seed", required=True),
    *_columns(Type.INT32, "repeat", required=True),
    *_columns(Type.KEY, "execution_key", "score_key", "patch_ref"),
    _enum("outcome", SCORE_OUTCOMES, required=True),
    _enum("evidence", EVIDENCE),
    *_columns(Type.TEXTS, "reasons"),
    *_columns(Type.INT32, "attempts"),
    *_columns(Type.FLOAT, "wall_seconds", "cpu_seconds"),
    *_columns(Type.INT64, "peak_memory_bytes"),
    *_columns(Type.NAME, "apply_strategy"),
    *_columns(Type.TEXT, "score"),
    *_columns(Type.NAME, "scorer_version"),
    *_columns(Type.TIME, "recorded_at"),
)

_COST = _kind(
    *_columns(Type.NAME, "task_id", "arm"),
    *_columns(Type.INT64, "seed"),
    *_columns(Type.INT32, "repeat"),
    *_columns(Type.KEY, "execution_key"),
    _enum("kind", COST_KINDS, required=True),
    *_columns(Type.NAME, "model"),
    *_columns(Type.INT64, "input_tokens", "cached_tokens", "output_tokens", "calls"),
    *_columns(Type.FLOAT, "cpu_seconds", "wall_seconds"),
    *_columns(Type.INT64, "micro_dollars"),
    *_columns(Type.TIME, "recorded_at"),
    *_columns(Type.NAME, "day", since=3),
)

_EVENT = _kind(
    *_columns(Type.TIME, "at", required=True),
    *_columns(Type.NAME, "name", required=True),
    *_columns(Type.TEXT, "data"),
)

SCHEMA = Schema(
    version=SCHEMA_VERSION,
    kinds={"attempt": _ATTEMPT, "execution": _EXECUTION, "score": _SCORE, "cost": _COST, "event": _EVENT},
)
