"""Plots of a comparison: rates with their seeds, the difference with its interval, what variance is made of, cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.ab import Comparison
from parsimony.ab.wording import number
from parsimony.report.plots import STYLE, short, svg_of

ARM_COLOURS: Final = ("#5b8db8", "#2e8b57")
"""Baseline and candidate."""
PART_COLOURS: Final = {"task": "#5b8db8", "seed": "#d9b44a", "flake": "#c0504d"}
"""Where variance comes from."""
_SOFT: Final = "#8a949e"


def rates(one: Comparison) -> str:
    """Mean resolve rate of each arm with its interval over seeds; a dot per seed; what is missing as a dotted span."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 2.3))
        axes = figure.subplots()
        for row, (arm, colour) in enumerate(zip(one.arms, ARM_COLOURS, strict=True)):
            low, high = (100 * end for end in arm.interval)
            axes.plot([low, high], [row, row], "-", color=colour, lw=7, alpha=0.35, solid_capstyle="butt")
            if arm.bounds[0] != arm.bounds[1]:
                axes.plot([100 * end for end in arm.bounds], [row - 0.16] * 2, ":", color=_SOFT, lw=3)
            else:
                axes.plot(100 * arm.mean, row, "D", color=colour, ms=7, zorder=3)
            _dots(axes, row, [100 * count / len(one.tasks) for count in arm.resolved], colour)
        axes.set_yticks([0, 1], [short(arm.label, 22) for arm in one.arms])
        axes.set_ylim(1.6, -0.45)
        axes.set_xlabel(f"resolved, % (bar: {100 * one.level:.3g} % interval; dots: seeds)")
        axes.grid(axis="x", color=_SOFT, alpha=0.25, lw=0.6)
        return svg_of(figure, "Resolve rates of both arms")


def _dots(axes: Any, row: int, values: Sequence[float], colour: str) -> None:
    """Equal values beside each other, downwards."""
    seen: dict[float, int] = {}
    for value in values:
        level = seen.setdefault(value, 0)
        seen[value] += 1
        axes.plot(value, row + 0.2 + 0.075 * min(level, 4), "o", ms=4, color=colour, alpha=0.85)


def differences(found: Sequence[Comparison]) -> str:
    """The difference of each comparison with its interval, against 0 and the smallest effect of interest."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 1.55 + 0.42 * len(found)))
        axes = figure.subplots()
        small = 100 * found[0].options.smallest_effect
        axes.axvspan(-small, small, color=_SOFT, alpha=0.16, lw=0)
        axes.axvline(0, color=_SOFT, lw=1)
        ends = [small]
        for row, one in enumerate(found):
            low, high = one.delta_bounds
            colour = {"yes": ARM_COLOURS[1] if low > 0 else "#c0504d"}.get(one.record.result.significant.value, _SOFT)
            if one.interval is not None:
                ends += [abs(100 * end) for end in one.interval]
                axes.plot(
                    [100 * e for e in one.interval],
                    [row, row],
                    "-",
                    color=colour,
                    lw=7,
                    alpha=0.45,
                    solid_capstyle="butt",
                )
            axes.plot([100 * low, 100 * high], [row, row], "D-" if low == high else ":", color=colour, ms=7, lw=3)
            ends += [abs(100 * low), abs(100 * high)]
        edge = 1.08 * max(ends)
        axes.set_xlim(-edge, edge)
        axes.set_yticks(range(len(found)), [short(one.arms[1].label, 22) for one in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set_xlabel("candidate − baseline, percentage points\n(grey band: under the smallest effect of interest)")
        return svg_of(figure, "Difference with its interval")


def variance(one: Comparison) -> str:
    """What one observation's variance is made of, per arm, as shares."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 1.75))
        axes = figure.subplots()
        for row, arm in enumerate(one.arms):
            if arm.components is None or not arm.components.total:
                continue
            left = 0.0
            for part, colour in PART_COLOURS.items():
                share = 100 * (getattr(arm.components, part) or 0.0) / arm.components.total
                axes.barh(row, share, left=left, color=colour, height=0.58)
                if share >= 8:
                    axes.text(
                        left + share / 2, row, f"{share:.0f} %", ha="center", va="center", color="white", fontsize=9
                    )
                left += share
        axes.set_yticks([0, 1], [short(arm.label, 22) for arm in one.arms])
        axes.set_ylim(1.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the variance of one verdict, %")
        return svg_of(figure, "What variance is made of")


def costs(one: Comparison) -> str:
    """Cost per candidate in the unit that is weighed: median, 90 % and the largest, on one scale."""
    unit = one.costs.unit
    spreads = [arm.distributions.get(unit.value) for arm in one.costs.arms] if unit else []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 1.75))
        axes = figure.subplots()
        for row, (spread, colour) in enumerate(zip(spreads, ARM_COLOURS, strict=False)):
            if spread is None:
                continue
            axes.plot(
                [spread.median, spread.p90], [row, row], "-", color=colour, lw=7, alpha=0.35, solid_capstyle="butt"
            )
            axes.plot([spread.p90, spread.largest], [row, row], "-", color=colour, lw=1.4)
            axes.plot(spread.median, row, "D", color=colour, ms=7)
            axes.plot(spread.largest, row, "|", color=colour, ms=9)
            axes.text(
                spread.largest, row - 0.2, f" {number(spread.largest, unit or '')}", fontsize=8, ha="right", va="bottom"
            )
        axes.set_yticks([0, 1], [short(arm.label, 22) for arm in one.arms])
        axes.set_ylim(1.5, -0.65)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"{unit} a candidate (median, bar to 90 %, line to the largest)")
        return svg_of(figure, "Cost per candidate")
