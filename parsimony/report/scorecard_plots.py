"""Plots of stages: the funnel of an arm, and differences between two arms with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.diagnosis import Difference, Funnel
from parsimony.report.plots import STYLE, svg_of

PASSED: Final = "#2e8b57"
LOST: Final = "#c0504d"
QUIET: Final = "#8a949e"
CHANGE_COLOURS: Final = {"gain": PASSED, "loss": LOST, "flat": QUIET, "unknown": "#d9b44a"}


def funnel(one: Funnel) -> str:
    """Candidates that passed each stage (green) and those lost there (red, strong at the bottleneck), in percent of all
    that are placed."""
    steps = [step for step in one.steps if step.measured]
    scale = 100 / max(one.placed, 1)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 0.95 + 0.42 * len(steps)))
        axes = figure.subplots()
        for row, step in enumerate(steps):
            passed = scale * (step.came - step.lost)
            axes.barh(row, passed, color=PASSED, alpha=0.85, height=0.66)
            strong = step.name == one.bottleneck
            axes.barh(row, scale * step.lost, left=passed, color=LOST, alpha=0.9 if strong else 0.3, height=0.66)
            if step.lost:
                text = f"−{step.lost} of {step.came}" + (" · bottleneck" if strong else "")
                _label(axes, scale * step.came, row, text, bold=strong)
        axes.set_yticks(range(len(steps)), [step.passed for step in steps])
        axes.set_ylim(len(steps) - 0.4, -0.6)
        axes.set_xlim(0, 135)
        axes.set_xticks(range(0, 101, 20))
        axes.set_xlabel("candidates that come so far, %")
        return svg_of(figure, "How far candidates come")


def _label(axes: Any, right: float, row: int, text: str, *, bold: bool) -> None:
    axes.text(right + 1.5, row, text, va="center", fontsize=8.5, fontweight="bold" if bold else "normal")


def differences(found: Sequence[Difference]) -> str:
    """Each measure's difference, candidate − baseline, with its interval; fractions in points."""
    shown = [one for one in found if one.measure.unit == "%"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.8, 1.0 + 0.36 * len(shown)))
        axes = figure.subplots()
        axes.axvline(0, color=QUIET, lw=0.8)
        for row, one in enumerate(shown):
            colour = CHANGE_COLOURS[one.change.value]
            if one.low is not None and one.high is not None:
                axes.plot([100 * one.low, 100 * one.high], [row, row], "-", color=colour, lw=3, alpha=0.45)
            axes.plot(100 * one.delta, row, "D", color=colour, ms=5.5)
        axes.set_yticks(range(len(shown)), [one.measure.title for one in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel("difference, points (bar: interval)")
        axes.grid(axis="x", color=QUIET, alpha=0.25, lw=0.6)
        return svg_of(figure, "Differences by stage")
