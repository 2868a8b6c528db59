"""What executions of past runs took, read from their ledgers, and which of them says most about a job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from cluster.ledger import LedgerReader
from cluster.plan import Work, load
from cluster.rows import epoch
from cluster.rundir import RunFolder
from cluster.sweep import read_sweep
from parsimony.errors import InputError

LEVELS: Final = ("task", "image", "repository", "all")
"""What a duration can come from, the best first."""

_COLUMNS: Final = [
    "task_id",
    "environment_digest",
    "sandbox",
    "wall_seconds",
    "cpu_seconds",
    "peak_memory_bytes",
    "phases",
]


@dataclass(frozen=True, slots=True)
class Sample:
    """One execution.

    Attributes:
        busy_s: seconds for which it kept a slot busy: all phases but the wait for a processor.
        wall_s: of its tests alone.
    """

    task_id: str
    environment: str | None
    busy_s: float
    wall_s: float
    cpu_s: float
    peak_bytes: int | None
    run: int


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that is over, or the one that is to go on.

    Attributes:
        executions: how many it recorded.
        result_bytes: what its ledger and logs take; None = only the ledger was given.
        overheads: seconds of each command on it during which no job ran.
    """

    path: str
    executions: int
    result_bytes: int | None = None
    overheads: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """Samples of past runs by task.

    Attributes:
        repositories: task -> repository, as far as it is known.
    """

    runs: tuple[PastRun, ...] = ()
    tasks: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    repositories: Mapping[str, str] = field(default_factory=dict)

    def groups(self) -> dict[str, dict[str, list[str]]]:
        """Level -> value -> the tasks that have samples there."""
        found: dict[str, dict[str, list[str]]] = {level: {} for level in LEVELS}
        for name, samples in self.tasks.items():
            found["task"][name] = [name]
            for environment in dict.fromkeys(x.environment for x in samples if x.environment is not None):
                found["image"].setdefault(environment, []).append(name)
            if name in self.repositories:
                found["repository"].setdefault(self.repositories[name], []).append(name)
            found["all"].setdefault("", []).append(name)
        return found

    @property
    def overhead_s(self) -> float | None:
        """The median of the seconds of a command during which no job ran; None = unknown."""
        every = [x for run in self.runs for x in run.overheads]
        return median(every) if every else None


def source_of(work: Work, groups: Mapping[str, Mapping[str, Sequence[str]]]) -> tuple[str, tuple[str, ...]]:
    """The best level that has samples for a job, and the tasks whose samples those are; (`unknown`, ()) without any."""
    # Sandboxes without images have one environment for every task: it says nothing about one of them.
    image = work.environment if work.task.image is not None else None
    keys = {"task": work.task.instance_id, "image": image, "repository": work.task.repo or None, "all": ""}
    for level in LEVELS:
        key = keys[level]
        if key is not None and key in groups[level]:
            return level, tuple(groups[level][key])
    return "unknown", ()


def read_history(paths: Iterable[Path], repositories: Mapping[str, str] | None = None) -> History:
    """The history of some folders of runs, or ledgers.

    Args:
        repositories: task -> repository, of the tasks that are known already.

    Raises:
        InputError: a folder has no ledger. LedgerCorrupt: one is damaged.
    """
    runs: list[PastRun] = []
    tasks: dict[str, list[Sample]] = {}
    known = dict(repositories or {})
    for path in dict.fromkeys(path.resolve() for path in paths):
        folder = RunFolder(path) if (path / "ledger").is_dir() else None
        reader = LedgerReader(folder.ledger if folder else path)
        count = 0
        for row in reader.rows("execution", _COLUMNS):
            sample = _sample(row, len(runs))
            if sample is not None:
                tasks.setdefault(sample.task_id, []).append(sample)
                count += 1
        size = _bytes_of(folder) if folder else None
        runs.append(PastRun(str(path), count, size, tuple(_overheads(reader))))
        if folder is not None:
            known = {**_repositories(folder), **known}
    return History(tuple(runs), {name: tuple(found) for name, found in tasks.items()}, known)


def _sample(row: Mapping[str, Any], run: int) -> Sample | None:
    wall = row["wall_seconds"]
    phases = {name: float(value) for name, value in json.loads(row["phases"] or "{}").items() if name != "queue"}
    busy = sum(phases.values()) or wall
    if row["task_id"] is None or not busy or busy <= 0:
        return None
    environment = row["environment_digest"] if row["sandbox"] != "process" else None
    cpu = row["cpu_seconds"] if row["cpu_seconds"] is not None else busy
    return Sample(row["task_id"], environment, busy, wall or busy, cpu, row["peak_memory_bytes"], run)


def _repositories(folder: RunFolder) -> dict[str, str]:
    """Of the tasks of a past run, where its task file can still be read."""
    try:
        inputs = load(read_sweep(folder.sweep), with_candidates=False)
    except (InputError, OSError):
        return {}
    return {name: task.repo for name, task in inputs.tasks.items() if task.repo}


def _bytes_of(folder: RunFolder) -> int:
    places = (folder.ledger, folder.logs, folder.base)
    return sum(file.stat().st_size for place in places for file in place.rglob("*") if file.is_file())


def _overheads(reader: LedgerReader) -> Iterable[float]:
    """For each command that ended: its seconds less those from its first attempt's start to its last one's end."""
    attempts = [
        (epoch(row["started_at"]), epoch(row["ended_at"]))
        for row in reader.rows("attempt", ["started_at", "ended_at"])
        if row["started_at"] is not None and row["ended_at"] is not None
    ]
    for row in reader.rows("event", ["at", "name", "data"]):
        if row["name"] != "run.ended":
            continue
        end, seconds = epoch(row["at"]), json.loads(row["data"])["wall_seconds"]
        within = [(a, b) for a, b in attempts if end - seconds <= a and b <= end]
        if within:
            yield max(0.0, seconds - (max(b for _, b in within) - min(a for a, _ in within)))
