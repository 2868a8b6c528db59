"""The file of a nightly (`configs/nightly.example.yaml`): a closed, typed schema. docs/nightly.md tells the fields."""

from __future__ import annotations

import contextlib
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from cluster.sweep import Sweep, read_sweep
from cluster.yamlfile import read_yaml
from parsimony.ab import Options
from parsimony.audit.canaries import names as canary_names
from parsimony.cli.refresh_config import ScheduleRow
from parsimony.errors import InputError
from parsimony.nightly import Owners, Rule, read_date
from parsimony.schedules import Job, Schedule

DATE = "{date}"
"""Stands for the date of the night in names of prediction files."""


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StatisticsRow(_Closed):
    """How nights are compared, and over how many of them tasks are looked at."""

    alpha: float = Field(0.01, gt=0, lt=1)
    smallest_effect: float = Field(0.02, gt=0, lt=1)
    window: int = Field(14, ge=2, le=1000)

    def options(self) -> Options:
        """For `parsimony.ab.compare`."""
        return Options(alpha=self.alpha, smallest_effect=self.smallest_effect)


class OwnerRow(_Closed):
    """Whose tasks these are: patterns for names of tasks or repositories."""

    owner: str = Field(min_length=1)
    task: str | None = None
    repo: str | None = None

    @field_validator("owner")
    @classmethod
    def _told(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("is no name; write a name or an address in one line")
        return value.strip()

    @model_validator(mode="after")
    def _some(self) -> OwnerRow:
        if self.task is None and self.repo is None:
            raise ValueError("fits nothing; give a pattern under `task:` or `repo:` (`*` fits every one)")
        return self


class CanariesRow(_Closed):
    """Gradings whose verdicts are known beforehand."""

    tasks: int | tuple[str, ...] = 2
    wrong: tuple[str, ...] = ("empty", "trivial", "exit-zero")

    @field_validator("tasks")
    @classmethod
    def _number(cls, value: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if isinstance(value, int) and not 0 <= value <= 1000:
            raise ValueError("is no number of tasks; write 0 to 1000, or names of tasks")
        return value

    @field_validator("wrong")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in canary_names():
                raise ValueError(f"holds {name!r}, which is no canary; known: {', '.join(canary_names())}")
        return tuple(dict.fromkeys(value))

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self.tasks)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class NightlyFile(_Closed):
    """A nightly."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")
    sweep: str = Field(min_length=1)
    nights: str = Field(min_length=1)
    arms: Names = Field(min_length=1)
    predictions: Names = ()
    statistics: StatisticsRow = StatisticsRow()
    accept: Literal["first", "passed", "manual"] = "first"
    owners: tuple[OwnerRow, ...] = ()
    canaries: CanariesRow = CanariesRow()
    schedule: ScheduleRow | None = None

    @field_validator("arms")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise ValueError("names an arm twice; name each once")
        return value

    @field_validator("schedule")
    @classmethod
    def _days(cls, value: ScheduleRow | None) -> ScheduleRow | None:
        every = value.schedule().every if value is not None else None
        if every is not None and every % timedelta(days=1):
            raise ValueError("is no number of days; nights have the names of dates: write `every: 1d`, or `cron:`")
        return value


class Configured:
    """A nightly as its file wants it; relative paths are taken from the file's folder."""

    def __init__(self, path: Path, file: NightlyFile) -> None:
        self.path = path
        self.file = file
        self.name = file.name
        self.folder = path.parent / file.nights
        self.options = file.statistics.options()
        self.schedule = file.schedule.schedule() if file.schedule is not None else None
        self.owners = Owners([Rule(row.owner, row.task, row.repo) for row in file.owners])

    def begun(self) -> list[date]:
        """Dates of which there is a folder."""
        found = []
        for path in self.folder.glob("????-??-??"):
            with contextlib.suppress(InputError):  # a folder of another kind
                found.append(read_date(path.name))
        return sorted(found)

    def planned(self) -> Schedule:
        """The schedule.

        Raises:
            InputError: the file has none.
        """
        if self.schedule is None:
            mend = "add `schedule:` with `cron: 30 3 * * *` or `every: 1d`"
            raise InputError("is missing", mend=mend, file=str(self.path), field="schedule")
        return self.schedule

    def sweep(self, day: date) -> Sweep:
        """The sweep of a date.

        Raises:
            InputError: its file cannot be read, or plans no arm that the nightly names.
        """
        sweep = read_sweep(self.path.parent / self.file.sweep)
        if self.file.predictions:
            beside = self.path.resolve().parent
            found = [beside / name.replace(DATE, str(day)) for name in self.file.predictions]
            sweep = sweep.model_copy(update={"predictions": tuple(found)})
        for arm in self.file.arms:
            if sweep.arms is not None and arm not in sweep.arms:
                mend = f"the sweep plans {', '.join(sweep.arms)}"
                raise InputError(
                    f"names {arm!r}, which the sweep does not plan", mend=mend, file=str(self.path), field="arms"
                )
        return sweep

    def job(self) -> Job:
        """What a timer starts."""
        path = self.path.resolve()
        words = ("parsimony", "nightly", "run", str(path), "--if-due")
        slug = self.name.lower().replace(".", "-").replace("_", "-").strip("-")
        return Job(f"parsimony-nightly-{slug}"[:52].rstrip("-"), f"Nightly {self.name}", words, path.parent, "nights")


def read(path: Path) -> Configured:
    """The nightly of a file.

    Raises:
        InputError: it is not of the schema; names the line and the mend.
    """
    return Configured(path, read_yaml(path, NightlyFile))
