"""The tasks that changed, and the candidates whose repeats disagree, each with the logs to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from parsimony.ab.cells import Cell, Grid
from parsimony.scorer import Outcome


@dataclass(frozen=True, slots=True)
class Change:
    """A task that the arms resolve on different numbers of seeds.

    Attributes:
        baseline, candidate: seeds on which it is resolved, of those with a verdict in both arms (`seeds`).
        side: `won` or `lost` where most seeds of one arm resolve it and most of the other do not; else None.
        seed: one that shows the difference. logs: of both arms there; None where nothing was executed.
        outcomes: of both arms there.
    """

    task_id: str
    baseline: int
    candidate: int
    seeds: int
    side: str | None
    seed: int
    logs: tuple[str | None, str | None]
    outcomes: tuple[str, str]


def changes(baseline: Grid, candidate: Grid) -> tuple[Change, ...]:
    """Every task whose count differs: changed sides first, then by how much."""
    a, b = baseline.verdicts, candidate.verdicts
    both = ~np.isnan(a) & ~np.isnan(b)
    found = []
    for row, task in enumerate(baseline.tasks):
        known = both[row]
        n, before, after = int(known.sum()), int(a[row][known].sum()), int(b[row][known].sum())
        if before == after:
            continue
        won = after > before
        side = ("won" if won else "lost") if (2 * before > n) != (2 * after > n) else None
        differs = known & ((b[row] == 1) & (a[row] == 0) if won else (a[row] == 1) & (b[row] == 0))
        seed = baseline.seeds[int(np.argmax(differs))]
        cells = baseline.cells[task, seed], candidate.cells[task, seed]
        outcomes = (_outcome(cells[0]), _outcome(cells[1]))
        found.append(Change(task, before, after, n, side, seed, (cells[0].log, cells[1].log), outcomes))
    return tuple(sorted(found, key=lambda one: (one.side is None, -abs(one.candidate - one.baseline), one.task_id)))


def _outcome(cell: Cell) -> str:
    """The outcome that goes with the verdict; the most frequent one of several."""
    fits = {o: n for o, n in cell.outcomes.items() if (o is Outcome.RESOLVED) == bool(cell.verdict)}
    return max(fits, key=lambda outcome: fits[outcome]).value if fits else Outcome.MISSING.value


@dataclass(frozen=True, slots=True)
class Flake:
    """A candidate whose repeats disagree. `resolved`: the verdict that the majority gives; None while open."""

    task_id: str
    arm: str
    seed: int
    outcomes: Mapping[str, int]
    resolved: bool | None


def flakes(grid: Grid) -> tuple[Flake, ...]:
    """The flaky candidates of an arm."""
    return tuple(
        Flake(cell.task_id, grid.label, cell.seed, {o.value: n for o, n in cell.outcomes.items()}, cell.verdict)
        for cell in grid
        if cell.flaky
    )
