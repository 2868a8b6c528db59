"""The file of a refresh (`configs/refresh.example.yaml`): a closed, typed schema, and the plan that it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from cluster.yamlfile import read_yaml
from parsimony import refresh
from parsimony.cli import ledgerfile
from parsimony.contamination import Cutoff, Moment
from parsimony.errors import InputError
from parsimony.records import Role
from parsimony.refresh.url import MAX_BYTES, MIB, TIMEOUT_S
from parsimony.schedules import DEFAULT_GRACE, Cron, Job, Schedule, read_duration, write_duration
from parsimony.sets import parse_name

T = TypeVar("T")


def _told(read: Callable[[str], T], text: str) -> T:
    """What a reader makes of a text; its complaint as one that has no place of its own."""
    try:
        return read(text)
    except InputError as error:
        raise ValueError(f"{error.problem}; {error.mend}") from None


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceRow(_Closed):
    """A source: a folder of files of rows, or a URL of one."""

    name: str
    folder: str | None = None
    files: str = "*"
    url: str | None = None
    timeout_s: float = Field(TIMEOUT_S, gt=0, le=86400)
    max_mib: float = Field(MAX_BYTES / MIB, gt=0, le=1 << 20)

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return _told(parse_name, value)

    @field_validator("url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is not None:
            _told(refresh.check_url, value)
        return value

    @model_validator(mode="after")
    def _one(self) -> SourceRow:
        if (self.folder is None) == (self.url is None):
            raise ValueError("needs a folder or a url, and not both; write one of the two")
        return self

    def source(self, beside: Path, defaults: dict[str, Any]) -> refresh.Source:
        """The source. A folder is relative to `beside`."""
        if self.url is not None:
            return refresh.UrlSource(self.name, self.url, defaults, self.timeout_s, round(self.max_mib * MIB))
        return refresh.FolderSource(self.name, beside / str(self.folder), defaults, self.files)


class RetiredRow(_Closed):
    """Where tasks go when they leave the live set."""

    set: str | None = None
    role: Literal["development", "regression"] = "development"


class ScheduleRow(_Closed):
    """When refreshes are due: an interval, or times of a crontab in UTC."""

    every: str | None = None
    cron: str | None = None
    grace: str = write_duration(DEFAULT_GRACE)

    @field_validator("every", "grace")
    @classmethod
    def _duration(cls, value: str | None) -> str | None:
        if value is not None:
            _told(read_duration, value)
        return value

    @field_validator("cron")
    @classmethod
    def _times(cls, value: str | None) -> str | None:
        if value is not None:
            _told(Cron.parse, value)
        return value

    @model_validator(mode="after")
    def _one(self) -> ScheduleRow:
        if (self.every is None) == (self.cron is None):
            raise ValueError("needs an interval or times, and not both; write `every: 7d` or `cron: 30 3 * * 1`")
        return self

    def schedule(self) -> Schedule:
        """The same, ready to be asked."""
        every = read_duration(self.every) if self.every is not None else None
        return Schedule(every, Cron.parse(self.cron) if self.cron is not None else None, read_duration(self.grace))


class RefreshFile(_Closed):
    """A refresh; docs/refresh.md says what each field means."""

    name: str
    set: str
    store: str = Field(min_length=1)
    sources: list[SourceRow] = Field(min_length=1)
    after: str | datetime | date | None = None
    models: list[str] = []
    window_months: int | None = Field(None, ge=1, le=1200)
    retired: RetiredRow = RetiredRow()
    defaults: dict[str, Any] = {}
    schedule: ScheduleRow | None = None

    @field_validator("name", "set")
    @classmethod
    def _name(cls, value: str) -> str:
        return _told(parse_name, value)

    @field_validator("after", mode="before")
    @classmethod
    def _no_number(cls, value: object) -> object:
        return ledgerfile.no_number(value)

    @field_validator("after")
    @classmethod
    def _date(cls, value: str | date | None) -> str | None:
        text = value.isoformat() if isinstance(value, date) else value
        if text is not None:
            _told(Moment.parse, text)
        return text


@dataclass(frozen=True, slots=True)
class Given:
    """What a command says over the file; None and empty where it says nothing."""

    ledger: Path
    models_file: Path
    after: str | None = None
    models: tuple[str, ...] = ()
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Configured:
    """A refresh as the file and the command want it."""

    path: Path
    plan: refresh.Plan
    schedule: Schedule | None

    def job(self) -> Job:
        """What a timer starts."""
        path, ledger = self.path.resolve(), self.plan.ledger.resolve()
        words = ("parsimony", "refresh", "run", str(path), "--if-due", "--ledger", str(ledger))
        return Job("parsimony-refresh", f"Refresh of {self.plan.live.name}", words, path.parent, "tasks")


def read(path: Path, given: Given) -> Configured:
    """A refresh.

    Raises:
        InputError: the file is not of the schema (names the line and the mend), no cutoff is told, or a model's is
            unknown.
    """
    file, beside = read_yaml(path, RefreshFile), path.parent
    try:
        live = refresh.Live(
            file.name,
            file.set,
            file.retired.set or f"{file.set}-retired",
            Role(file.retired.role),
            given.window or file.window_months,
        )
        plan = refresh.Plan(
            live,
            beside / file.store,
            given.ledger,
            [row.source(beside, file.defaults) for row in file.sources],
            _cutoffs(file, given),
            file.defaults,
        )
    except InputError as error:
        raise error.at(file=str(path)) from None
    return Configured(path, plan, file.schedule.schedule() if file.schedule is not None else None)


def _cutoffs(file: RefreshFile, given: Given) -> list[Cutoff]:
    """A date and the cutoffs of models; what the command says takes the place of what the file says."""
    after, models = given.after or file.after, given.models or tuple(file.models)
    found = [Cutoff("", Moment.parse(after, field="after"), "given")] if after is not None else []
    if models:
        table = ledgerfile.read_models(given.models_file)
        for model in dict.fromkeys(models):
            cutoff = table.of(model)
            if cutoff is None:
                mend = "add it with the source that published it; an unknown cutoff is not guessed"
                raise InputError(f"knows no cutoff of {model!r}", mend=mend, file=str(given.models_file))
            found.append(cutoff)
    return found
