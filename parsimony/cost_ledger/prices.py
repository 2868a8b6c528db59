"""What things cost, by dated price lists.

Money is whole micro-dollars; products are exact and rounded once, half to even.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Final

from parsimony.errors import InputError
from parsimony.runs import Spend

MICRO: Final = 1_000_000
"""Micro-dollars in a dollar; tokens that a price is for."""
_HOUR_S: Final = 3600


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What a model costs while a price holds.

    Attributes:
        input, cached, output: dollars per million tokens, exact.
        valid_from, valid_until: first and last day; None = still valid.
        file: where the price stands.
    """

    name: str
    input: Fraction
    cached: Fraction
    output: Fraction
    valid_from: date
    valid_until: date | None = None
    aliases: tuple[str, ...] = ()
    file: str = ""

    def holds(self, model: str, at: date) -> bool:
        """Whether this is the price of `model` on a day."""
        return model in {self.name, *self.aliases} and _within(at, self.valid_from, self.valid_until)


@dataclass(frozen=True, slots=True)
class ComputePrice:
    """What computing costs while a price holds: dollars per hour of a processor."""

    cpu_hour: Fraction
    valid_from: date
    valid_until: date | None = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices of models and of computing, from one or several files.

    Attributes:
        files: where they stand, for messages.
    """

    models: tuple[ModelPrice, ...] = ()
    compute: tuple[ComputePrice, ...] = ()
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Two prices of one thing on one day are an error, not a choice."""
        names = sorted({name for one in self.models for name in (one.name, *one.aliases)})
        for name in names:
            _check_apart(name, [one for one in self.models if name in {one.name, *one.aliases}])
        _check_apart("compute", self.compute)

    def model(self, name: str, at: date) -> ModelPrice:
        """The price of a model on a day.

        Raises:
            InputError: there is none. A model without a price is an error, never free.
        """
        for one in self.models:
            if one.holds(name, at):
                return one
        known = [one for one in self.models if name in {one.name, *one.aliases}]
        when = f"on {at}" + (f" (known from {known[0].valid_from} to {known[0].valid_until or 'now'})" if known else "")
        file = self.files[-1] if self.files else None
        mend = "add it to a price file with its dates, and name the file with --prices"
        raise InputError(f"no price of the model {name!r} {when}", mend=mend, file=file, field="models")

    def processor(self, at: date) -> ComputePrice | None:
        """The price of computing on a day; None where no file has one: computing is then counted in seconds only."""
        return next((one for one in self.compute if _within(at, one.valid_from, one.valid_until)), None)

    def merged(self, other: PriceTable) -> PriceTable:
        """Both tables as one. Raises InputError where they contradict each other."""
        return PriceTable(self.models + other.models, self.compute + other.compute, self.files + other.files)


def price(spend: Spend, table: PriceTable, at: date) -> int:
    """What a candidate cost in micro-dollars: as told, else its tokens by the table.

    Raises:
        InputError: it tells neither dollars nor a model, or the model has no price.
    """
    if spend.micro_dollars is not None:
        return spend.micro_dollars
    if spend.model is None:
        mend = "tell `usage.model` or `usage.dollars` with the prediction"
        raise InputError("tells neither dollars nor a model, so that it cannot be priced", mend=mend, field="usage")
    one = table.model(spend.model, at)
    # Dollars per million tokens are micro-dollars per token.
    exact = spend.input_tokens * one.input + spend.cached_tokens * one.cached + spend.output_tokens * one.output
    return round(exact)


def price_compute(spend: Spend, table: PriceTable, at: date) -> int | None:
    """What a grading cost in micro-dollars: processor time by the table; None where there is no price."""
    if spend.micro_dollars is not None:
        return spend.micro_dollars
    one = table.processor(at)
    return None if one is None else round(Fraction(spend.cpu_seconds) * one.cpu_hour * MICRO / _HOUR_S)


def _within(at: date, first: date, last: date | None) -> bool:
    return first <= at and (last is None or at <= last)


def _check_apart(name: str, prices: Sequence[ModelPrice | ComputePrice]) -> None:
    for earlier, later in pairwise(sorted(prices, key=lambda one: one.valid_from)):
        if earlier.valid_until is None or later.valid_from <= earlier.valid_until:
            problem = f"{name} has two prices on {later.valid_from}"
            raise InputError(problem, mend="give the earlier one a valid_until before it", file=later.file, field=name)
