"""One comparison from two grids: the exact record, and beside it everything that it was read off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from parsimony.ab.changes import Change, Flake, changes, flakes
from parsimony.ab.costs import CostComparison, compare_costs
from parsimony.ab.counts import decide
from parsimony.ab.frozen import Frozen, freeze
from parsimony.ab.inference import (
    ArmReading,
    Clusters,
    Others,
    Power,
    Reading,
    clusters_of,
    extremes,
    others,
    power_of_this,
    read,
    read_arm,
)
from parsimony.ab.pairing import Pair
from parsimony.ab.recommendation import Advice, Bound, advise
from parsimony.errors import InputError
from parsimony.records import ABComparison, Arm, ComparisonResult, Cost, Side, Significance
from parsimony.statistics import SPENDING, Interval, holm, nominal_alphas

SMALLEST_EFFECT: Final = 0.02
"""Differences of resolve rates under this are of no interest: 2 percentage points."""


WIDEST: Final = 1 - 1e-12
"""Level of an interval at most: an early look may spend less alpha than a float can take from 1."""


@dataclass(frozen=True, slots=True)
class Look:
    """Which look at growing data this is.

    Attributes:
        number, of: this one and the last planned one, equally spaced; spending: a name of `statistics.SPENDING`.
    """

    number: int = 1
    of: int = 1
    spending: str = "obrien-fleming"

    def alpha(self, alpha: float) -> float:
        """What a p-value must be under at this look, so that all looks together keep `alpha`.

        Raises:
            InputError: there is no such look or rule.
        """
        if self.spending not in SPENDING:
            known = ", ".join(SPENDING)
            raise InputError(f"is {self.spending!r}", mend=f"it must be one of {known}", field="spending")
        if not 1 <= self.number <= self.of:
            raise InputError(f"is {self.number} of {self.of}", mend="count looks from 1 to the last", field="look")
        if self.of == 1:
            return alpha
        shares = [number / self.of for number in range(1, self.number + 1)]
        return nominal_alphas(shares, alpha, SPENDING[self.spending])[-1]


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare.

    Attributes:
        alpha: chance of a false `yes`, over all comparisons and looks together.
        smallest_effect: see `SMALLEST_EFFECT`. power: for what could be detected. bound: see `Bound`.
    """

    alpha: float = 0.05
    smallest_effect: float = SMALLEST_EFFECT
    power: float = 0.8
    bound: Bound = field(default_factory=Bound)
    look: Look = field(default_factory=Look)

    def check(self) -> None:
        """Refuse what makes no sense.

        Raises:
            InputError: with the name of the option.
        """
        for name in ("alpha", "smallest_effect", "power"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise InputError(f"is {value}", mend="it must be between 0 and 1", field=name)
        for name, amount in (("cost_bound", self.bound.factor), ("most_per_task", self.bound.amount)):
            if amount is not None and not amount >= 0:
                raise InputError(f"is {amount}", mend="it must be 0 or more", field=name)
        self.look.alpha(self.alpha)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison and what it rests on.

    Attributes:
        record: the contract. With missing verdicts its rates and its delta are the middle of their bounds.
        frozen: the frozen config with the fields that nobody stated.
        clusters: what tasks were clustered by.
        low, high: the reading with missing verdicts counted against and for the candidate; the same without any.
        p_value: adjusted over the comparisons that were made together; the larger of `low` and `high`.
        level: of every interval. alpha: what `p_value` had to be under, at this look.
        missing: candidates without a verdict, in (baseline, candidate). decided_by_missing: the verdict is
            undetermined because they could change it.
        tests: None with missing verdicts.
        notes: what a reader must know, in words.
    """

    record: ABComparison
    frozen: Frozen
    arms: tuple[ArmReading, ArmReading]
    clusters: Clusters
    low: Reading
    high: Reading
    p_value: float
    level: float
    alpha: float
    options: Options
    missing: tuple[int, int]
    decided_by_missing: bool
    tests: Others | None
    power: Power
    costs: CostComparison
    advice: Advice
    changes: tuple[Change, ...]
    flakes: tuple[Flake, ...]
    tasks: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def delta_bounds(self) -> Interval:
        """Of the difference, missing verdicts counted both ways."""
        return self.low.delta, self.high.delta

    @property
    def interval(self) -> Interval | None:
        """Of the difference, as far as missing verdicts can move it."""
        if self.low.interval is None or self.high.interval is None:
            return None
        return min(self.low.interval[0], self.high.interval[0]), max(self.low.interval[1], self.high.interval[1])

    @property
    def complete(self) -> bool:
        """Whether every planned candidate has a verdict."""
        return not any(self.missing)


def compare(pairs: Sequence[Pair], change: Sequence[str], options: Options | None = None) -> tuple[Comparison, ...]:
    """Compare pairs of arms; several pairs are one family: Holm over their p-values, intervals that hold together.

    Args:
        change: what is under test in each pair, exactly one thing.

    Raises:
        InputError: the frozen configs are unequal, or an option makes no sense.
    """
    options = options or Options()
    options.check()
    alpha = options.look.alpha(options.alpha)
    level = min(1 - alpha / len(pairs), WIDEST)
    grids = {id(grid): grid for pair in pairs for grid in (pair.baseline, pair.candidate)}  # a baseline is there often
    arms = {name: read_arm(grid, level) for name, grid in grids.items()}
    parts = [_Parts.of(pair, level, (arms[id(pair.baseline)], arms[id(pair.candidate)])) for pair in pairs]
    adjusted = [holm([getattr(part, end).p_value for part in parts]) for end in ("low", "high")]
    return tuple(
        _comparison(part, text, (low, high), options=options, alpha=alpha, level=level)
        for part, text, low, high in zip(parts, change, *adjusted, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a pair shows before it is known how many comparisons there are to adjust for."""

    pair: Pair
    arms: tuple[ArmReading, ArmReading]
    frozen: Frozen
    clusters: Clusters
    low: Reading
    high: Reading

    @classmethod
    def of(cls, pair: Pair, level: float, arms: tuple[ArmReading, ArmReading]) -> _Parts:
        frozen, clusters = freeze(pair.baseline, pair.candidate), clusters_of(pair.baseline)
        tables = pair.baseline.verdicts, pair.candidate.verdicts
        worst, best = extremes(*tables)
        low = read(*worst, clusters, level)
        high = low if _complete(pair) else read(*best, clusters, level)
        return cls(pair, arms, frozen, clusters, low, high)


def _complete(pair: Pair) -> bool:
    return pair.baseline.missing == pair.candidate.missing == 0


def _comparison(
    part: _Parts, change: str, p_values: tuple[float, float], *, options: Options, alpha: float, level: float
) -> Comparison:
    pair, arms = part.pair, part.arms
    shape = len(pair.baseline.tasks), len(pair.baseline.seeds)
    verdicts = {
        (decide(p, one.interval, shape[1], alpha=alpha, smallest_effect=options.smallest_effect), _sign(one))
        for one, p in zip((part.low, part.high), p_values, strict=True)
    }
    verdict = _agreed(verdicts)
    costs = compare_costs(pair.baseline, pair.candidate, part.clusters.of, level)
    delta = arms[1].mean - arms[0].mean
    advice = advise(verdict, delta, shape[1], costs, options.bound)
    middle = replace(part.low, standard_error=_larger(part.low.standard_error, part.high.standard_error))
    tables = pair.baseline.verdicts, pair.candidate.verdicts
    sides = zip(Side, arms, costs.arms, strict=True)
    return Comparison(
        record=ABComparison(
            change_under_test=change,
            frozen=part.frozen.config,
            arms=tuple(_arm(side, arm, cost.record) for side, arm, cost in sides),
            seeds=pair.baseline.seeds,
            result=ComparisonResult(
                delta=max(-1.0, min(1.0, delta)), significant=verdict, recommendation=advice.recommendation
            ),
        ),
        frozen=part.frozen,
        arms=arms,
        clusters=part.clusters,
        low=part.low,
        high=part.high,
        p_value=max(p_values),
        level=level,
        alpha=alpha,
        options=options,
        missing=(pair.baseline.missing, pair.candidate.missing),
        decided_by_missing=len(verdicts) > 1 and verdict is Significance.UNDETERMINED,
        tests=others(*tables, level) if _complete(pair) else None,
        power=power_of_this(middle, arms, shape, target=options.smallest_effect, alpha=1 - level, power=options.power),
        costs=costs,
        advice=advice,
        changes=changes(pair.baseline, pair.candidate),
        flakes=(*flakes(pair.baseline), *flakes(pair.candidate)),
        tasks=pair.baseline.tasks,
        notes=(*pair.notes, *_notes(part, costs)),
    )


def _sign(reading: Reading) -> int:
    return (reading.delta > 0) - (reading.delta < 0)


def _agreed(verdicts: set[tuple[Significance, int]]) -> Significance:
    """The verdict that holds whatever the missing ones are; a `yes` must also keep its direction."""
    kinds = {kind for kind, _ in verdicts}
    if len(kinds) > 1 or (kinds == {Significance.YES} and len(verdicts) > 1):
        return Significance.UNDETERMINED
    return next(iter(kinds))


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _arm(side: Side, arm: ArmReading, cost: Cost) -> Arm:
    return Arm(
        name=side,
        harness_version=arm.harness,
        resolved=arm.resolved,
        mean=arm.mean,
        variance=arm.variance,
        confidence_interval=arm.interval,
        cost=cost,
    )


def _notes(part: _Parts, costs: CostComparison) -> list[str]:
    pair, found = part.pair, []
    if part.frozen.not_stated:
        found.append(f"neither arm states {_listed(part.frozen.not_stated)}: whether that was held fixed is not known")
    sides = zip((pair.baseline, pair.candidate), part.arms, costs.arms, strict=True)
    for grid, arm, cost in sides:
        if grid.settings.harness_version is None:
            found.append(f"{grid.label!r} names no harness version: the arm's name stands for it")
        if sum(arm.missing):
            found.append(f"{sum(arm.missing)} candidates of {grid.label!r} have no verdict; none counts as a failure")
        for unit, number in cost.not_told.items():
            told = "no candidate" if number == len(grid.cells) else f"{len(grid.cells) - number} of {len(grid.cells)}"
            found.append(f"{told} of {grid.label!r} tells its {unit}; the rest count as 0 in the record's sum")
    stated = [grid.settings.harness_version for grid in (pair.baseline, pair.candidate)]
    if stated[0] is not None and stated[0] == stated[1]:
        found.append(f"both arms name the harness version {stated[0]!r}: by that, nothing was changed")
    repos = {task.repo for task in pair.baseline.facts.values()}
    if part.clusters.name == "task" and 1 < len(repos) < len(pair.baseline.tasks):
        found.append(f"{len(repos)} repositories are too few to cluster by: the result speaks of tasks of just these")
    return found


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
