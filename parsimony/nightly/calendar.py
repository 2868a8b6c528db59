"""Nights by date: which should have taken place, which did not, and which is due. All dates are in UTC."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime, time, timedelta

from parsimony.errors import InputError
from parsimony.schedules import Schedule

_DAY = timedelta(days=1)


def read_date(text: str, field: str = "DATE") -> date:
    """`2026-12-01`.

    Raises:
        InputError: another text, or no date of the calendar.
    """
    try:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, flags=re.ASCII):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise InputError.wrong(field, text, "a date such as 2026-12-01") from None


def expected(schedule: Schedule, held: Collection[date], until: datetime) -> Iterator[tuple[date, datetime]]:
    """Every date after the first night on which one was due up to a moment, with that moment.

    With an interval, each night that took place sets the clock anew; what did not take place does not.

    Args:
        held: dates of nights that took place.
    """
    if not held:
        return
    first, known = min(held), sorted(held)
    moment = _midnight(first)
    while (due := _after(schedule, moment)) <= until:
        yield due.date(), due
        moment = due
        if schedule.every is not None:
            since = [day for day in known if moment.date() - schedule.every < day <= moment.date()]
            moment = _midnight(max(since, default=moment.date()))


def missed(schedule: Schedule, held: Collection[date], now: datetime) -> tuple[date, ...]:
    """Dates on which a night was due and did not take place, once the grace has passed too."""
    return tuple(
        day
        for day, _ in expected(schedule, held, now - schedule.grace)
        if not any(_covers(schedule, day, one) for one in held)
    )


def due(schedule: Schedule, held: Collection[date], now: datetime) -> date | None:
    """The date of the newest night that was due up to now and did not take place; the first one is due at once.

    Args:
        held: dates of nights that are over.
    """
    if not held:
        return now.astimezone(UTC).date()
    moments = [day for day, _ in expected(schedule, held, now)]
    newest = moments[-1] if moments else None
    return None if newest is None or newest <= max(held) else newest


def next_due(schedule: Schedule, held: Collection[date], now: datetime) -> datetime:
    """When the next night is due: now or earlier where one is due already."""
    if not held:
        return now
    return _after(schedule, _midnight(max(held)))


def _covers(schedule: Schedule, day: date, night: date) -> bool:
    """Whether a night stands for the one that was due on a day: it is of that date or, with an interval, less than the
    interval before it."""
    return night == day if schedule.every is None else day - schedule.every < night <= day


def _after(schedule: Schedule, midnight: datetime) -> datetime:
    """The first moment after the date of `midnight` at which a night is due."""
    if schedule.every is not None:
        return _midnight(midnight.date()) + schedule.every
    assert schedule.cron is not None
    return schedule.cron.after(_midnight(midnight.date()) + _DAY - timedelta(seconds=1))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
