"""Plots of refreshes: tasks by the month in which they were made, and what each refresh brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.refresh import STANDS
from parsimony.report.contamination_plots import month_number
from parsimony.report.plots import STYLE, svg_of

STAND_COLOURS: Final[Mapping[str, str]] = dict(
    zip(STANDS, ("#2e8b57", "#c0504d", "#5b8db8", "#d9b44a", "#9aa5b1"), strict=True)
)
"""One colour for where a task stands, the same in plots and in the page."""
BROUGHT_COLOURS: Final[Mapping[str, str]] = {"new": "#2e8b57", "rejected": "#c0504d", "conflicting": "#8e44ad"}
"""What a refresh brought that is not simply known."""
_LABELS: Final = 14


def months(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Tasks by month, stacked by where they stand; months without tasks are gaps."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 3.0))
        axes = figure.subplots()
        numbers = [month_number(month) for month in counts]
        first, last = min(numbers), max(*numbers, min(numbers) + 5)
        bottom = [0] * len(numbers)
        for stand, colour in STAND_COLOURS.items():
            heights = [month[stand] for month in counts.values()]
            axes.bar(numbers, heights, bottom=bottom, width=0.78, color=colour)
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        ticks = list(range(first, last + 1, max(1, -(-(last + 1 - first) // _LABELS))))
        axes.set_xticks(ticks, [f"{tick // 12:04d}-{tick % 12 + 1:02d}" for tick in ticks])
        axes.set_xlim(first - 0.6, last + 0.6)
        axes.set_axisbelow(True)
        axes.set_ylabel("tasks")
        axes.set_xlabel("month in which the task was made")
        axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(5, integer=True))
        axes.grid(axis="y", color="#8a949e", alpha=0.25, lw=0.6)
        return svg_of(figure, "Tasks by month and where they stand")


def brought(refreshes: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """What each refresh brought, the newest at the right: (day, counts)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 2.4))
        axes = figure.subplots()
        places = range(len(refreshes))
        bottom = [0] * len(refreshes)
        for what, colour in BROUGHT_COLOURS.items():
            heights = [counts[what] for _, counts in refreshes]
            axes.bar(places, heights, bottom=bottom, width=0.7, color=colour)
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        step = max(1, -(-len(refreshes) // 10))
        axes.set_xticks(list(places)[::step], [day for day, _ in refreshes][::step])
        axes.set_xlim(-0.6, max(len(refreshes), 8) - 0.4)
        axes.set_ylim(0, max(1, *bottom) * 1.08)
        axes.set_axisbelow(True)
        axes.set_ylabel("rows")
        axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(4, integer=True))
        axes.grid(axis="y", color="#8a949e", alpha=0.25, lw=0.6)
        return svg_of(figure, "What each refresh brought")
