"""Plots of nights: resolve rates with intervals, and what each night cost. Void and missed nights are marked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.nightly import Point
from parsimony.report.plots import STYLE, short, svg_of

STATE_COLOURS: Final = {
    "passed": "#2e8b57",
    "regression": "#c0504d",
    "void": "#8e44ad",
    "incomplete": "#d9b44a",
    "refused": "#d98c5f",
    "missed": "#5b6b7b",
}
"""One colour per state of a night, the same in plots and in the page."""
ARM_COLOURS: Final = ("#2e8b57", "#5b8db8", "#d98c5f", "#8e44ad", "#b58b2a", "#5b6b7b")
_LABELS: Final = 10
_BANDS: Final = {"void": 0.16, "missed": 0.16}


def rates(trend: Sequence[Point]) -> str:
    """Resolve rate of each arm by night with its 95 % interval; a ring around the accepted baseline."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 3.6))
        axes = figure.subplots()
        places = _bands(axes, trend)
        arms = list(dict.fromkeys(name for point in trend for name in point.arms))
        for number, arm in enumerate(arms):
            colour = ARM_COLOURS[number % len(ARM_COLOURS)]
            shift = 0.16 * (number - (len(arms) - 1) / 2)
            _arm(axes, [(places[p.day] + shift, p) for p in trend if arm in p.arms], arm, colour)
        axes.set_ylim(0, 100)
        axes.set_ylabel("resolved, %")
        if len(arms) > 1:
            axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return svg_of(figure, "Resolve rate by night")


def _arm(axes: Any, found: Sequence[tuple[float, Point]], arm: str, colour: str) -> None:
    counted = [(place, point) for place, point in found if point.state != "void"]
    axes.plot(
        [place for place, _ in counted],
        [100 * p.arms[arm]["rate"] for _, p in counted],
        "-",
        color=colour,
        lw=1,
        alpha=0.5,
    )
    for place, point in found:
        one = point.arms[arm]
        low, high = (100 * end for end in one["interval"])
        faint = 0.35 if point.state == "void" else 1.0
        axes.plot([place, place], [low, high], "-", color=colour, lw=3, alpha=0.4 * faint, solid_capstyle="butt")
        axes.plot(place, 100 * one["rate"], "o", color=colour, ms=5, alpha=faint)
        if point.baseline:
            axes.plot(place, 100 * one["rate"], "o", ms=12, mfc="none", mec="#8a949e", mew=1.6)
        if arm in point.worse:
            axes.plot(place, 100 * one["rate"], "v", color=STATE_COLOURS["regression"], ms=8)
    axes.plot([], [], "o-", color=colour, label=short(arm))


def costs(trend: Sequence[Point]) -> tuple[str, str] | None:
    """Cost of each night, all arms together, and its unit: dollars where every graded night tells them, else seconds of
    CPU. None where nothing was graded."""
    graded = [point for point in trend if point.arms]
    if not graded:
        return None
    known = all(arm["cost"]["dollars"] is not None for point in graded for arm in point.arms.values())
    field, unit = ("dollars", "US dollars") if known else ("cpu_seconds", "CPU seconds of grading")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 2.2))
        axes = figure.subplots()
        places = _bands(axes, trend)
        arms = list(dict.fromkeys(name for point in graded for name in point.arms))
        bottom = dict.fromkeys(places.values(), 0.0)
        for number, arm in enumerate(arms):
            at = [places[p.day] for p in graded if arm in p.arms]
            heights = [p.arms[arm]["cost"][field] for p in graded if arm in p.arms]
            axes.bar(
                at, heights, bottom=[bottom[x] for x in at], width=0.6, color=ARM_COLOURS[number % len(ARM_COLOURS)]
            )
            for place, height in zip(at, heights, strict=True):
                bottom[place] += height
        axes.set_axisbelow(True)
        axes.set_ylim(0, max(*bottom.values(), 1e-6) * 1.12)
        axes.set_ylabel(unit.replace(" of grading", ""))
        return svg_of(figure, "Cost by night"), unit


def _bands(axes: Any, trend: Sequence[Point]) -> dict[date, float]:
    """A place per date, with a band where a night is void or missed."""
    places = {point.day: float(number) for number, point in enumerate(trend)}
    for point in trend:
        if point.state in _BANDS:
            place, colour = places[point.day], STATE_COLOURS[point.state]
            axes.axvspan(place - 0.5, place + 0.5, color=colour, alpha=_BANDS[point.state], lw=0)
            axes.text(place, 0.03, point.state, transform=axes.get_xaxis_transform(), rotation=90,
                      ha="center", va="bottom", fontsize=8, color=colour)  # fmt: skip
    step = max(1, -(-len(trend) // _LABELS))
    shown = trend[::-1][::step][::-1]
    axes.set_xticks([places[p.day] for p in shown], [str(p.day) for p in shown])
    axes.set_xlim(-0.6, max(len(trend), 6) - 0.4)
    axes.grid(axis="y", color="#8a949e", alpha=0.25, lw=0.6)
    return places
