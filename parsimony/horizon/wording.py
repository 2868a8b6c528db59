"""Times as people write them."""

from __future__ import annotations

from parsimony.horizon.estimate import Interval

_UNITS = ((60 * 24 * 365.25, "years"), (60 * 24, "days"), (60, "h"), (1, "min"))


def duration(minutes: float) -> str:
    """`0 s`, `42 s`, `15.2 min`, `4.3 h`, `12 days`: three digits of the largest unit that fits.

    Nobody can tell apart times under a millisecond or over a million years: a flat line extrapolates to anything.
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


def interval(ends: Interval | None) -> str:
    """`10.9 min … 48.2 min`, `3 h … no bound`, or a dash."""
    if ends is None:
        return "–"
    low, high = ends
    return f"{duration(low)} … {'no bound' if high is None else duration(high)}"
