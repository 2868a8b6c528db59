"""Times of the five fields of a crontab: minute, hour, day of month, month, day of week (POSIX, `crontab`), in UTC.

Understood: `*`, numbers, names of months and days, ranges, lists, steps (`*/15`, `9-17/2`). As in POSIX, a day fits
when the day of month or the day of week fits where both are restricted, else when both fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from parsimony.errors import InputError

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final[tuple[tuple[str, int, int, Sequence[str]], ...]] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _DAYS),
)
_SEARCHED: Final = timedelta(days=8 * 366)
"""29 February comes within eight years, also over a year like 2100."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A set of moments, one a minute at most.

    Attributes:
        text: as it was written.
    """

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read five fields.

        Raises:
            InputError: not five fields, a field that is no set of its numbers, or a date that never comes.
        """
        words = text.split()
        if len(words) != len(_FIELDS):
            raise InputError.wrong("cron", text, "five fields, such as `30 3 * * 1`: 03:30 UTC on Mondays")
        sets = [_numbers(word, *field) for word, field in zip(words, _FIELDS, strict=True)]
        minutes, hours, days, months, weekdays = sets
        found = cls(
            text=" ".join(words),
            minutes=minutes,
            hours=hours,
            days=days,
            months=months,
            weekdays=frozenset(day % 7 for day in weekdays),
            any_day=words[2].startswith("*"),
            any_weekday=words[4].startswith("*"),
        )
        if found._next(datetime(2001, 1, 1, tzinfo=UTC)) is None:
            raise InputError.wrong("cron", text, "a date that comes")
        return found

    def after(self, moment: datetime) -> datetime:
        """The first moment of the set that is later than `moment`, in UTC."""
        found = self._next(moment.astimezone(UTC))
        assert found is not None, "a date that never comes is refused when it is read"
        return found

    def _next(self, moment: datetime) -> datetime | None:
        day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        end = day + _SEARCHED
        while day < end:
            if day.month in self.months and self._fits(day):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        found = day.replace(hour=hour, minute=minute)
                        if found > moment:
                            return found
            day += timedelta(days=1)
        return None

    def _fits(self, day: datetime) -> bool:
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return by_date and by_weekday
        return by_date or by_weekday


def _numbers(word: str, name: str, low: int, high: int, names: Sequence[str]) -> frozenset[int]:
    wanted = f"numbers from {low} to {high} in the field {name}"

    def number(text: str) -> int:
        known = {short: position + low for position, short in enumerate(names)}
        value = known.get(text.lower(), int(text) if text.isascii() and text.isdecimal() else -1)
        if not low <= value <= high:
            raise InputError.wrong("cron", text, wanted)
        return value

    found: set[int] = set()
    for part in word.split(","):
        range_, slash, step = part.partition("/")
        if slash and not (step.isascii() and step.isdecimal() and int(step) > 0):
            raise InputError.wrong("cron", part, f"a step above 0 in the field {name}")
        if range_ == "*":
            first, last = low, high
        else:
            start, dash, end = range_.partition("-")
            first = number(start)
            last = number(end) if dash else high if slash else first
        if first > last:
            raise InputError.wrong("cron", part, f"a range that goes up in the field {name}")
        found.update(range(first, last + 1, int(step) if slash else 1))
    return frozenset(found)
