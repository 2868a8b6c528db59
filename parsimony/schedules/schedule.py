"""When standing work is due: an interval or times of a crontab, with a grace after which it is overdue."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from parsimony.errors import InputError
from parsimony.schedules.cron import Cron

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DEFAULT_GRACE: Final = timedelta(days=1)


class State(StrEnum):
    """How the work stands."""

    CURRENT = "current"
    DUE = "due"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Either an interval or times.

    Attributes:
        grace: how late the work may be before it is overdue.
    """

    every: timedelta | None = None
    cron: Cron | None = None
    grace: timedelta = DEFAULT_GRACE

    def __post_init__(self) -> None:
        if (self.every is None) == (self.cron is None):
            mend = "give one of the two: `every: 7d` or `cron: 30 3 * * 1`"
            raise InputError("needs an interval or times of a crontab, and not both", mend=mend, field="every")

    def due(self, last: datetime | None, since: datetime) -> datetime:
        """When the work is due next.

        Args:
            last: start of the newest finished one; None when there is none: then it is due since the schedule was
                made.
            since: when the schedule was made.
        """
        if last is None:
            return since
        if self.every is not None:
            return last + self.every
        assert self.cron is not None
        return self.cron.after(last)

    def state(self, last: datetime | None, since: datetime, now: datetime) -> State:
        """How the work stands at `now`."""
        due = self.due(last, since)
        if now < due:
            return State.CURRENT
        return State.OVERDUE if now > due + self.grace else State.DUE

    @property
    def words(self) -> str:
        """`every 7d` or `at 30 3 * * 1 (UTC)`."""
        return (
            f"every {write_duration(self.every)}" if self.every else f"at {self.cron.text if self.cron else ''} (UTC)"
        )


def read_duration(text: str) -> timedelta:
    """`90m`, `12h`, `7d`, `2w`, or several together (`1d12h`).

    Raises:
        InputError: another text, or nothing but zero.
    """
    parts = re.findall(r"(\d{1,6})\s*([mhdw])", text.strip().lower())
    if not parts or not re.fullmatch(r"(?:\d{1,6}\s*[mhdw]\s*)+", text.strip().lower()):
        raise InputError.wrong("every", text, "a duration such as `12h`, `7d` or `2w`")
    total = sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())
    if not total:
        raise InputError.wrong("every", text, "longer than nothing")
    return total


def write_duration(value: timedelta) -> str:
    """What `read_duration` reads."""
    minutes = int(value.total_seconds() // 60)
    parts = []
    for unit, size in (("d", 1440), ("h", 60), ("m", 1)):
        if count := minutes // size:
            parts.append(f"{count}{unit}")
            minutes %= size
    return "".join(parts) or "0m"


def read_moment(text: str) -> datetime:
    """A moment as ISO 8601, with a zone; UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)
