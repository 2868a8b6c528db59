"""Plots of values: what arms earn, and on which sizes of payout."""

from __future__ import annotations

from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.report.plots import STYLE, short, svg_of
from parsimony.value import Appraisal

PALETTE: Final = ("#5b8db8", "#2e8b57", "#c0504d", "#d9b44a", "#8e44ad", "#5b6b7b", "#d98c5f", "#1b9e9e")
_SOFT: Final = "#8a949e"
_MICRO: Final = 1e6


def earned(found: Appraisal) -> str:
    """Mean earned per pass over the tasks with its interval, a dot per seed; bounds as a dotted span."""
    whole = found.arms[0].whole.available / _MICRO
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 1.15 + 0.55 * len(found.arms)))
        axes = figure.subplots()
        for row, arm in enumerate(found.arms):
            colour = PALETTE[row % len(PALETTE)]
            low, high = (float(end) / _MICRO for end in arm.whole.mean)
            if arm.whole.interval is not None:
                ends = [end / _MICRO for end in arm.whole.interval]
                axes.plot(ends, [row, row], "-", color=colour, lw=7, alpha=0.35, solid_capstyle="butt")
            axes.plot([low, high], [row, row], "D" if low == high else ":", color=colour, ms=7, lw=3, zorder=3)
            for seed in arm.whole.seeds:
                axes.plot([end / _MICRO for end in seed.earned], [row + 0.24] * 2, "o-", ms=3.5, lw=1, color=_SOFT)
        axes.set_yticks(range(len(found.arms)), [short(arm.arm, 22) for arm in found.arms])
        axes.set_ylim(len(found.arms) - 0.4, -0.6)
        axes.set_xlim(0, whole or 1)
        axes.xaxis.set_major_formatter(lambda value, _: f"${value:,.0f}" if whole >= 10 else f"${value:,.2f}")
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("earned a seed (bar: 95 % interval; dots: seeds; edge: all there is)")
        axes.grid(axis="x", color=_SOFT, alpha=0.25, lw=0.6)
        return svg_of(figure, "Dollars earned by arm")


def differences(found: Appraisal) -> str:
    """What each arm earns more than the baseline, with its interval."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 1.15 + 0.45 * len(found.contrasts)))
        axes = figure.subplots()
        axes.axvline(0, color=_SOFT, lw=1)
        for row, one in enumerate(found.contrasts):
            sure = one.interval is not None and (one.interval[0] > 0 or one.interval[1] < 0)
            colour = "#2e8b57" if sure and one.delta[0] > 0 else "#c0504d" if sure else _SOFT
            if one.interval is not None:
                ends = [end / _MICRO for end in one.interval]
                axes.plot(ends, [row, row], "-", color=colour, lw=7, alpha=0.4, solid_capstyle="butt")
            ends = [float(end) / _MICRO for end in one.delta]
            axes.plot(ends, [row, row], "D" if ends[0] == ends[1] else ":", color=colour, ms=7, lw=3)
        axes.set_yticks(range(len(found.contrasts)), [short(one.candidate, 22) for one in found.contrasts])
        axes.set_ylim(len(found.contrasts) - 0.4, -0.6)
        axes.margins(x=0.08)
        axes.xaxis.set_major_formatter(lambda value, _: f"{'−' if value < 0 else ''}${abs(value):,.6g}")
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel(f"a seed, more than {short(found.contrasts[0].baseline, 30)} (bar: 95 % interval)")
        axes.grid(axis="x", color=_SOFT, alpha=0.25, lw=0.6)
        return svg_of(figure, "Difference in dollars")
