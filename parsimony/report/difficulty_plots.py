"""Plots of a bank of tasks: characteristic curves, difficulty against discrimination, information, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit

from parsimony.difficulty import Difficulty, Item, Place, information
from parsimony.report.plots import STYLE, short, svg_of

COLOURS: Final = {
    Place.NONE: "#8e44ad",
    Place.HARD: "#c0504d",
    Place.MIDDLE: "#2e8b57",
    Place.EASY: "#5b8db8",
    Place.ALL: "#9aa5b1",
    Place.UNTRIED: "#5b6b7b",
}
_STYLE: Final = {**STYLE, "text.parse_math": False}  # names may hold dollar signs
_SOFT: Final = "#8a949e"
_LINES: Final = ("#2e8b57", "#5b8db8", "#c0504d", "#b58b2a", "#8e44ad", "#5b6b7b")
_SLOPES: Final = 24
"""Respondents up to which ranks are drawn as lines with names; more are dots."""
_EDGE: Final = 4.0
"""Difficulties beyond this are drawn at the edge."""


def curves(items: Sequence[Item]) -> str:
    """The chance of solving each of some tasks, over ability."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(5.4, 3.3))
        axes = figure.subplots()
        grid = np.linspace(-_EDGE, _EDGE, 161)
        for item, colour in zip(items, _LINES, strict=False):
            assert item.difficulty is not None
            assert item.discrimination is not None
            chance = 100 * expit(item.discrimination * (grid - item.difficulty))
            axes.plot(grid, chance, color=colour, lw=1.8, label=_label(item.task_id))
        axes.axhline(50, color=_SOFT, lw=0.7, ls=":")
        axes.set_xlim(-_EDGE, _EDGE)
        axes.set_ylim(-3, 103)
        axes.set_xlabel("ability")
        axes.set_ylabel("chance to solve, %")
        axes.grid(color=_SOFT, alpha=0.2, lw=0.6)
        axes.legend(fontsize=8, frameon=False, loc="upper left", handlelength=1.4)
        return svg_of(figure, "Item characteristic curves")


def _label(name: str) -> str:
    """A name in a legend, which leaves out those that begin with an underscore."""
    return short(f" {name}" if name.startswith("_") else name, 24)


def scatter(found: Difficulty) -> str:
    """Discrimination against difficulty, coloured by the band; hollow = imprecise."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(5.4, 3.3))
        axes = figure.subplots()
        for place, colour in COLOURS.items():
            for hollow in (False, True):
                some = [x for x in found.items if (x.place, x.imprecise) == (place, hollow)]
                b = [min(max(x.difficulty, -_EDGE), _EDGE) for x in some if x.difficulty is not None]
                a = [x.discrimination for x in some if x.discrimination is not None]
                axes.scatter(b, a, s=18, lw=0.9, facecolors="none" if hollow else colour, edgecolors=colour, alpha=0.85)
        axes.set_yscale("log", base=2)
        low, high = min(axes.get_ylim()[0], 0.45), max(axes.get_ylim()[1], 2.2)
        axes.set_ylim(low, high)
        ticks = [tick for tick in (0.25, 0.5, 1, 2, 4, 8) if low <= tick <= high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlim(-_EDGE - 0.2, _EDGE + 0.2)
        axes.set_xlabel("difficulty (the ability at which half solve it)")
        axes.set_ylabel("discrimination")
        axes.grid(color=_SOFT, alpha=0.2, lw=0.6)
        return svg_of(figure, "Discrimination against difficulty")


def told(found: Difficulty) -> str:
    """Information of all tasks and of the mid-range set over ability; a tick per respondent."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(5.4, 3.3))
        axes = figure.subplots()
        grid = np.linspace(-_EDGE, _EDGE, 161)
        for items, colour, label in (
            (found.items, _SOFT, "all tasks"),
            ([item for item in found.items if item.place is Place.MIDDLE], COLOURS[Place.MIDDLE], "mid-range"),
        ):
            total = _total(items, grid)
            axes.fill_between(grid, total, color=colour, alpha=0.15, lw=0)
            axes.plot(grid, total, color=colour, lw=1.8, label=label)
        top = max(axes.get_ylim()[1], 1e-6)
        abilities = [one.ability for one in found.respondents if one.ability is not None]
        axes.plot(abilities, [-0.03 * top] * len(abilities), "|", color="#5b6b7b", ms=9, alpha=0.8)
        axes.set_ylim(-0.07 * top, top)
        axes.set_xlim(-_EDGE, _EDGE)
        axes.set_xlabel("ability (ticks: respondents)")
        axes.set_ylabel("information")
        axes.grid(color=_SOFT, alpha=0.2, lw=0.6)
        axes.legend(fontsize=8, frameon=False, loc="upper right")
        return svg_of(figure, "Information over ability")


def _total(items: Sequence[Item], grid: Any) -> Any:
    known = [item for item in items if item.difficulty is not None]
    b, a = (np.array([getattr(item, name) for item in known], dtype=float) for name in ("difficulty", "discrimination"))
    return information(grid, b, a).sum(axis=1)


def ranks(found: Difficulty) -> str:
    """Ranks on all tasks against ranks on the mid-range set: lines with names, or dots where there are many."""
    rows = [
        (one.name, full, middle)
        for one, full, middle in zip(
            found.respondents, found.stability.full_ranks, found.stability.middle_ranks, strict=True
        )
        if full is not None and middle is not None
    ]
    with mpl.rc_context(_STYLE):
        few = len(rows) <= _SLOPES
        figure = Figure(figsize=(5.4, 1.2 + 0.24 * max(len(rows), 4) if few else 4.2))
        axes = figure.subplots()
        (_slopes if few else _dots)(axes, rows)
        return svg_of(figure, "Ranks on all tasks and on the mid-range set")


def _slopes(axes: Any, rows: Sequence[tuple[str, float, float]]) -> None:
    labels: tuple[dict[float, list[str]], dict[float, list[str]]] = ({}, {})
    for name, full, middle in rows:
        moved = abs(full - middle) >= 1
        axes.plot(
            [0, 1], [full, middle], "o-", color="#c0504d" if moved else COLOURS[Place.MIDDLE], ms=4, lw=1.4, alpha=0.8
        )
        labels[0].setdefault(full, []).append(name)
        labels[1].setdefault(middle, []).append(name)
    for side, (across, align) in enumerate(((-0.04, "right"), (1.04, "left"))):
        for place, names in labels[side].items():
            # Who shares a rank shares a line.
            axes.text(across, place, short(", ".join(names), 22), ha=align, va="center", fontsize=8)
    axes.set_xlim(-0.75, 1.75)
    axes.set_ylim(len(rows) + 0.6, 0.4)
    axes.set_xticks([0, 1], ["all tasks", "mid-range set"])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _dots(axes: Any, rows: Sequence[tuple[str, float, float]]) -> None:
    axes.plot([1, len(rows)], [1, len(rows)], color=_SOFT, lw=0.8, ls=":")
    axes.plot([row[1] for row in rows], [row[2] for row in rows], "o", color=COLOURS[Place.MIDDLE], ms=4, alpha=0.75)
    axes.set_xlim(0, len(rows) + 1)
    axes.set_ylim(len(rows) + 1, 0)
    axes.set_xlabel("rank on all tasks")
    axes.set_ylabel("rank on the mid-range set")
