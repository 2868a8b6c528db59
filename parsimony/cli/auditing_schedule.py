"""The schedule of an audit as a file, `DIR/schedule.yaml`, and the command that writes and checks it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field
from rich.text import Text

from cluster.auditing import now, stamp
from cluster.rundir import write_atomically
from cluster.yamlfile import parse_yaml, read_yaml
from parsimony.audit.files import Audit
from parsimony.cli import DONE, screen
from parsimony.errors import InputError
from parsimony.schedules import (
    DEFAULT_GRACE,
    TIMERS,
    Cron,
    Job,
    Schedule,
    State,
    read_duration,
    read_moment,
    write_duration,
)


class ScheduleFile(BaseModel):
    """`schedule.yaml`: what is audited, how, and when. Unknown fields are errors.

    Attributes:
        tasks: the task file; relative to the schedule.
        every, cron: one of the two. grace: how late an audit may be.
        made_at: since when the schedule holds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: str
    every: str | None = None
    cron: str | None = None
    grace: str = write_duration(DEFAULT_GRACE)
    sandbox: Literal["docker", "kubernetes", "process"] = "docker"
    workers: int | None = Field(None, ge=1)
    image: str | None = None
    times: int = Field(3, ge=1, le=100)
    mutants: int = Field(6, ge=0)
    made_at: str

    def schedule(self) -> Schedule:
        """When audits are due.

        Raises:
            InputError: neither or both of interval and times, or one that cannot be read.
        """
        return Schedule(
            read_duration(self.every) if self.every is not None else None,
            Cron.parse(self.cron) if self.cron is not None else None,
            read_duration(self.grace),
        )

    @property
    def since(self) -> datetime:
        """Since when the schedule holds."""
        try:
            return read_moment(self.made_at)
        except ValueError:
            raise InputError.wrong("made_at", self.made_at, "a moment such as 2026-12-01T03:00:00Z") from None


@dataclass(frozen=True, slots=True)
class Stand:
    """How the audits of a folder stand.

    Attributes:
        last: start of the newest finished audit of the whole file; None when there is none.
        due, state: None without a schedule.
    """

    last: datetime | None
    due: datetime | None
    state: State | None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "last_audit": stamp(self.last) if self.last else None,
            "next_due": stamp(self.due) if self.due else None,
            "state": self.state.value if self.state else "unscheduled",
        }


def schedule_path(folder: Path) -> Path:
    """Where the schedule of a folder of audits is."""
    return folder / "schedule.yaml"


def read_schedule(folder: Path) -> ScheduleFile | None:
    """The schedule of a folder, checked; None when there is none.

    Raises:
        InputError: it is there and wrong.
    """
    path = schedule_path(folder)
    if not path.exists():
        return None
    return _checked(read_yaml(path, ScheduleFile), path)


def _checked(found: ScheduleFile, path: Path) -> ScheduleFile:
    try:
        found.schedule()
        _ = found.since
    except InputError as error:
        raise error.at(file=str(path)) from None
    return found


def audits(folder: Path) -> list[Path]:
    """The finished audits of a folder, the oldest first."""
    return sorted(folder.glob("audits/*/audit.json"))


def stand(folder: Path, planned: ScheduleFile | None, at: datetime) -> Stand:
    """How the audits of a folder stand at a moment."""
    whole = (found for path in reversed(audits(folder)) if not (found := Audit.read(path)).only)
    newest = next(whole, None)
    last = read_moment(newest.started_at) if newest is not None else None
    if planned is None:
        return Stand(last, None, None)
    plan = planned.schedule()
    return Stand(last, plan.due(last, planned.since), plan.state(last, planned.since, at))


def schedule(folder: Path, given: Mapping[str, object], timer: str, *, as_json: bool) -> int:
    """Write the schedule where options are given, and tell what it means."""
    told = {name: value for name, value in given.items() if value is not None}
    path = schedule_path(folder)
    if told:
        _write(folder, told)
    planned = read_schedule(folder)
    if planned is None:
        mend = "write one with `parsimony audit schedule DIR --tasks FILE --every 7d`"
        raise InputError("there is no schedule", mend=mend, file=str(path))
    standing = stand(folder, planned, now())
    ready = TIMERS[timer](planned.schedule(), job(folder.resolve()))
    if as_json:
        screen.print_json({"schedule": planned.model_dump(), **standing.as_json(), timer: ready})
        return DONE
    out = screen.console()
    out.print(
        Text(f"{path}: {planned.tasks} is audited {planned.schedule().words}, overdue after {planned.grace} more")
    )
    out.print(Text(due_line(standing)))
    out.print()
    out.print(Text(ready.rstrip("\n")), soft_wrap=True)
    return DONE


def job(folder: Path) -> Job:
    """What a timer starts: an audit into this absolute folder, if one is due. The task file lies beside the folder."""
    words = ("parsimony", "audit", "run", "--if-due", "--out", str(folder))
    return Job("parsimony-audit", "Audit of tasks", words, folder.parent, "tasks")


def due_line(standing: Stand) -> str:
    """The state in words."""
    last = f"last audit {stamp(standing.last)}" if standing.last else "never audited"
    if standing.state is None or standing.due is None:
        return f"{last}; no schedule"
    return f"{last}; next due {stamp(standing.due)}: {standing.state.value}"


def _write(folder: Path, told: Mapping[str, object]) -> None:
    """Lay what is given over the schedule that is there. An interval takes the place of times, and the other way."""
    path = schedule_path(folder)
    before = read_yaml(path, ScheduleFile).model_dump(exclude_none=True) if path.exists() else {}
    fields = {"made_at": stamp(now()), **before}
    for one, other in (("every", "cron"), ("cron", "every")):
        if one in told and other not in told:
            fields.pop(other, None)
    fields |= told
    if "tasks" in told:
        tasks = Path(str(told["tasks"]))
        if not tasks.exists():
            raise InputError("there is no such file", mend="name the file of the tasks", file=str(tasks))
        fields["tasks"] = os.path.relpath(tasks.resolve(), folder.resolve())
    text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)
    _checked(parse_yaml(text, ScheduleFile, file=str(path)), path)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
