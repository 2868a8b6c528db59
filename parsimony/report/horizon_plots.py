"""Plots of horizons: the fitted curve over the rates of tasks of like length, and all arms beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.horizon import Horizon, Interval, State
from parsimony.horizon.wording import duration, span, told
from parsimony.report.plots import STYLE, short, svg_of

_CURVE, _SOFT, _HARD = "#2e8b57", "#8a949e", "#5b8db8"
_STYLE: Final = {**STYLE, "text.parse_math": False}  # names may hold dollar signs
_TICKS: Final = tuple(
    [n / 60 for n in (1, 4, 15)]
    + [1, 4, 15, 60, 240, 960]
    + [60 * 24 * n for n in (2.5, 10, 40, 160)]
    + [60 * 24 * 365.25 * n for n in (2, 8, 32)]
)
"""Minutes that axes are marked at: steps of about four, round in their units."""


def curve(one: Horizon) -> str:
    """Chance of success over human time: fitted, with its band; rates of bins; the horizon with its interval."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(5.4, 3.3))
        axes = figure.subplots()
        low, high = one.shortest / 2, one.longest * 2
        if one.curve is not None:
            low, high = one.curve.minutes[0], one.curve.minutes[-1]
            if one.curve.band is not None:
                bottom, top = ([100 * value for value in side] for side in one.curve.band)
                axes.fill_between(one.curve.minutes, bottom, top, color=_CURVE, alpha=0.16, lw=0)
            axes.plot(one.curve.minutes, [100 * value for value in one.curve.chance], color=_CURVE, lw=2)
        for part in one.bins:
            middle = (part.low * part.high) ** 0.5
            area = 14 + 90 * part.tasks / max(other.tasks for other in one.bins)
            axes.scatter([middle], [100 * part.rate], s=area, color=_HARD, alpha=0.75, lw=0, zorder=3)
        for value, ends, level in ((one.h50, one.interval50, 50), (one.h80, one.interval80, 80)):
            if value is not None:
                _mark(axes, value, ends, level, (low, high))
        _minutes_axis(axes, low, high)
        axes.set_ylim(-4, 104)
        axes.set_ylabel("success, %")
        axes.set_xlabel("human time of a task")
        axes.grid(color=_SOFT, alpha=0.2, lw=0.6)
        return svg_of(figure, "Chance of success over human time")


def _mark(axes: Any, value: float, ends: Interval | None, level: int, span: tuple[float, float]) -> None:
    """The horizon as a diamond on its curve, its interval as a bar, as far as the axis goes."""
    colour = {50: "#c0504d", 80: "#b58b2a"}[level]
    if ends is not None:
        left, right = max(ends[0], span[0]), min(ends[1] or span[1], span[1])
        axes.plot([left, right], [level, level], "-", color=colour, lw=4, alpha=0.45, solid_capstyle="butt", zorder=4)
    if span[0] <= value <= span[1]:
        axes.plot(value, level, "D", color=colour, ms=6, zorder=5)
        axes.annotate(f"{level} %: {duration(value)}", (value, level), (6, 7), textcoords="offset points", color=colour)


def together(arms: Sequence[tuple[str, Horizon]]) -> str:
    """h50 of each arm with its interval; arms without a horizon say why not."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(5.4, 1.15 + 0.5 * len(arms)))
        axes = figure.subplots()
        low = min(span(one)[0] for _, one in arms)
        high = max(span(one)[1] for _, one in arms)
        for row, (_, one) in enumerate(arms):
            if one.h50 is None:
                axes.text(low * (high / low) ** 0.02, row, f"none: {one.state.value}", va="center", color=_SOFT)
                continue
            if one.interval50 is not None:
                left, right = max(one.interval50[0], low), min(one.interval50[1] or high, high)
                axes.plot([left, right], [row, row], "-", color=_CURVE, lw=5, alpha=0.4, solid_capstyle="butt")
            place, mark, side = _placed(one.h50, low, high)
            axes.plot(place, row, mark, color=_CURVE, ms=6, clip_on=False)
            axes.annotate(told(one.h50, one), (place, row), (0, 9), textcoords="offset points", ha=side)
        axes.set_yticks(range(len(arms)), [short(name) for name, _ in arms])
        axes.set_ylim(len(arms) - 0.5, -0.7)
        _minutes_axis(axes, low, high)
        axes.set_xlabel("50 % horizon (bar: interval)")
        axes.grid(axis="x", color=_SOFT, alpha=0.25, lw=0.6)
        return svg_of(figure, "Horizon of each arm")


def _placed(minutes: float, low: float, high: float) -> tuple[float, str, str]:
    """Where a horizon is drawn (at the edge where it lies beyond), its mark, and how its text is aligned."""
    if minutes < low:
        return low, "<", "left"
    return (high, ">", "right") if minutes > high else (minutes, "D", "center")


def has_horizon(arms: Sequence[tuple[str, Horizon]]) -> bool:
    """Whether there is anything to draw beside each other."""
    return any(one.state is State.ESTIMATED for _, one in arms)


def _minutes_axis(axes: Any, low: float, high: float) -> None:
    """A logarithmic axis that is marked in seconds, minutes, hours, days and years."""
    axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    inside = [tick for tick in _TICKS if low <= tick <= high]
    while len(inside) > 8:
        inside = inside[::2]
    if len(inside) < 2:
        inside = [low * (high / low) ** share for share in (0.1, 0.5, 0.9)]
    axes.set_xticks(inside, [duration(tick) for tick in inside])
    axes.minorticks_off()
