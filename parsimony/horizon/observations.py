"""What a horizon is estimated from: for each task, how long a person needs and how an arm's runs scored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parsimony.errors import InputError
from parsimony.plainrows import PlainRow, read_plain_rows
from parsimony.runs import Run

Floats = NDArray[np.float64]

ENOUGH_REPOSITORIES: Final = 6
"""From so many repositories on, they are the families; the rule of comparisons (docs/comparisons.md)."""
SHORTEST: Final = 1e-6
LONGEST: Final = 1e9
"""Minutes: 60 microseconds, and some nineteen hundred years."""


@dataclass(frozen=True, slots=True)
class Minutes:
    """How long a person who knows the trade needs for a task. `family` is None where nobody told one."""

    minutes: float
    family: str | None = None


def read_minutes(path: Path) -> tuple[dict[str, Minutes], list[InputError]]:
    """Times by task, from a table of task_id, minutes[, family]; and the rows that could not be taken.

    Raises:
        InputError: the file cannot be read, or none of its rows can be taken.
    """
    found: dict[str, Minutes] = {}
    rejected: list[InputError] = []
    for row in read_plain_rows(path, ("task_id", "minutes"), ("family",)):
        try:
            if isinstance(row, InputError):
                raise row
            task = row.text("task_id")
            if task in found:
                raise InputError(f"has {task!r} again", mend="keep one of its rows", field="task_id")
            found[task] = _minutes(row)
        except InputError as error:
            number = row.number if isinstance(row, PlainRow) else None
            rejected.append(error.at(file=str(path), row=number))
    if not found:
        raise rejected[0]
    return found, rejected


def _minutes(row: PlainRow) -> Minutes:
    minutes = row.number_of("minutes")
    if not SHORTEST <= minutes <= LONGEST:
        raise InputError.wrong("minutes", row.values["minutes"], f"from {SHORTEST:g} to {LONGEST:g}")
    return Minutes(minutes, row.text("family") if row.values.get("family") not in {None, ""} else None)


@dataclass(frozen=True, slots=True)
class TimedTask:
    """A task of one arm.

    Attributes:
        scores: of each run, from 0 to 1; at least one.
    """

    task_id: str
    minutes: float
    family: str
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0 < self.minutes < math.inf:
            raise InputError.wrong("minutes", self.minutes, "more than 0 and finite")
        if not self.scores or not all(0 <= score <= 1 for score in self.scores):
            raise InputError.wrong("scores", self.scores, "one or more numbers from 0 to 1")


@dataclass(frozen=True, slots=True)
class Observations:
    """The tasks of an arm that have a time and a verdict.

    Attributes:
        missing: the tasks with runs that have no verdict, those runs as if they had failed.
        untimed: tasks that nobody told a time of; they take no part.
    """

    arm: str
    tasks: tuple[TimedTask, ...]
    missing: tuple[TimedTask, ...]
    untimed: tuple[str, ...]

    @property
    def missing_runs(self) -> int:
        """How many timed runs have no verdict."""
        return sum(len(task.scores) for task in self.missing)

    def filled(self, score: float) -> tuple[TimedTask, ...]:
        """The tasks as they would be if every missing run had this score."""
        whole = {task.task_id: task for task in self.tasks}
        for task in self.missing:
            known = whole[task.task_id].scores if task.task_id in whole else ()
            whole[task.task_id] = replace(task, scores=(*known, *[score] * len(task.scores)))
        return tuple(whole.values())


def observe(run: Run, arm: str, minutes: Mapping[str, Minutes]) -> Observations:
    """What a run saw of an arm. A run of a task is a candidate; its score is the share of its repeats that resolve.

    The family of a task is the one told with its time; else its repository, where the tasks are of six or more; else
    each task is a family of its own.
    """
    verdicts: dict[str, dict[int, list[bool | None]]] = {}
    for trial in run.of(arm):
        verdicts.setdefault(trial.task_id, {}).setdefault(trial.seed, []).append(trial.resolved)
    families = _families(run, verdicts, minutes)
    tasks: list[TimedTask] = []
    missing: list[TimedTask] = []
    untimed = []
    for name, by_seed in sorted(verdicts.items()):
        if name not in minutes:
            untimed.append(name)
            continue
        scores = tuple(_scores(by_seed.values()))
        for group, its in ((tasks, scores), (missing, (0.0,) * (len(by_seed) - len(scores)))):
            if its:
                group.append(TimedTask(name, minutes[name].minutes, families[name], its))
    return Observations(arm, tuple(tasks), tuple(missing), tuple(untimed))


def _scores(seeds: Iterable[list[bool | None]]) -> Iterator[float]:
    for repeats in seeds:
        known = [verdict for verdict in repeats if verdict is not None]
        if known:
            yield sum(known) / len(known)


def _families(run: Run, names: Iterable[str], minutes: Mapping[str, Minutes]) -> dict[str, str]:
    timed = [name for name in names if name in minutes]
    repositories = {name: run.tasks[name].repo for name in timed if name in run.tasks}
    by_repository = len(set(repositories.values())) >= ENOUGH_REPOSITORIES
    found = {}
    for name in timed:
        told = minutes[name].family
        # A prefix keeps a family that is called like a repository or a task apart from it.
        other = f"repository {repositories[name]}" if by_repository and name in repositories else f"task {name}"
        found[name] = f"family {told}" if told is not None else other
    return found
