"""The footprint part of a run's page: how much code each arm's candidates leave behind, beside their verdicts."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from parsimony.measurements import Record
from parsimony.report.plots import STYLE, short, svg_of

MOST_TASKS: Final = 60
"""Rows of the table by task; all records are in footprints.jsonl."""

_SOLVED: Final = "#2e8b57"
_OTHER: Final = "#c0504d"
_HUMAN: Final = "#5b6b7b"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """Mean net units of one task: of its own fix, and of each arm's measured solved attempts (None: there is none)."""

    task: str
    human: int | None
    arms: Mapping[str, tuple[float, int] | None]


def by_task(raw: Sequence[Mapping[str, Any]]) -> list[TaskRow]:
    """The tasks where an arm has a measured solved attempt, the widest difference between arms first."""
    nets: dict[str, dict[str, list[int]]] = {}
    human: dict[str, int | None] = {}
    arms = list(dict.fromkeys(one["agent"] for one in raw))
    for one, record in ((one, Record.from_json(one)) for one in raw):
        net = _net(record)
        if net is not None and record.resolved:
            nets.setdefault(record.task_id, {}).setdefault(record.agent, []).append(net)
        if one.get("human_metrics"):
            human[record.task_id] = one["human_metrics"]["net_units"]
    rows = [
        TaskRow(task, human.get(task), {arm: _mean(found.get(arm)) for arm in arms}) for task, found in nets.items()
    ]
    return sorted(rows, key=lambda row: (-_spread(row), row.task))


def _net(record: Record) -> int | None:
    metrics = record.measured
    return None if metrics is None or metrics.out_of_scope else metrics.net_units


def _mean(nets: Sequence[int] | None) -> tuple[float, int] | None:
    return (statistics.fmean(nets), len(nets)) if nets else None


def _spread(row: TaskRow) -> float:
    means = [one[0] for one in row.arms.values() if one is not None]
    return max(means) - min(means) if len(means) > 1 else -1.0


def plot(raw: Sequence[Mapping[str, Any]]) -> str:
    """Net units of every measured attempt by arm, solved and not solved apart, and the mean of the solved ones."""
    with mpl.rc_context(STYLE):
        arms: dict[str, tuple[list[int], list[int]]] = {}
        for one in raw:
            record = Record.from_json(one)
            solved, other = arms.setdefault(record.agent, ([], []))
            if (net := _net(record)) is not None:
                (solved if record.resolved else other).append(net)
        figure = Figure(figsize=(5.4, 1.0 + 0.7 * max(len(arms), 1)))
        axes = figure.subplots()
        for row, (solved, other) in enumerate(arms.values()):
            _dots(axes, other, row + 0.16, _OTHER)
            _dots(axes, solved, row - 0.16, _SOLVED)
            if solved:
                axes.plot(statistics.fmean(solved), row - 0.16, "D", color=_SOLVED, ms=6, mec="white", mew=0.8)
        axes.axvline(0, color=_HUMAN, lw=0.8)
        axes.set_xscale("symlog", linthresh=10)
        axes.set_yticks(range(len(arms)), [short(name) for name in arms])
        axes.set_ylim(len(arms) - 0.4, -0.6)
        axes.set_xlabel("net units (above: resolved, with their mean; below: the others)")
        axes.grid(axis="x", color="#8a949e", alpha=0.25, lw=0.6)
        return svg_of(figure, "Net units by arm")


def _dots(axes: Any, values: Sequence[int], at: float, colour: str) -> None:
    """Values as dots; equal ones move apart, so that each is seen."""
    seen: dict[int, int] = {}
    for value in values:
        seen[value] = seen.get(value, 0) + 1
        axes.plot(value, at + 0.035 * ((seen[value] - 1) % 5 - 2), "o", color=colour, ms=4, alpha=0.55, mew=0)
