"""One night as plain data (`night.json`): what each task came to, so that later nights can be held against it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from parsimony.canonical import digest_json
from parsimony.errors import InputError
from parsimony.nightly.gate import Canary

if TYPE_CHECKING:
    from parsimony.ab import Grid
    from parsimony.runs import Run, Settings

SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class TaskNight:
    """One task of one arm.

    Attributes:
        resolved, missing, seeds: how many seeds are resolved, have no verdict, and were planned.
        flaky: whether executions of one and the same candidate disagree.
        patches: digest of what was graded, all seeds together: equal patches are the same candidates.
        outcomes: how often each outcome came.
        seconds: of grading, wall time, all seeds together.
    """

    task_id: str
    repo: str
    resolved: int
    missing: int
    seeds: int
    flaky: bool
    patches: str
    outcomes: Mapping[str, int]
    seconds: float

    @property
    def verdict(self) -> bool | None:
        """Whether most seeds resolve it (a tie does not); None where missing ones could turn that."""
        if 2 * self.resolved <= self.seeds < 2 * (self.resolved + self.missing):
            return None
        return 2 * self.resolved > self.seeds


@dataclass(frozen=True, slots=True)
class Cost:
    """What an arm's candidates took in one night: producing them, as their predictions tell, and grading each once.

    Attributes:
        dollars, tokens: None where not every candidate tells them.
        cpu_seconds: of grading.
    """

    dollars: float | None
    tokens: int | None
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class ArmNight:
    """One arm.

    Attributes:
        settings: what it was produced and graded under, as recorded that night.
        rate, interval, bounds: of the resolve rate, as `parsimony.ab` reads an arm.
    """

    settings: Mapping[str, Any]
    rate: float
    interval: tuple[float, float]
    bounds: tuple[float, float]
    cost: Cost
    tasks: tuple[TaskNight, ...]

    @property
    def missing(self) -> int:
        """Candidates without a verdict."""
        return sum(task.missing for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Night:
    """One night.

    Attributes:
        run_id: of its run.
        quarantined: tasks that failed their audit and take no part: `repo` and `reasons` by name.
        rejected: rows that could not be read.
    """

    day: date
    run_id: str
    arms: Mapping[str, ArmNight]
    canaries: tuple[Canary, ...] = ()
    quarantined: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rejected: int = 0

    @property
    def missing(self) -> int:
        """Candidates without a verdict, of all arms."""
        return sum(arm.missing for arm in self.arms.values())

    def to_json(self) -> dict[str, Any]:
        """As `night.json` holds it."""
        plain = asdict(self)
        return {"schema": SCHEMA, "date": str(plain.pop("day")), **plain}

    @property
    def digest(self) -> str:
        """Of its content."""
        return digest_json(json.loads(json.dumps(self.to_json())))

    @classmethod
    def read(cls, path: Path) -> Night:
        """The night of a file.

        Raises:
            InputError: it cannot be read, or is no file that `to_json` wrote.
        """
        mend = "run the night again to write it"
        try:
            data = json.loads(path.read_bytes())
            return _night(data)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", mend=mend, file=str(path)) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InputError("is not the record of a night", mend=mend, file=str(path)) from None


def _night(data: Mapping[str, Any]) -> Night:
    if data["schema"] != SCHEMA:
        raise ValueError
    arms = {
        name: ArmNight(
            settings=arm["settings"],
            rate=arm["rate"],
            interval=(arm["interval"][0], arm["interval"][1]),
            bounds=(arm["bounds"][0], arm["bounds"][1]),
            cost=Cost(**arm["cost"]),
            tasks=tuple(TaskNight(**task) for task in arm["tasks"]),
        )
        for name, arm in data["arms"].items()
    }
    canaries = tuple(Canary(**{**one, "reasons": tuple(one["reasons"])}) for one in data["canaries"])
    day = date.fromisoformat(data["date"])
    return Night(day, data["run_id"], arms, canaries, data["quarantined"], data["rejected"])


def night_of(day: date, run: Run, arms: Iterable[str], canaries: Iterable[Canary], rejected: int = 0) -> Night:
    """The record of a run's arms; quarantined tasks take no part.

    Raises:
        InputError: the run has no arm of a name, or nothing in it counts.
    """
    from parsimony import ab  # noqa: PLC0415 - loads numpy

    counted = run.counted()
    source = ab.Source(counted)
    quarantined = {
        task: {"repo": run.tasks[task].repo, "reasons": list(reasons)} for task, reasons in run.quarantined.items()
    }
    found = {arm: _arm(source.grid(arm), run.settings[arm]) for arm in arms}
    return Night(day, run.run_id, found, tuple(canaries), quarantined, rejected)


def _arm(grid: Grid, settings: Settings) -> ArmNight:
    from parsimony.ab.inference import read_arm  # noqa: PLC0415

    reading = read_arm(grid, 0.95)
    costs = list(grid.costs.values())
    dollars = [one.dollars for one in costs if one.dollars is not None]
    tokens = [one.tokens for one in costs if one.tokens is not None]
    whole = len(grid.cells)
    cost = Cost(
        dollars=sum(dollars) if dollars and len(dollars) == whole else None,
        tokens=sum(tokens) if tokens and len(tokens) == whole else None,
        cpu_seconds=sum(one.cpu for one in costs),
    )
    return ArmNight(asdict(settings), reading.mean, reading.interval, reading.bounds, cost, tuple(_tasks(grid)))


def _tasks(grid: Grid) -> Iterable[TaskNight]:
    for task in grid.tasks:
        cells = [grid.cells.get((task, seed)) for seed in grid.seeds]
        there = [cell for cell in cells if cell is not None]
        verdicts = [None if cell is None else cell.verdict for cell in cells]
        outcomes: dict[str, int] = {}
        for cell in there:
            for outcome, number in cell.outcomes.items():
                outcomes[outcome.value] = outcomes.get(outcome.value, 0) + number
        yield TaskNight(
            task_id=task,
            repo=grid.facts[task].repo if task in grid.facts else "",
            resolved=verdicts.count(True),
            missing=verdicts.count(None),
            seeds=len(verdicts),
            flaky=any(cell.flaky for cell in there),
            patches=digest_json([[cell.seed, cell.trials[0].patch_ref] for cell in there]),
            outcomes=outcomes,
            seconds=sum(trial.compute.wall_seconds for cell in there for trial in cell.trials if trial.compute),
        )
