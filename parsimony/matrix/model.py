"""The matrix: models × benchmarks × scaffolds, with its empty cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from parsimony.matrix.cells import Cell
from parsimony.matrix.rows import Place
from parsimony.pareto import Point, convex_frontier, dominators, frontier


@dataclass(frozen=True, slots=True)
class Placed:
    """A cell beside the others of its benchmark.

    Attributes:
        dominated_by: place of one that solves at least as much for no more, and one of the two truly; None where there
            is none, or something is not known.
        frontier, convex: whether it is on the plain and on the convex frontier.
    """

    cell: Cell
    dominated_by: Place | None
    frontier: bool
    convex: bool


@dataclass(frozen=True)
class Matrix:
    """Results by place; each place once. Names keep the order of their first cell."""

    cells: tuple[Cell, ...]

    @cached_property
    def at(self) -> dict[Place, Cell]:
        """Cells by place."""
        return {cell.place: cell for cell in self.cells}

    @cached_property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(dict.fromkeys(cell.place.model for cell in self.cells))

    @cached_property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks."""
        return list(dict.fromkeys(cell.place.benchmark for cell in self.cells))

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """(benchmark, scaffold) that at least one model was run on, benchmarks together."""
        found = dict.fromkeys((cell.place.benchmark, cell.place.scaffold) for cell in self.cells)
        return [pair for name in self.benchmarks for pair in found if pair[0] == name]

    @cached_property
    def gaps(self) -> list[Place]:
        """Cells without a result, in columns that have others. They are empty: no zero, no failure."""
        return [
            place
            for benchmark, scaffold in self.columns
            for model in self.models
            if (place := Place(model, benchmark, scaffold)) not in self.at
        ]

    def of(self, benchmark: str) -> list[Cell]:
        """The cells of a benchmark."""
        return [cell for cell in self.cells if cell.place.benchmark == benchmark]

    def placed(self, benchmark: str) -> list[Placed]:
        """The cells of a benchmark by accuracy, cost and name, each beside the others; those with bounds last."""
        cells = sorted(self.of(benchmark), key=_order)
        found = points(cells)
        edge = {point.name for point in frontier(found)}
        hull = {point.name for point in convex_frontier(found)}
        beaten = dominators(found)
        places = {_name(cell.place): cell.place for cell in cells}
        return [
            Placed(cell, places.get(beaten.get(name, "")), name in edge, name in hull)
            for cell in cells
            for name in (_name(cell.place),)
        ]


def points(cells: Sequence[Cell]) -> list[Point]:
    """Cells with an accuracy and a cost, as points (micro-dollars a task, accuracy)."""
    return [
        Point(_name(cell.place), cell.per_task, cell.accuracy)
        for cell in cells
        if cell.per_task is not None and cell.accuracy is not None
    ]


def labels(cells: Sequence[Cell]) -> dict[str, str]:
    """What to write beside the points of `points`."""
    several = len({cell.place.scaffold for cell in cells}) > 1
    return {
        _name(cell.place): f"{cell.place.model}, {cell.place.scaffold}" if several else cell.place.model
        for cell in cells
    }


def _name(place: Place) -> str:
    """A name that no other place has: of a text that joins names, two pairs could be equal."""
    return repr(tuple(place))


def _order(cell: Cell) -> tuple[bool, float, bool, float, Place]:
    return bool(cell.missing), -float(cell.bounds[0]), cell.per_task is None, float(cell.per_task or 0), cell.place
