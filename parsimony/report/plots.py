"""Plots as SVG text, drawn without a display, with the page's own fonts and colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping
from typing import Any, Final

import matplotlib as mpl

mpl.use("svg")

from matplotlib.figure import Figure

OUTCOME_COLOURS: Final[Mapping[str, str]] = {
    "resolved": "#2e8b57",
    "not_resolved": "#c0504d",
    "does_not_apply": "#d98c5f",
    "timed_out": "#d9b44a",
    "out_of_memory": "#b58b2a",
    "tampered": "#8e44ad",
    "empty_patch": "#9aa5b1",
    "missing": "#5b6b7b",
}
"""One colour per outcome, the same in plots and in the page."""

STYLE: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "parsimony",  # equal input gives an equal file
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a949e",
    "axes.labelcolor": "#5b6b7b",
    "xtick.color": "#5b6b7b",
    "ytick.color": "#5b6b7b",
    "text.color": "#5b6b7b",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
"""Settings of matplotlib for a figure that stands on the page's own ground, light or dark."""


def rates(arms: Mapping[str, Mapping[str, Any]]) -> str:
    """Resolve rate of each arm with its 95 % Wilson interval, and each seed as a dot. Rates that are not known (a seed
    with missing units) are drawn as the span of their bounds."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 0.95 + 0.55 * len(arms)))
        axes = figure.subplots()
        for row, arm in enumerate(arms.values()):
            _whisker(axes, row, arm)
            for seed in arm["seeds"].values():
                if seed["rate"] is not None:
                    axes.plot(100 * seed["rate"], row + 0.22, "o", ms=4, color="#8a949e", alpha=0.8)
        axes.set_yticks(range(len(arms)), [short(name) for name in arms])
        axes.set_ylim(len(arms) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("resolved, % (bar: 95 % Wilson interval; dots: seeds)")
        axes.grid(axis="x", color="#8a949e", alpha=0.25, lw=0.6)
        return svg_of(figure, "Resolve rate by arm")


def _whisker(axes: Any, row: int, arm: Mapping[str, Any]) -> None:
    if arm["rate"] is not None:
        low, high = arm["wilson_95"]
        axes.plot([100 * low, 100 * high], [row, row], "-", color="#2e8b57", lw=3, alpha=0.45, solid_capstyle="butt")
        axes.plot(100 * arm["rate"], row, "D", color="#2e8b57", ms=6)
    elif arm["bounds"]:
        low, high = arm["bounds"]
        axes.plot([100 * low, 100 * high], [row, row], ":", color="#5b6b7b", lw=3)


def outcomes(arms: Mapping[str, Mapping[str, Any]]) -> str:
    """Share of each outcome by arm, as stacked bars."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 0.95 + 0.55 * len(arms)))
        axes = figure.subplots()
        for row, arm in enumerate(arms.values()):
            left = 0.0
            for outcome, colour in OUTCOME_COLOURS.items():
                share = 100 * arm["outcomes"].get(outcome, 0) / max(arm["planned"], 1)
                if share:
                    axes.barh(row, share, left=left, color=colour, height=0.6)
                    left += share
        axes.set_yticks(range(len(arms)), [short(name) for name in arms])
        axes.set_ylim(len(arms) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of planned candidates, %")
        return svg_of(figure, "Outcomes by arm")


def short(name: str, size: int = 28) -> str:
    """A name that fits beside an axis."""
    return name if len(name) <= size else name[: size - 1] + "…"


def svg_of(figure: Figure, title: str) -> str:
    """The figure as an `<svg>` element as wide as what it stands in, with a name for those who cannot see it."""
    text = io.StringIO()
    with warnings.catch_warnings():
        # Text stays text and is drawn by the reader's browser, which has more glyphs than the font measured with here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.tight_layout()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1 width="100%"', svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
