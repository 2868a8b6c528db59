"""What is resolved against what it costs, with both frontiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.pareto import Point, convex_frontier, frontier
from parsimony.report.plots import STYLE, short, svg_of

_SOFT: Final = "#8a949e"
_GOOD: Final = "#2e8b57"


def pareto_plot(
    points: Sequence[Point],
    *,
    intervals: Mapping[str, tuple[float, float]],
    labels: Mapping[str, str] | None = None,
    title: str = "Resolve rate against cost",
    unit: str = "dollars per candidate",
    size: tuple[float, float] = (5.4, 3.6),
) -> str:
    """The points with their intervals (rates in 0..1), the plain frontier as steps and the convex one as lines.

    Args:
        points: cost in micro-dollars, score = rate. intervals: by name, drawn where they are given.
        labels: texts beside the points; default: their names.
    """
    edge, hull = frontier(points), convex_frontier(points)
    names, convex = {one.name for one in edge}, {one.name for one in hull}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size)
        axes = figure.subplots()
        far = 1.12 * max((_x(one) for one in points), default=1.0) or 1.0
        _frontiers(axes, edge, hull, far)
        for one in points:
            colour = _GOOD if one.name in names else _SOFT
            if one.name in intervals:
                low, high = intervals[one.name]
                axes.plot([_x(one)] * 2, [100 * low, 100 * high], "-", color=colour, lw=2, alpha=0.35)
            axes.plot(_x(one), _y(one), "D" if one.name in convex else "o", color=colour, ms=7, zorder=3)
        _write_names(axes, points, labels or {}, far)
        axes.set_xlim(0, far)
        axes.set_ylim(0, 100)
        axes.set_xlabel(unit)
        axes.set_ylabel("resolved, %")
        axes.grid(color=_SOFT, alpha=0.2, lw=0.6)
        return svg_of(figure, title)


def _frontiers(axes: Any, edge: Sequence[Point], hull: Sequence[Point], far: float) -> None:
    if edge:
        xs, ys = [_x(one) for one in edge], [_y(one) for one in edge]
        axes.step([*xs, far], [*ys, ys[-1]], where="post", color=_GOOD, lw=1.2, alpha=0.8)
    if hull:
        xs, ys = [0.0, *(_x(one) for one in hull)], [0.0, *(_y(one) for one in hull)]
        axes.plot(xs, ys, "--", color=_GOOD, lw=1.0, alpha=0.8)
        axes.fill_between(xs, ys, color=_GOOD, alpha=0.05, lw=0)


def _write_names(axes: Any, points: Sequence[Point], labels: Mapping[str, str], far: float) -> None:
    """A name beside each point, inside the axes, moved away from names that are there already."""
    taken: list[tuple[float, float]] = []
    for one in sorted(points, key=lambda point: (-_y(point), _x(point))):
        right = _x(one) > 0.62 * far
        x, y = _x(one) / far, _y(one) + 1.5
        while any(abs(x - other) < 0.3 and abs(y - level) < 6 for other, level in taken) and y > 4:
            y -= 6
        taken.append((x, y))
        axes.annotate(
            short(labels.get(one.name, one.name), 26),
            (_x(one), min(y, 96)),
            xytext=(-8 if right else 8, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
            fontsize=8.5,
        )


def _x(one: Point) -> float:
    return float(one.cost) / 1e6


def _y(one: Point) -> float:
    return 100 * float(one.score)
