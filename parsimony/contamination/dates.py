"""Dates as they are told, and what they can mean.

ISO 8601 leaves open what is left out: a day is any instant of it, a month any day, and a time without a zone is a time
somewhere between UTC+14 and UTC-12. A `Moment` keeps both ends, so that "after the cutoff" is said only where it holds
whatever was meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from parsimony.errors import InputError

EASTERNMOST: Final = timedelta(hours=14)
WESTERNMOST: Final = timedelta(hours=12)
WANTED: Final = "a date by ISO 8601: 2024-04, 2024-04-30, 2024-04-30T12:00:00Z or 2024-04-30T12:00:00+02:00"

_FORM = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{2})"
    r"(?:-(?P<day>\d{2})(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)\s?(?P<zone>Z|z|[+-]\d{2}:?\d{2})?)?)?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date as told, with the first and the last instant that it can mean, both in UTC.

    Attributes:
        text: as told.
        earliest, latest: no instant that can be meant is earlier or later.
    """

    text: str
    earliest: datetime
    latest: datetime

    @classmethod
    def parse(cls, text: object, *, field: str = "date") -> Moment:
        """The moment that a text tells.

        Raises:
            InputError: it is no such date; names `field`.
        """
        match = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None or not isinstance(text, str):
            raise InputError.wrong(field, text, WANTED)
        try:
            return cls(text.strip(), *_ends(match))
        except (ValueError, OverflowError):
            raise InputError.wrong(field, text, WANTED + ", and one that is in the calendar") from None

    def surely_after(self, other: Moment) -> bool:
        """Whether this is later than `other` whatever of the open parts the two mean."""
        return self.earliest > other.latest

    @property
    def month(self) -> str:
        """`YYYY-MM` as told."""
        return self.text[:7]


def _ends(match: re.Match[str]) -> tuple[datetime, datetime]:
    year, month = int(match["year"]), int(match["month"])
    if match["day"] is None:
        following = date(year + month // 12, month % 12 + 1, 1)
        return _open_zone(
            datetime(year, month, 1, tzinfo=UTC), datetime(following.year, following.month, 1, tzinfo=UTC)
        )
    day = datetime(year, month, int(match["day"]), tzinfo=UTC)
    if match["time"] is None:
        return _open_zone(day, day + timedelta(days=1))
    time = match["time"].replace(",", ".")
    whole, _, fraction = time.partition(".")
    stamp = f"{match['year']}-{match['month']}-{match['day']}T{whole}"
    if fraction:
        stamp += f".{fraction[:6]:0<6}"
    zone = match["zone"]
    if zone is None:
        told = datetime.fromisoformat(stamp).replace(tzinfo=UTC)
        return _open_zone(told, told)
    told = datetime.fromisoformat(stamp + ("+00:00" if zone in "Zz" else zone)).astimezone(UTC)
    return told, told


def _open_zone(first: datetime, last: datetime) -> tuple[datetime, datetime]:
    """Both ends of what a local time can mean: clocks at UTC+14 were there first, at UTC-12 last."""
    return first - EASTERNMOST, last + WESTERNMOST
