"""What every candidate and every grading of a run cost, and what that makes of an arm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from parsimony.cost_ledger.prices import MICRO, PriceTable, price, price_compute
from parsimony.errors import InputError
from parsimony.runs import Run, Spend, Trial


class Kind(StrEnum):
    """What was paid for: producing a candidate, or grading it. They are never added without saying so."""

    LLM = "llm"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class Entry:
    """One cost: of producing a candidate (once, with its first repeat), or of grading it (as if it were alone).

    Attributes:
        micro_dollars: None where computing has no price.
    """

    kind: Kind
    task_id: str
    arm: str
    seed: int
    repeat: int
    spend: Spend
    micro_dollars: int | None


def entries(run: Run, table: PriceTable, at: date) -> Iterator[Entry]:
    """The costs of a run, in its order.

    Args:
        at: the day whose prices hold.

    Raises:
        InputError: a candidate cannot be priced; names it.
    """
    for trial in run.trials:
        if trial.llm is not None and trial.repeat == 0:
            try:
                dollars = price(trial.llm, table, at)
            except InputError as error:
                named = f"{trial.task_id}, arm {trial.arm}, seed {trial.seed}: {error.problem}"
                raise InputError(named, mend=error.mend, file=error.place.file, field=error.place.field) from None
            yield _entry(Kind.LLM, trial, trial.llm, dollars)
        if trial.compute is not None:
            yield _entry(Kind.COMPUTE, trial, trial.compute, price_compute(trial.compute, table, at))


def _entry(kind: Kind, trial: Trial, spend: Spend, dollars: int | None) -> Entry:
    return Entry(kind, trial.task_id, trial.arm, trial.seed, trial.repeat, spend, dollars)


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of costs. Units as in `Spend`.

    Attributes:
        micro_dollars: of the rows that have a price; unpriced: how many have none.
    """

    rows: int = 0
    tokens: int = 0
    calls: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    micro_dollars: int = 0
    unpriced: int = 0

    @classmethod
    def of(cls, some: Iterable[Entry]) -> Total:
        """The sum; floats are added exactly and rounded once."""
        rows = list(some)
        return cls(
            len(rows),
            sum(one.spend.tokens for one in rows),
            sum(one.spend.calls for one in rows),
            math.fsum(one.spend.cpu_seconds for one in rows),
            math.fsum(one.spend.wall_seconds for one in rows),
            sum(one.micro_dollars or 0 for one in rows),
            sum(one.micro_dollars is None for one in rows),
        )


@dataclass(frozen=True, slots=True)
class ArmCost:
    """What an arm resolved and what that cost.

    Attributes:
        candidates, resolved: verdicts (missing ones left out), and those that are resolved; of first repeats.
        unpriced: candidates that tell no usage at all: their cost is unknown, not zero.
        per_candidate: micro-dollars of producing each candidate, for the distribution.
    """

    arm: str
    candidates: int
    resolved: int
    llm: Total
    compute: Total
    unpriced: int
    per_candidate: tuple[int, ...] = field(default=(), repr=False)

    @property
    def rate(self) -> float | None:
        """The resolve rate; None without verdicts."""
        return self.resolved / self.candidates if self.candidates else None

    @property
    def dollars(self) -> float | None:
        """Of producing and grading together; None while any part of it is unknown."""
        unknown = self.unpriced or self.llm.unpriced or self.compute.unpriced or not (self.llm.rows + self.compute.rows)
        return None if unknown else (self.llm.micro_dollars + self.compute.micro_dollars) / MICRO

    def ratios(self) -> dict[str, float | None]:
        """Resolved candidates per unit of what was spent on producing them, and per dollar of everything."""
        return {
            "resolved_per_dollar": _per(self.resolved, self.dollars),
            "resolved_per_million_tokens": _per(self.resolved * MICRO, self.llm.tokens),
            "resolved_per_wall_hour": _per(self.resolved * 3600, self.llm.wall_seconds),
            "resolved_per_cpu_second": _per(self.resolved, self.llm.cpu_seconds + self.compute.cpu_seconds),
            "dollars_per_resolved": _per(self.dollars, self.resolved),
        }


def _per(amount: float | None, unit: float | None) -> float | None:
    return amount / unit if amount is not None and unit else None


def by_arm(run: Run, table: PriceTable, at: date) -> list[ArmCost]:
    """The costs of each arm, in the order of the plan. Raises as `entries`."""
    found: dict[str, list[Entry]] = {arm: [] for arm in run.arms}
    for entry in entries(run, table, at):
        found[entry.arm].append(entry)
    costs = []
    for arm, mine in found.items():
        first = [trial for trial in run.of(arm) if trial.repeat == 0 and trial.resolved is not None]
        llm = [one for one in mine if one.kind is Kind.LLM]
        costs.append(
            ArmCost(
                arm,
                len(first),
                sum(bool(trial.resolved) for trial in first),
                Total.of(llm),
                Total.of(one for one in mine if one.kind is Kind.COMPUTE),
                sum(trial.llm is None for trial in run.of(arm) if trial.repeat == 0 and trial.patch_ref is not None),
                tuple(one.micro_dollars or 0 for one in llm),
            )
        )
    return costs
