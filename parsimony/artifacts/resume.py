"""Going on with a results file that was interrupted: only if it is of the very same measurement."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parsimony import strict_json
from parsimony.artifacts.examine import FETCH_ERROR
from parsimony.artifacts.plan import LIMIT, NOT_RESOLVED, NOT_SELECTED, Step
from parsimony.artifacts.records import Identity
from parsimony.artifacts.submission import Submission
from parsimony.errors import InputError
from parsimony.measurements import FULL_FILE, PATCH_ONLY, Record, read_bytes

_OTHER: Final = "give another --output, or the same submission, --ref, --dataset and options as before"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a results file must be of."""

    submission: Submission
    steps: Sequence[Step]
    identity: Identity
    patch_only: bool


def reopen(path: Path, wanted: Measurement) -> set[str]:
    """Tasks that a results file has, after its rows of `fetch_error` and a line that was cut off were taken out of it,
    by rename. A file that is not there has none.

    Raises:
        InputError: it is of another measurement; names the row and the field.
    """
    if not path.exists():
        return set()
    data = read_bytes(path)
    steps = {step.task_id: step for step in wanted.steps}
    kept: list[bytes] = []
    rows: dict[str, int] = {}
    done: set[str] = set()
    for number, line in _lines(data):
        record = _record(line, path, number)
        if record.task_id in rows:
            raise record.error(f"is there twice, first in line {rows[record.task_id]}", "keep one of the two")
        rows[record.task_id] = number
        _check(record, steps, wanted)
        if record.analysis_status != FETCH_ERROR:
            kept.append(line)
            done.add(record.task_id)
    content = b"".join(kept)
    if content != data:
        _replace(path, content)
    return done


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(number from 1, whole line). What follows the last line feed was being written when the writer was killed."""
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        if line.strip():
            yield number, line + b"\n"


def _record(line: bytes, path: Path, number: int) -> Record:
    try:
        value = strict_json.loads(line.strip())
    except InputError as error:
        place = error.place.field
        raise InputError(error.problem, mend=error.mend, file=str(path), row=number, field=place) from None
    return Record.from_json(value, file=str(path), row=number)


def _check(record: Record, steps: Mapping[str, Step], wanted: Measurement) -> None:
    """Raises InputError unless the record could have been written by this very command."""
    submission, identity = wanted.submission, wanted.identity
    step = steps.get(record.task_id)
    if step is None:
        raise record.error("is about a task outside of the dataset", _OTHER, "task_id")
    task = step.task
    for field, told, now in (
        ("agent", record.agent, submission.agent),
        ("provenance.results_sha256", record.provenance.get("results_sha256"), submission.provenance["results_sha256"]),
        ("provenance.ref", record.provenance.get("ref"), submission.provenance["ref"]),
        ("analyzer_version", record.analyzer_version, identity.analyzer_version),
        ("python_version", record.python_version, identity.python_version),
        ("measurement_track", record.track, identity.track),
        ("resolved", record.resolved, record.task_id in submission.resolved),
        ("published_resolved_count", record.published_resolved_count, len(submission.resolved)),
        ("benchmark_tasks", record.benchmark_tasks, len(steps)),
        ("provenance.base_commit", record.base, None if task is None else task.base),
    ):
        if told != now:
            raise record.error(f"was made of another measurement: {told}, now {now}", _OTHER, field)
    mode = PATCH_ONLY if wanted.patch_only else FULL_FILE
    if record.metrics is not None and record.metrics.mode != mode:
        raise record.error(f"was measured in mode {record.metrics.mode}, now {mode}", _OTHER, "metrics.mode")
    status = record.analysis_status
    if status in {NOT_SELECTED, LIMIT}:
        raise record.error(f"has the status {status}", "only full runs can be resumed", "analysis_status")
    passed_over = step.settled is not None and step.settled.status == NOT_RESOLVED
    if FETCH_ERROR not in {status, step.settled.status if step.settled else ""} and passed_over != (
        status == NOT_RESOLVED
    ):
        told = "was passed over" if status == NOT_RESOLVED else "was examined"
        raise record.error(f"{told}, and now would not be", "give --include-failed as before", "analysis_status")


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise InputError(problem, mend="check the path and its permissions", file=str(path)) from None
    finally:
        draft.unlink(missing_ok=True)
