"""Many possible courses of a run, drawn from what past executions took: totals with intervals come from them.

The model, for one course:

- the whole run is faster or slower than past runs by one factor (between-run spread of tasks that several runs have);
- a job whose task has five executions or more takes what one of them took, drawn with replacement;
- one whose task has fewer takes exp(m + e), where m is the task's mean of logarithms with its standard error and e is
  the spread within tasks, pooled over all that have two executions or more;
- one whose task has none does so for a task drawn anew for each course from its image, else its repository, else all:
  the same one for all jobs of the task, because they are alike.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cluster.forecast.history import History, Sample, source_of
from cluster.plan import Work

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SEED: Final = 20_240_501
MOST_NUMBERS: Final = 4_000_000
"""Jobs times courses: bounds time and memory."""
MOST_SCHEDULED: Final = 1_000_000
"""The same for courses that are scheduled onto slots, one job after another."""
ENOUGH: Final = 5
"""Executions of a task that stand for themselves."""
ASSUMED_WITHIN: Final = 0.25
"""Spread of the logarithm of a task's durations where no task was executed twice."""
ASSUMED_BETWEEN: Final = 0.15
"""Spread of the logarithm of a run's speed where fewer than two runs share a task."""
LEAST_BETWEEN: Final = 0.05
"""Two runs that happen to agree do not show that all do."""


@dataclass(frozen=True, slots=True)
class Courses:
    """What was drawn: arrays of shape (courses, jobs).

    Attributes:
        busy: seconds of a slot. wall: seconds of the tests alone. cpu: seconds of processors. gib: peak of memory in
            GiB; NaN where no sample tells it.
        expected: seconds of a slot per job, for the order; shape (jobs,).
    """

    busy: Array
    wall: Array
    cpu: Array
    gib: Array
    expected: Array
    assumed: tuple[str, ...]


def draw(pending: Sequence[Work], history: History) -> Courses | None:
    """Courses of the pending jobs; None where there is no history at all, or nothing to do."""
    import numpy as np  # noqa: PLC0415 - a second that other commands need not wait for

    if not history.tasks or not pending:
        return None
    random = np.random.default_rng(SEED)
    count = int(np.clip(MOST_NUMBERS // len(pending), 50, 1000))
    within, between, assumed = _spreads(history)
    jobs: dict[str, list[int]] = {}
    for place, work in enumerate(pending):
        jobs.setdefault(work.task.instance_id, []).append(place)
    shape = (count, len(pending))
    busy, wall, cpu, gib = (np.empty(shape) for _ in range(4))
    groups = history.groups()
    tables: dict[tuple[str, ...], _Table] = {}
    for places in jobs.values():
        names = source_of(pending[places[0]], groups)[1]
        table = tables.get(names) or tables.setdefault(names, _Table([history.tasks[name] for name in names]))
        chosen, factor = table.draw(random, count, len(places), within)
        for target, column in ((busy, 0), (wall, 1), (cpu, 2)):
            target[:, places] = table.values[chosen, column] * factor
        gib[:, places] = table.values[chosen, 3]
    speed = np.exp(random.normal(0.0, between, (count, 1)))
    busy, wall, cpu = busy * speed, wall * speed, cpu * speed
    return Courses(busy, wall, cpu, gib, np.median(busy, axis=0), assumed)


class _Table:
    """The samples of some tasks in one array: columns busy, wall, cpu, GiB."""

    def __init__(self, tasks: Sequence[Sequence[Sample]]) -> None:
        import numpy as np  # noqa: PLC0415

        every = [sample for samples in tasks for sample in samples]
        self.values = np.array(
            [(x.busy_s, x.wall_s, x.cpu_s, np.nan if x.peak_bytes is None else x.peak_bytes / 2**30) for x in every]
        )
        self.sizes = np.array([len(samples) for samples in tasks])
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
        logs = np.log(self.values[:, 0])
        self.means = np.add.reduceat(logs, self.starts) / self.sizes
        self.logs = logs

    def draw(
        self, random: np.random.Generator, courses: int, jobs: int, within: float
    ) -> tuple[NDArray[np.intp], Array]:
        """Which sample each job of one task takes in each course, and what its times are multiplied with."""
        import numpy as np  # noqa: PLC0415

        task = random.integers(len(self.sizes), size=courses)
        size = self.sizes[task][:, None]
        chosen = self.starts[task][:, None] + (random.random((courses, jobs)) * size).astype(np.intp)
        shift = random.normal(0.0, within, (courses, 1)) / np.sqrt(size)
        noise = random.normal(0.0, within, (courses, jobs))
        smooth = np.exp(self.means[task][:, None] - self.logs[chosen] + shift + noise)
        return chosen, np.where(size >= ENOUGH, 1.0, smooth)


def _spreads(history: History) -> tuple[float, float, tuple[str, ...]]:
    """Within tasks, between runs, and what had to be assumed."""
    import numpy as np  # noqa: PLC0415

    squares, freedom = 0.0, 0
    shifts: dict[int, list[float]] = {}
    for samples in history.tasks.values():
        by_run: dict[int, list[float]] = {}
        for sample in samples:
            by_run.setdefault(sample.run, []).append(float(np.log(sample.busy_s)))
        for logs in by_run.values():
            squares += float(np.var(logs)) * len(logs)
            freedom += len(logs) - 1
        if len(by_run) > 1:
            middle = np.mean([np.mean(logs) for logs in by_run.values()])
            for run, logs in by_run.items():
                shifts.setdefault(run, []).append(float(np.mean(logs) - middle))
    assumed = []
    if freedom:
        within = float(np.sqrt(squares / freedom))
    else:
        within = ASSUMED_WITHIN
        assumed.append(f"executions of a task differ by {ASSUMED_WITHIN:.0%}: no task was executed twice")
    if len(shifts) > 1:
        runs = [float(np.mean(found)) for found in shifts.values()]
        between = max(LEAST_BETWEEN, float(np.std(runs, ddof=1)) * (1 + 1 / len(runs)) ** 0.5)
    else:
        between = ASSUMED_BETWEEN
        assumed.append(
            f"one run is faster or slower than another by {ASSUMED_BETWEEN:.0%}: no two past runs share a task"
        )
    return within, between, tuple(assumed)


def makespans(courses: Courses, slots: int) -> Array:
    """Seconds until the last job ends, for some of the courses: whichever slot is free takes the longest job left."""
    import numpy as np  # noqa: PLC0415

    count = int(np.clip(MOST_SCHEDULED // courses.busy.shape[1], 20, len(courses.busy)))
    order = np.argsort(-courses.expected, kind="stable")
    return np.array([_makespan(row, slots) for row in courses.busy[:count, order].tolist()])


def _makespan(seconds: Sequence[float], slots: int) -> float:
    ends = list(seconds[:slots])
    heapq.heapify(ends)
    for one in seconds[slots:]:
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends, default=0.0)


def sources(pending: Sequence[Work], history: History) -> Mapping[str, int]:
    """How many of the pending jobs have their durations from which level."""
    groups = history.groups()
    found: dict[str, int] = {}
    for work in pending:
        level = source_of(work, groups)[0]
        found[level] = found.get(level, 0) + 1
    return found
