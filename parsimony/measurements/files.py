"""Results files, and what must hold among the records of one comparison."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parsimony import strict_json
from parsimony.errors import InputError
from parsimony.measurements.record import Record

_ONE = "compare records of one kind only, or measure them again with one analyzer"


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A results file: its records in their order, and the SHA-256 (hex) of the bytes they were read from."""

    path: str
    sha256: str
    records: tuple[Record, ...]


def read_results(path: str | Path, *, keep_seeds: bool = False) -> ResultsFile:
    """Read one results file: JSON lines, a record each; blank lines are skipped. No line means no record.

    Args:
        keep_seeds: leave an agent's seeds together; else each becomes an agent of its own (`seeds_apart`).

    The digest is of the very bytes that were parsed, also when the file changes meanwhile.

    Raises:
        InputError: the file cannot be read, or a line is no record; names file, line and field.
    """
    data = read_bytes(path)
    records = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            value = strict_json.loads(line.strip())
        except InputError as error:
            # What JSON says about a line is about a line within this one.
            raise InputError(
                error.problem, mend=error.mend, file=str(path), row=number, field=error.place.field
            ) from None
        records.append(Record.from_json(value, file=str(path), row=number))
    kept = tuple(records) if keep_seeds else seeds_apart(records)
    return ResultsFile(str(path), hashlib.sha256(data).hexdigest(), kept)


def seeds_apart(records: Iterable[Record]) -> tuple[Record, ...]:
    """Each seed of an agent as an agent of its own, `AGENT seed N`, for what takes one attempt per task."""
    return tuple(
        one if one.seed is None else replace(one, agent=f"{one.agent} seed {one.seed}", seed=None) for one in records
    )


def seeds_pooled(records: Sequence[Record]) -> tuple[Record, ...]:
    """The seeds of an agent as further attempts of the one agent, whose rate is then that of them all."""
    seeds = {(one.agent, one.seed): one for one in records if one.seed is not None}
    tasks, solved = Counter[str](), Counter[str]()
    for one in seeds.values():
        tasks[one.agent] += one.benchmark_tasks or 0
        solved[one.agent] += one.published_resolved_count or 0
    return tuple(
        one
        if one.seed is None or not tasks[one.agent]
        else replace(
            one,
            benchmark_tasks=tasks[one.agent],
            published_resolved_count=solved[one.agent],
            resolve_rate=solved[one.agent] / tasks[one.agent],
        )
        for one in records
    )


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise InputError(problem, mend="check the path and its permissions", file=str(path)) from None


def parse_records(values: Iterable[object]) -> tuple[Record, ...]:
    """Records from objects that did not come from a file; `row` counts them from 1."""
    return tuple(Record.from_json(value, row=number) for number, value in enumerate(values, start=1))


def by_agent(records: Iterable[Record]) -> dict[str, dict[str, Record]]:
    """{agent: {attempt: record}}, agents sorted. An attempt is a task, or `TASK seed N` where records have seeds.

    Raises:
        InputError: an agent has two records of one attempt.
    """
    found: dict[str, dict[str, Record]] = {}
    for record in records:
        attempts = found.setdefault(record.agent, {})
        if (earlier := attempts.setdefault(record.attempt, record)) is not record:
            before = f"{earlier.file}:{earlier.row}" if earlier.file else f"row {earlier.row}"
            raise record.error(f"is there twice, first at {before}", "keep one of the two")
    return dict(sorted(found.items()))


def require_one_track(records: Sequence[Record]) -> Mapping[str, object] | None:
    """The measurement track of all records; None when that is Python's, and when there is no record.

    Raises:
        InputError: there are two; their units are not comparable.
    """
    for record in records[1:]:
        if record.track != records[0].track:
            raise record.error("was measured on another track than the records before it", _ONE, "measurement_track")
    return records[0].track if records else None


def require_one_analyzer(records: Sequence[Record]) -> tuple[str, str]:
    """Analyzer version and Python version of all records, of which there must be one at least.

    Raises:
        InputError: they differ.
    """
    first = records[0]
    for record in records[1:]:
        for field in ("analyzer_version", "python_version"):
            here, there = getattr(record, field), getattr(first, field)
            if here != there:
                raise record.error(f"has {here}, the records before it {there}", _ONE, field)
    return first.analyzer_version, first.python_version


def require_one_rate(records: Iterable[Record]) -> float | None:
    """The resolve rate that one agent's records state; None when they state none.

    Raises:
        InputError: they state different ones.
    """
    rate: float | None = None
    for number, record in enumerate(records):
        if number and record.resolve_rate != rate:
            mend = "keep the records of one publication only"
            raise record.error(f"states the rate {record.resolve_rate}, before it was {rate}", mend, "resolve_rate")
        rate = record.resolve_rate
    return rate
