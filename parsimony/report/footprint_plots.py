"""Plots of the footprint page: ranks with their intervals, scores and footprints against resolve rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parsimony.report.plots import STYLE, short, svg_of

Row = Mapping[str, Any]

_POINT: Final = "#2e8b57"
_BOUNDS: Final = "#8a949e"

STATE_COLOURS: Final[Mapping[str, str]] = {
    "resolved": "#2e8b57",
    "failed": "#c0504d",
    "no_attempt": "#9aa5b1",
    "missing_metrics": "#d9b44a",
    "out_of_scope": "#8e44ad",
    "uncalibrated": "#5b8db8",
    "unknown": "#5b6b7b",
}
"""One colour per state of a task; successes are shaded by their score in the matrix."""

_SHADES: Final = LinearSegmentedColormap.from_list("success", ["#d8c46a", "#8fc28a", "#1c6b3f"])


def success_colour(score: float) -> str:
    """The shade of a success: dull at 1, deep green at 100."""
    return to_hex(_SHADES((score - 1) / 99))


def ranks(rows: Sequence[Row]) -> str:
    """Where agents rank: the bar is the 95 % interval of the bootstrap, the line what bounds allow."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 0.95 + 0.32 * len(rows)))
        axes = figure.subplots()
        for at, row in enumerate(rows):
            low, high = row["rank_envelope_95"]
            axes.plot([low, high], [at, at], "-", color=_BOUNDS, lw=1.4)
            if row["rank"] is not None:
                low, high = row["rank_interval_95"]
                axes.plot([low, high], [at, at], "-", color=_POINT, lw=5, alpha=0.45, solid_capstyle="butt")
                axes.plot(row["rank"], at, "D", color=_POINT, ms=5)
        axes.set_yticks(range(len(rows)), [short(row["agent"]) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0.5, len(rows) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("rank (bar: 95 % of task draws; line: with bounds)")
        axes.grid(axis="x", color="#8a949e", alpha=0.25, lw=0.6)
        return svg_of(figure, "Ranks with their intervals")


def score_by_rate(rows: Sequence[Row]) -> str:
    """Score against resolve rate; an incomplete score is the span of its bounds."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 4.2))
        axes = figure.subplots()
        for row in rows:
            if row["rate"] is None:
                continue
            rate = 100 * row["rate"]
            if row["score"] is None:
                axes.plot([rate, rate], [row["lower"], row["upper"]], "-", color=_BOUNDS, lw=2.2, alpha=0.8)
            else:
                axes.plot(rate, row["score"], "o", color=_POINT, ms=6)
            middle = (row["lower"] + row["upper"]) / 2
            axes.annotate(short(row["agent"], 22), (rate, middle), (5, 3), textcoords="offset points", fontsize=8)
        axes.set_xlabel("resolve rate, % (published; else of the tasks here)")
        axes.set_ylabel("score, -25 to 100")
        axes.margins(x=0.2, y=0.1)
        axes.grid(color="#8a949e", alpha=0.2, lw=0.6)
        return svg_of(figure, "Score against resolve rate")


def footprint_by_rate(rows: Sequence[Row]) -> str:
    """Mean net units of measured solved attempts against resolve rate; the area of a dot is mean churn."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 4.2))
        axes = figure.subplots()
        shown = [row for row in rows if row["mean_net_units"] is not None and row["rate"] is not None]
        largest = max((row["mean_churn"] for row in shown), default=0) or 1
        for row in shown:
            place = 100 * row["rate"], row["mean_net_units"]
            axes.scatter(*place, s=20 + 380 * row["mean_churn"] / largest, color=_POINT, alpha=0.45, lw=0)
            axes.annotate(short(row["agent"], 22), place, (5, 3), textcoords="offset points", fontsize=8)
        axes.axhline(0, color="#8a949e", lw=0.8)
        axes.set_xlabel("resolve rate, % (published; else of the tasks here)")
        axes.set_ylabel("mean net units (area: churn)")
        axes.margins(x=0.2, y=0.15)
        axes.grid(color="#8a949e", alpha=0.2, lw=0.6)
        return svg_of(figure, "Footprint against resolve rate")


def states(rows: Sequence[Row]) -> str:
    """How many tasks of each agent are in each state."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 0.95 + 0.32 * len(rows)))
        axes = figure.subplots()
        for at, row in enumerate(rows):
            left = 0
            for state, colour in STATE_COLOURS.items():
                if number := row["states"].get(state, 0):
                    axes.barh(at, number, left=left, color=colour, height=0.62)
                    left += number
        axes.set_yticks(range(len(rows)), [short(row["agent"]) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("tasks by what is known")
        return svg_of(figure, "Tasks by state")
