"""Plots of contamination: the decay curve with the cutoff in it, and the difference that the cutoff makes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.contamination import ArmDecay, Cutoff, Side
from parsimony.report.plots import STYLE, short, svg_of

BEFORE, AFTER, CUTOFF, SOFT = "#5b8db8", "#2e8b57", "#c0504d", "#8a949e"
_ROOM: Final = 6
"""Months beside the curve within which the line of the cutoff is still drawn."""
_LABELS: Final = 14
"""Months that have room for their names."""


def month_number(month: str) -> int:
    """Months since year 0 of `YYYY-MM`."""
    return 12 * int(month[:4]) + int(month[5:7]) - 1


def _place(moment: datetime) -> float:
    """Where a moment is on an axis of months."""
    return 12 * moment.year + moment.month - 1 + (moment.day - 1 + moment.hour / 24) / 31


def curve(arm: ArmDecay, cutoff: Cutoff) -> str:
    """Pass rate of each month with its Wilson interval over the number of its tasks; both sides' means; the cutoff."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 4.2))
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        numbers = [month_number(month.month) for month in arm.months]
        first, last = min(numbers), max(numbers) + 1
        line = _place(cutoff.moment.latest)
        if first - _ROOM <= line <= last + _ROOM:
            first, last = min(first, int(line) - 1), max(last, int(line) + 1)
            _cutoff_line(above, line, cutoff)
            below.axvline(line, color=CUTOFF, lw=1.2, ls="--")
        for side, colour, start, end in ((arm.before, BEFORE, first, line), (arm.after, AFTER, line, last)):
            _mean(above, side, colour, max(start, first), min(end, last))
        for month, number in zip(arm.months, numbers, strict=True):
            _month(above, number + 0.5, month.side, AFTER if month.after else BEFORE)
            below.bar(number + 0.5, month.side.tasks, width=0.7, color=SOFT, alpha=0.6)
        _axes(above, below, first, last)
        return svg_of(figure, f"Pass rate by month of {arm.arm}")


def _cutoff_line(axes: Any, at: float, cutoff: Cutoff) -> None:
    axes.axvline(at, color=CUTOFF, lw=1.4, ls="--")
    label = f"cutoff {cutoff.moment.text}"
    axes.annotate(label, (at, 1.02), xycoords=("data", "axes fraction"), ha="center", color=CUTOFF, size=9)


def _mean(axes: Any, side: Side, colour: str, start: float, end: float) -> None:
    """Mean of a side as a line in the band of its interval, where the side is."""
    if side.rate is None or side.wilson is None or start >= end:
        return
    low, high = (100 * edge for edge in side.wilson)
    axes.fill_between([start, end], low, high, color=colour, alpha=0.13, lw=0)
    axes.plot([start, end], [100 * side.rate] * 2, color=colour, lw=1.6, alpha=0.9)


def _month(axes: Any, at: float, side: Side, colour: str) -> None:
    if side.rate is None or side.wilson is None:
        return
    axes.plot([at, at], [100 * edge for edge in side.wilson], "-", color=colour, lw=3, alpha=0.5)
    axes.plot(at, 100 * side.rate, "D", color=colour, ms=5.5, zorder=3)


def _axes(above: Any, below: Any, first: int, last: int) -> None:
    above.set_ylim(-2, 102)
    above.set_ylabel("pass rate, %")
    above.grid(axis="y", color=SOFT, alpha=0.25, lw=0.6)
    above.tick_params(axis="x", length=0)
    step = max(1, -(-(last - first) // _LABELS))
    ticks = list(range(first, last, step))
    below.set_xticks([tick + 0.5 for tick in ticks], [f"{tick // 12:04d}-{tick % 12 + 1:02d}" for tick in ticks])
    below.set_xlim(first, last)
    below.set_ylabel("tasks")
    below.yaxis.set_major_locator(mpl.ticker.MaxNLocator(3, integer=True))
    below.set_xlabel("month in which the task was made")


def differences(arms: Sequence[ArmDecay]) -> str:
    """Rate after less rate before, with its interval, an arm a row; "" where no arm has a difference."""
    known = [(arm.arm, arm.difference) for arm in arms if arm.difference is not None]
    if not known:
        return ""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 0.95 + 0.5 * len(known)))
        axes = figure.subplots()
        axes.axvline(0, color=SOFT, lw=1)
        for row, (_, one) in enumerate(known):
            low, high = (100 * edge for edge in one.interval)
            colour = CUTOFF if high < 0 else AFTER if low > 0 else SOFT
            axes.plot([low, high], [row, row], "-", color=colour, lw=7, alpha=0.45, solid_capstyle="butt")
            axes.plot(100 * one.value, row, "D", color=colour, ms=7)
        edge = 1.08 * max(abs(100 * end) for _, one in known for end in (*one.interval, one.value))
        axes.set_xlim(-max(edge, 1), max(edge, 1))
        axes.set_yticks(range(len(known)), [short(name, 22) for name, _ in known])
        axes.set_ylim(len(known) - 0.4, -0.6)
        axes.set_xlabel("after − before, percentage points (bar: Newcombe's 95 % interval)")
        axes.grid(axis="x", color=SOFT, alpha=0.25, lw=0.6)
        return svg_of(figure, "Difference at the cutoff")
