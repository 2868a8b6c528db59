"""Predictions become `Candidate`s: `instance_id`, `model_name_or_path`, `model_patch` of SWE-bench, and ours: `arm`,
`seed`, `usage`, `trace`, `model_patch_base64`. Other fields are left aside.

Who a candidate is: its task, its arm (`arm`, else `model_name_or_path`) and its seed. Several predictions of one arm
for one task are a seeds axis; the last never wins. A candidate without `seed` gets the number of candidates of its
task and arm that were taken before it, or, where another has that number, the next one that is free. Since numbers
are given in the order of the rows, a later row whose explicit seed is already given away is rejected as well.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from datetime import date
from pathlib import Path

from parsimony.errors import InputError
from parsimony.tasks.fields import Fields
from parsimony.tasks.model import Candidate, Rejected, Trace, Usage
from parsimony.tasks.tables import ID, Row, read_rows

_USAGE = tuple(part.name for part in fields_of(Usage))
_TRACE = tuple(part.name for part in fields_of(Trace))


@dataclass(frozen=True, slots=True)
class CandidateFile:
    """What prediction files hold: the candidates in their order, and the rows that were not taken."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]


def read_predictions(
    paths: str | Path | Iterable[str | Path],
    *,
    known: Collection[str] | None = None,
    arm: str | None = None,
) -> CandidateFile:
    """The candidates of one or several files (JSON, also as an object keyed by id, JSON lines, gzip of these, Parquet).

    Args:
        paths: read in this order, as if they were one file.
        known: ids of the tasks; a candidate for another is rejected. None = any.
        arm: the arm of all these candidates, whatever the rows say.

    Raises:
        InputError: a file as a whole cannot be read.
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    tasks = frozenset(known) if known is not None else None
    seeds = _Seeds()
    candidates: list[Candidate] = []
    rejected: list[Rejected] = []
    for file in files:
        for number, row in read_rows(file):
            source = f"{file}:{number}"
            try:
                if isinstance(row, InputError):
                    raise row
                candidates.append(_candidate(row, source, tasks, arm, seeds))
            except InputError as error:
                told = row.get(ID) if isinstance(row, dict) else None
                problem = str(error.at(file=str(file), row=number))
                rejected.append(Rejected(source, problem, told if isinstance(told, str) else None))
    return CandidateFile(tuple(candidates), tuple(rejected))


@dataclass(slots=True)
class _Seeds:
    """The seeds given so far, by task and arm, each with the row that has it."""

    taken: dict[tuple[str, str], dict[int, str]] = field(default_factory=dict)

    def give(self, task: str, arm: str, wish: int | None, source: str) -> int:
        """The seed for the next candidate of `task` and `arm`. To be called when nothing else can reject it."""
        taken = self.taken.setdefault((task, arm), {})
        if wish in taken:
            problem = f"is {wish}, which {arm!r} already has for {task!r} at {taken[wish]}"
            raise InputError(problem, mend="give every candidate of a task and arm a seed of its own", field="seed")
        seed = len(taken) if wish is None else wish
        while seed in taken:
            seed += 1
        taken[seed] = source
        return seed


def _candidate(row: Row, source: str, tasks: Collection[str] | None, given_arm: str | None, seeds: _Seeds) -> Candidate:
    fields = Fields(row)
    instance_id = fields.identifier(ID)
    if instance_id is None:
        raise InputError("is missing", mend="name the task that the patch is for", field=ID)
    if tasks is not None and instance_id not in tasks:
        raise InputError(f"{instance_id[:80]!r} is no task of this run", mend="remove it or add the task", field=ID)
    model = fields.identifier("model_name_or_path")
    arm = given_arm or fields.identifier("arm") or model
    if arm is None:
        raise InputError("there is neither arm nor model_name_or_path", mend="say whose patch it is", field="arm")
    wish = fields.integer("seed")
    patch = fields.payload("model_patch") or b""
    usage, trace = _usage(fields), _trace(fields)
    seed = seeds.give(instance_id, arm, wish, source)
    return Candidate(
        instance_id=instance_id,
        arm=arm,
        seed=seed,
        patch=patch,
        model=model,
        usage=usage,
        trace=trace,
        source=source,
    )


def _usage(row: Fields) -> Usage | None:
    fields = row.nested("usage", _USAGE)
    if fields is None:
        return None
    return Usage(
        model=fields.identifier("model"),
        input_tokens=fields.integer("input_tokens"),
        cached_tokens=fields.integer("cached_tokens"),
        output_tokens=fields.integer("output_tokens"),
        calls=fields.integer("calls"),
        cpu_seconds=fields.number("cpu_seconds"),
        wall_seconds=fields.number("wall_seconds"),
        dollars=fields.number("dollars"),
        day=_day(fields),
    )


def _day(fields: Fields) -> date | None:
    told = fields.identifier("day")
    try:
        return None if told is None else date.fromisoformat(told)
    except ValueError:
        raise fields.wrong("day", "a day such as 2026-11-30") from None


def _trace(row: Fields) -> Trace | None:
    fields = row.nested("trace", _TRACE)
    if fields is None:
        return None
    return Trace(*(fields.texts(name) or () for name in _TRACE))
