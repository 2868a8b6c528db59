"""One cell of the matrix: what a model in a scaffold solves of a benchmark, and what a task costs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from parsimony.cost_ledger import ArmCost
from parsimony.matrix.rows import Place, PublishedRow
from parsimony.statistics import Interval, wilson


@dataclass(frozen=True, slots=True)
class Cell:
    """A result.

    Attributes:
        bounds: accuracy if no missing verdict, and if every missing verdict, were resolved; else equal.
        n: tasks. seeds: passes over them; None where nobody says.
        per_task: micro-dollars of producing a candidate, the mean; None where the cost of one is not known.
        missing: planned candidates without a verdict. unknown: candidates whose cost is not known.
        source: the run, or where the numbers were published.
        task_set: digest of the tasks of a run; None where it is not known.
        measured: whether it comes from a run.
    """

    place: Place
    bounds: tuple[Fraction, Fraction]
    n: int
    per_task: Fraction | None
    source: str = ""
    seeds: int | None = None
    missing: int = 0
    unknown: int = 0
    task_set: str | None = None
    measured: bool = False

    @property
    def accuracy(self) -> Fraction | None:
        """The share of tasks that is solved; None while verdicts are missing."""
        return None if self.missing else self.bounds[0]

    @property
    def interval(self) -> Interval:
        """95 % Wilson interval of the nearest whole number of n tasks; it spans both extremes of what is missing.

        Tasks are what is drawn: another seed of a task is no further task, so seeds make it no narrower.
        """
        ends = [wilson(round(end * self.n), self.n) or (0.0, 1.0) for end in self.bounds]
        return ends[0][0], ends[1][1]


def published(row: PublishedRow) -> Cell:
    """The cell of published numbers."""
    per_task = None if row.micro_dollars is None else Fraction(row.micro_dollars, row.n)
    return Cell(row.place, (row.accuracy, row.accuracy), row.n, per_task, row.source)


def measured(place: Place, cost: ArmCost, source: str, task_set: str | None = None) -> Cell:
    """The cell of an arm of a run. Every task counts once, by its rate over seeds.

    Args:
        cost: of the arm, from `parsimony.cost_ledger.by_arm`, one candidate at least.
    """
    by_task: dict[str, list[bool | None]] = {}
    for one in cost.each:
        by_task.setdefault(one.task_id, []).append(one.verdict)
    costs = [one.llm for one in cost.each]
    known = [amount for amount in costs if amount is not None]
    return Cell(
        place,
        (_mean(by_task, {True}), _mean(by_task, {True, None})),
        len(by_task),
        Fraction(sum(known), len(known)) if known and len(known) == len(costs) else None,
        source,
        max(map(len, by_task.values())),
        cost.missing,
        len(costs) - len(known),
        task_set,
        measured=True,
    )


def _mean(by_task: Mapping[str, list[bool | None]], good: set[bool | None]) -> Fraction:
    shares = [Fraction(sum(one in good for one in found), len(found)) for found in by_task.values()]
    return sum(shares, Fraction(0)) / len(shares)
