"""Times as people write them."""

from __future__ import annotations

from typing import Final

from parsimony.horizon.estimate import Horizon, Interval

BEYOND: Final = 4
"""Further than by this factor outside of the tasks' own times nothing is told but the side: a flat line extrapolates to
anything, and a number would be read as a measurement."""

_UNITS = ((60 * 24 * 365.25, "years"), (60 * 24, "days"), (60, "h"), (1, "min"))


def duration(minutes: float) -> str:
    """`0 s`, `42 s`, `15.2 min`, `4.3 h`, `12 days`: three digits of the largest unit that fits.

    Nobody can tell apart times under a millisecond or over a million years.
    """
    if 0 < minutes < 1 / 60_000:
        return "< 1 ms"
    if minutes > 1e6 * _UNITS[0][0]:
        return "> 1e6 years"
    if minutes < 1:
        return f"{60 * minutes:.3g} s"
    size, unit = next((size, unit) for size, unit in _UNITS if minutes >= size)
    value = minutes / size
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def span(one: Horizon) -> tuple[float, float]:
    """The minutes within which a horizon is told as a number."""
    return one.shortest / BEYOND, one.longest * BEYOND


def told(minutes: float | None, one: Horizon) -> str:
    """A horizon as a number where the tasks bear one, else as a side: `4.3 h`, `< 30 s`, `> 16 h`, or a dash."""
    if minutes is None:
        return "–"
    low, high = span(one)
    if minutes < low:
        return f"< {duration(low)}"
    return f"> {duration(high)}" if minutes > high else duration(minutes)


def interval(ends: Interval | None, one: Horizon) -> str:
    """`10.9 min … 48.2 min`, `< 30 s … no bound`, or a dash."""
    if ends is None:
        return "–"
    return f"{told(ends[0], one)} … {'no bound' if ends[1] is None else told(ends[1], one)}"
