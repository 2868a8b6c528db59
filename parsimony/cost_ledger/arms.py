"""What an arm resolved, what that cost, and what the one is worth in the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from parsimony.cost_ledger.entries import Entry, Kind, Total, entries
from parsimony.cost_ledger.prices import MICRO, PriceTable
from parsimony.runs import Run, Spend, Trial, majority
from parsimony.statistics import quantile

Rational = Fraction | int


@dataclass(frozen=True, slots=True)
class CandidateCost:
    """What one candidate cost.

    Attributes:
        verdict: one of all its repeats, as in comparisons (`parsimony.runs.majority`); None = missing.
        llm: micro-dollars of producing it; None where nobody told.
        compute: of grading it once, the mean of its repeats: they are the instrument's doing. None where it has no
            price, 0 where it needed no execution.
        tokens, wall_seconds: of producing it. cpu_seconds: of producing it and grading it once.
    """

    task_id: str
    seed: int
    verdict: bool | None
    llm: int | None
    compute: Rational | None
    tokens: int
    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class ArmCost:
    """What an arm resolved and what that cost.

    Attributes:
        candidates: planned ones. missing: those without a verdict. resolved: of those that have one.
        llm, compute: everything that its ledger rows hold, all repeats of a grading included.
        untold: candidates with a verdict whose producing has no price: their cost is unknown, not zero.
        with_grading: whether dollars are those of producing and grading, or of producing alone, because computing has
            no price at all here.
        each: its candidates, in the order of the plan.
        days: first and last day whose prices were used; None where everything came with its dollars.
    """

    arm: str
    candidates: int
    resolved: int
    missing: int
    llm: Total
    compute: Total
    untold: int
    with_grading: bool
    each: tuple[CandidateCost, ...] = field(repr=False, default=())
    days: tuple[date, date] | None = None

    @property
    def rate(self) -> Fraction | None:
        """The resolve rate; None without candidates, and while a verdict is missing."""
        return Fraction(self.resolved, self.candidates) if self.candidates and not self.missing else None

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The resolve rate if no missing verdict, or every one, were resolved; None without candidates."""
        if not self.candidates:
            return None
        low, high = self.resolved, self.resolved + self.missing
        return Fraction(low, self.candidates), Fraction(high, self.candidates)

    @property
    def micro_dollars(self) -> Rational | None:
        """Of producing every candidate and grading it once (or of producing alone, see `with_grading`), exact; None
        while the cost or the verdict of one is not known."""
        if not self.each or self.missing or self.untold:
            return None
        total: Rational = 0
        for one in self.each:
            if one.llm is None or (self.with_grading and one.compute is None):
                return None
            total += one.llm + ((one.compute or 0) if self.with_grading else 0)
        return total

    @property
    def per_candidate(self) -> Fraction | None:
        """Mean micro-dollars of a candidate."""
        total = self.micro_dollars
        return None if total is None else Fraction(total) / self.candidates

    @property
    def dollars(self) -> float | None:
        """`micro_dollars` in dollars, for people."""
        total = self.micro_dollars
        return None if total is None else float(total) / MICRO

    def spread(self) -> dict[str, float | None]:
        """Micro-dollars of producing a candidate: median, 95th percentile and maximum of those that are known."""
        known = [float(one.llm) for one in self.each if one.llm is not None]
        return {"median": quantile(known, 0.5), "p95": quantile(known, 0.95), "max": max(known, default=None)}

    def ratios(self) -> dict[str, float | None]:
        """Resolved candidates per unit of what they cost, and the cost of one. None where a verdict or a cost is not
        known, and where nothing was spent."""
        resolved = None if self.missing or not self.candidates else self.resolved
        dollars = self.dollars
        return {
            "resolved_per_dollar": _per(resolved, dollars),
            "resolved_per_million_tokens": _per(resolved, sum(one.tokens for one in self.each) / MICRO),
            "resolved_per_wall_hour": _per(resolved, math.fsum(one.wall_seconds for one in self.each) / 3600),
            "resolved_per_cpu_second": _per(resolved, math.fsum(one.cpu_seconds for one in self.each)),
            "dollars_per_resolved": _per(dollars, resolved),
        }


def _per(amount: float | None, unit: float | None) -> float | None:
    return amount / unit if amount is not None and unit else None


def by_arm(run: Run, table: PriceTable, at: date | None = None) -> list[ArmCost]:
    """The costs of each arm, in the order of the plan. Arguments and errors as `entries`."""
    found: dict[str, list[Entry]] = {arm: [] for arm in run.arms}
    for entry in entries(run, table, at):
        found[entry.arm].append(entry)
    trials: dict[str, dict[tuple[str, int], list[Trial]]] = {arm: {} for arm in run.arms}
    for trial in run.trials:
        trials[trial.arm].setdefault((trial.task_id, trial.seed), []).append(trial)
    return [_arm(arm, trials[arm], mine, with_grading=bool(table.compute)) for arm, mine in found.items()]


def _arm(arm: str, cells: dict[tuple[str, int], list[Trial]], mine: Sequence[Entry], *, with_grading: bool) -> ArmCost:
    by_candidate: dict[tuple[str, int], list[Entry]] = {key: [] for key in cells}
    for entry in mine:
        by_candidate[entry.task_id, entry.seed].append(entry)
    each = tuple(_candidate(key, cells[key], some) for key, some in by_candidate.items())
    priced = [one for one in mine if one.spend.micro_dollars is None and one.micro_dollars is not None]
    days = [one.day for one in priced if one.day is not None]
    return ArmCost(
        arm,
        len(each),
        sum(one.verdict is True for one in each),
        sum(one.verdict is None for one in each),
        _total(one for one in mine if one.kind is Kind.LLM),
        _total(one for one in mine if one.kind is Kind.COMPUTE),
        sum(one.llm is None for one in each if one.verdict is not None),
        with_grading,
        each,
        (min(days), max(days)) if days else None,
    )


def _candidate(key: tuple[str, int], trials: Sequence[Trial], some: Sequence[Entry]) -> CandidateCost:
    llm = next((one for one in some if one.kind is Kind.LLM), None)
    gradings = [one for one in some if one.kind is Kind.COMPUTE]
    n = len(gradings) or 1
    compute: Rational | None = 0
    if gradings:
        known = [one.micro_dollars for one in gradings if one.micro_dollars is not None]
        compute = Fraction(sum(known), n) if len(known) == n else None
    elif any(trial.execution_key is not None for trial in trials):
        compute = None  # it was to be executed, and nobody told what that took
    spend = llm.spend if llm else Spend()
    return CandidateCost(
        *key,
        majority([trial.resolved for trial in trials]),
        llm.micro_dollars if llm else None,
        compute,
        spend.tokens,
        spend.wall_seconds,
        spend.cpu_seconds + math.fsum(one.spend.cpu_seconds for one in gradings) / n,
    )


def _total(some: Iterable[Entry]) -> Total:
    return Total.of((one.spend, one.micro_dollars) for one in some)
