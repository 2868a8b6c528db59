"""What every candidate and every grading of a run cost, a row each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from parsimony.cost_ledger.prices import PriceTable, price, price_compute
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
        day: whose price it has.
        micro_dollars: None where computing has no price, or there are no prices at all and nobody told.
    """

    kind: Kind
    task_id: str
    arm: str
    seed: int
    repeat: int
    day: date | None
    spend: Spend
    micro_dollars: int | None


def entries(run: Run, table: PriceTable, at: date | None = None) -> Iterator[Entry]:
    """The costs of a run, in its order.

    Args:
        at: the day whose prices hold; None = for each row the day on which the run recorded it.

    Raises:
        InputError: a candidate cannot be priced; names it.
    """
    for trial in run.trials:
        if trial.llm is not None and trial.repeat == 0:
            yield _entry(Kind.LLM, trial, trial.llm, table, at)
        if trial.compute is not None:
            yield _entry(Kind.COMPUTE, trial, trial.compute, table, at)


def with_prices(run: Run, table: PriceTable, at: date | None = None) -> Run:
    """The run with the dollars of every cost that tells none, for whatever reads dollars off a run. What has no price
    there stays unknown: computing without any price, and candidates that tell no usage.

    Args:
        table: an empty one changes nothing. at: see `entries`.

    Raises:
        InputError: a candidate cannot be priced; names it.
    """
    if table.empty:
        return run
    return replace(run, trials=tuple(_with_prices(trial, table, at) for trial in run.trials))


def _with_prices(trial: Trial, table: PriceTable, at: date | None) -> Trial:
    name = _name(trial)

    def filled(kind: Kind, spend: Spend | None) -> Spend | None:
        if spend is None or spend.micro_dollars is not None:
            return spend
        return replace(spend, micro_dollars=priced(kind, spend, table, at, name=name)[1])

    return replace(trial, llm=filled(Kind.LLM, trial.llm), compute=filled(Kind.COMPUTE, trial.compute))


def _name(trial: Trial) -> str:
    return f"{trial.task_id}, arm {trial.arm}, seed {trial.seed}"


def _entry(kind: Kind, trial: Trial, spend: Spend, table: PriceTable, at: date | None) -> Entry:
    day, dollars = priced(kind, spend, table, at, name=_name(trial))
    return Entry(kind, trial.task_id, trial.arm, trial.seed, trial.repeat, day, spend, dollars)


def priced(
    kind: Kind, spend: Spend, table: PriceTable, at: date | None, *, name: str
) -> tuple[date | None, int | None]:
    """The day whose price a cost has, and its micro-dollars; None where they are not known.

    Args:
        at: see `entries`. name: what errors call it.

    Raises:
        InputError: it cannot be priced.
    """
    day = at or spend.day
    if table.empty:
        return None, spend.micro_dollars
    if day is None:
        if spend.micro_dollars is not None or (kind is Kind.COMPUTE and not table.compute):
            return None, spend.micro_dollars
        problem = f"{name}: there is no day whose price could hold"
        raise InputError(problem, mend="name one with --as-of", field="--as-of")
    try:
        return day, price(spend, table, day) if kind is Kind.LLM else price_compute(spend, table, day)
    except InputError as error:
        place = error.place
        problem = f"{name}: {error.problem}"
        raise InputError(problem, mend=error.mend, file=place.file, row=place.row, field=place.field) from None


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
    def of(cls, some: Iterable[tuple[Spend, int | None]]) -> Total:
        """The sum of what was spent and the micro-dollars of each; floats are added exactly and rounded once."""
        rows = list(some)
        return cls(
            len(rows),
            sum(spend.tokens for spend, _ in rows),
            sum(spend.calls for spend, _ in rows),
            math.fsum(spend.cpu_seconds for spend, _ in rows),
            math.fsum(spend.wall_seconds for spend, _ in rows),
            sum(dollars or 0 for _, dollars in rows),
            sum(dollars is None for _, dollars in rows),
        )
