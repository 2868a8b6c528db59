"""The cells of an arm: one candidate (a task and a seed) each, with every execution of it as one verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parsimony.runs import Settings, Trial, majority
from parsimony.scorer import Outcome
from parsimony.tasks import Task

Floats = NDArray[np.float64]
Key = tuple[str, int]
MICRO: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One candidate and its repeats.

    Attributes:
        trials: its executions; their logs are paths that can be opened.
        verdict: see `majority`.
    """

    task_id: str
    seed: int
    trials: tuple[Trial, ...]
    verdict: bool | None

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How often each outcome came, missing ones left out."""
        return Counter(trial.outcome for trial in self.trials if trial.outcome is not Outcome.MISSING)

    @property
    def flaky(self) -> bool:
        """Whether its repeats disagree about the verdict."""
        return len({trial.resolved for trial in self.trials} - {None}) > 1

    @property
    def log(self) -> str | None:
        """The log of a repeat that shows the verdict."""
        shows = [trial.log for trial in self.trials if trial.log and trial.resolved == self.verdict]
        return shows[0] if shows else next((trial.log for trial in self.trials if trial.log), None)


@dataclass(frozen=True, slots=True)
class CellCost:
    """What one candidate cost to produce, and to grade once (the mean of its repeats: repeats are the instrument's).

    Attributes:
        dollars, tokens, calls: None where nobody told. Dollars are those of language models, and of computing where
            that has a price.
        cpu, wall: seconds; a candidate that needed no execution took none for it.
    """

    dollars: float | None
    tokens: int | None
    calls: int | None
    cpu: float
    wall: float


def cell_cost(cell: Cell) -> CellCost:
    """The cost of one candidate."""
    llm = next((trial.llm for trial in cell.trials if trial.llm is not None), None)
    compute = [trial.compute for trial in cell.trials if trial.compute is not None]
    n = len(compute) or 1
    cpu, wall = sum(c.cpu_seconds for c in compute) / n, sum(c.wall_seconds for c in compute) / n
    priced = [c.micro_dollars for c in compute if c.micro_dollars is not None]
    if llm is None:
        return CellCost(None, None, None, cpu, wall)
    micro = None if llm.micro_dollars is None else llm.micro_dollars + sum(priced) / (len(priced) or 1)
    dollars = None if micro is None else micro / MICRO
    return CellCost(dollars, llm.tokens, llm.calls, llm.cpu_seconds + cpu, llm.wall_seconds + wall)


@dataclass(frozen=True)
class Grid:
    """One arm on the tasks and seeds of a comparison.

    Attributes:
        label: the arm's name for people; unlike the other arm's.
        tasks, seeds: rows and columns, the same for both arms.
        cells: by task and seed; one that is not there was planned and has no candidate: its verdict is missing.
        facts: the tasks themselves, where they are known.
    """

    label: str
    settings: Settings
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    cells: Mapping[Key, Cell] = field(repr=False)
    facts: Mapping[str, Task] = field(repr=False)

    def __iter__(self) -> Iterator[Cell]:
        """The cells that are there, by task and seed."""
        return (self.cells[key] for key in self._keys() if key in self.cells)

    def _keys(self) -> Iterator[Key]:
        return ((task, seed) for task in self.tasks for seed in self.seeds)

    @cached_property
    def verdicts(self) -> Floats:
        """(tasks, seeds): 1 resolved, 0 not, NaN missing."""
        found = [cell.verdict if (cell := self.cells.get(key)) else None for key in self._keys()]
        values = np.array([np.nan if verdict is None else float(verdict) for verdict in found])
        return values.reshape(len(self.tasks), len(self.seeds))

    @cached_property
    def missing(self) -> int:
        """Planned candidates without a verdict."""
        return int(np.isnan(self.verdicts).sum())

    @cached_property
    def costs(self) -> Mapping[Key, CellCost]:
        """What each cell that is there cost."""
        return {key: cell_cost(cell) for key, cell in self.cells.items()}

    def restricted(self, tasks: Sequence[str], seeds: Sequence[int]) -> Grid:
        """The same arm on fewer tasks and seeds."""
        kept, columns = set(tasks), set(seeds)
        cells = {key: cell for key, cell in self.cells.items() if key[0] in kept and key[1] in columns}
        facts = {name: task for name, task in self.facts.items() if name in kept}
        return Grid(self.label, self.settings, tuple(tasks), tuple(seeds), cells, facts)


def make_grid(label: str, settings: Settings, trials: Iterable[Trial], facts: Mapping[str, Task]) -> Grid:
    """The grid of an arm from its trials; tasks in their order, seeds sorted."""
    gathered: dict[Key, list[Trial]] = {}
    for trial in trials:
        gathered.setdefault((trial.task_id, trial.seed), []).append(trial)
    cells = {key: Cell(*key, tuple(found), majority([t.resolved for t in found])) for key, found in gathered.items()}
    tasks = tuple(dict.fromkeys(task for task, _ in cells))
    seeds = tuple(sorted({seed for _, seed in cells}))
    return Grid(label, settings, tasks, seeds, cells, {name: facts[name] for name in tasks if name in facts})
