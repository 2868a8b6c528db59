"""What the matrix says across benchmarks: where models stand, and what a scaffold changes at equal model and task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from statistics import fmean

from parsimony.matrix.cells import Cell
from parsimony.matrix.model import Matrix
from parsimony.matrix.rows import Place
from parsimony.statistics import Interval, paired_difference


@dataclass(frozen=True, slots=True)
class Standing:
    """A model across benchmarks.

    Attributes:
        mean_rank: mean over its benchmarks of its rank among models in the same scaffold, from 1; ties share the mean
            of their places. None where it is nowhere beside another model.
        ranked: benchmarks that this rests on. of: those on which models could be ranked at all.
        frontier, convex: benchmarks on whose frontier it is, in any scaffold. priced: those with a known cost of it.
    """

    model: str
    mean_rank: Fraction | None
    ranked: int
    of: int
    frontier: int
    convex: int
    priced: int

    @property
    def complete(self) -> bool:
        """Whether its mean rank is over every benchmark: only such ranks can be set beside each other."""
        return self.mean_rank is not None and self.ranked == self.of


def standings(matrix: Matrix) -> list[Standing]:
    """All models: those that were ranked on every benchmark first, by mean rank."""
    ranks = _ranks(matrix)
    rankable = len({benchmark for of in ranks.values() for benchmark in of})
    placed = {name: matrix.placed(name) for name in matrix.benchmarks}
    found = []
    for model in matrix.models:
        mine = [[one for one in some if one.cell.place.model == model] for some in placed.values()]
        means = [sum(some, Fraction(0)) / len(some) for some in ranks[model].values()]
        found.append(
            Standing(
                model,
                sum(means, Fraction(0)) / len(means) if means else None,
                len(means),
                rankable,
                sum(any(one.frontier for one in some) for some in mine),
                sum(any(one.convex for one in some) for some in mine),
                sum(any(one.cell.per_task is not None and not one.cell.missing for one in some) for some in mine),
            )
        )
    return sorted(found, key=lambda one: (not one.complete, one.mean_rank is None, one.mean_rank or 0, one.model))


def _ranks(matrix: Matrix) -> Mapping[str, Mapping[str, list[Fraction]]]:
    """By model and benchmark its ranks, one per scaffold in which it stands beside another model."""
    found: dict[str, dict[str, list[Fraction]]] = {model: {} for model in matrix.models}
    for benchmark, scaffold in matrix.columns:
        cells = [matrix.at.get(Place(model, benchmark, scaffold)) for model in matrix.models]
        known = {cell.place.model: cell.accuracy for cell in cells if cell is not None and cell.accuracy is not None}
        if len(known) < 2:
            continue
        for model, rank in midranks(known).items():
            found[model].setdefault(benchmark, []).append(rank)
    return found


def midranks(scores: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Ranks from 1, the highest score first; equal ones share the mean of their places."""
    values = list(scores.values())
    return {
        name: 1 + sum(other > score for other in values) + Fraction(values.count(score) - 1, 2)
        for name, score in scores.items()
    }


@dataclass(frozen=True, slots=True)
class Effect:
    """One scaffold against another where model and benchmark are the same.

    Attributes:
        places: the (model, benchmark) pairs that have both, with the difference of accuracies, `other` less `one`.
        mean: of the differences, 0..1. interval: 95 %, clustered by benchmark; None with fewer than two of them.
        cost_ratio: geometric mean of what `other` costs over what `one` does; None where no pair has both costs.
        priced: pairs that this rests on.
    """

    one: str
    other: str
    places: tuple[tuple[str, str, Fraction], ...]
    mean: float
    interval: Interval | None
    cost_ratio: float | None
    priced: int

    @property
    def counts(self) -> tuple[int, int, int]:
        """How often `other` solves more, less, and as much."""
        signs = [(delta > 0) - (delta < 0) for _, _, delta in self.places]
        return signs.count(1), signs.count(-1), signs.count(0)


def scaffold_effects(matrix: Matrix) -> list[Effect]:
    """Each pair of scaffolds that share a model and a benchmark, in the order of their first cells."""
    scaffolds = list(dict.fromkeys(cell.place.scaffold for cell in matrix.cells))
    found = []
    for one, other in combinations(scaffolds, 2):
        pairs = _pairs(matrix, one, other)
        if pairs:
            found.append(_effect(one, other, pairs))
    return found


def _pairs(matrix: Matrix, one: str, other: str) -> list[tuple[Cell, Cell]]:
    found = []
    for cell in matrix.cells:
        if cell.place.scaffold == one:
            partner = matrix.at.get(cell.place._replace(scaffold=other))
            if partner is not None and not cell.missing and not partner.missing:
                found.append((cell, partner))
    return found


def _effect(one: str, other: str, pairs: Sequence[tuple[Cell, Cell]]) -> Effect:
    before, after = ([float(cell.bounds[0]) for cell in side] for side in zip(*pairs, strict=True))
    difference = paired_difference(before, after, [cell.place.benchmark for cell, _ in pairs])
    ratios = [math.log(b.per_task / a.per_task) for a, b in pairs if a.per_task and b.per_task]
    return Effect(
        one,
        other,
        tuple((a.place.model, a.place.benchmark, b.bounds[0] - a.bounds[0]) for a, b in pairs),
        difference.mean if difference else 0.0,
        difference.interval if difference else None,
        math.exp(fmean(ratios)) if ratios else None,
        len(ratios),
    )
