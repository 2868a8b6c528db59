"""What things cost, by dated price lists.

Money is whole micro-dollars. A product is exact (rational numbers, never floats) and rounded once per row, half to
even; a total is the sum of its rows.
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
_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What a model costs while a price holds.

    Attributes:
        name: as predictions tell it; a provider may stand before it (`provider/model`).
        input, cached, output: dollars per million tokens, exact. Cached tokens are not among the input tokens.
        valid_from, valid_until: first and last day; None = still valid.
        source: where the price is from.
        file: where it stands.
    """

    name: str
    input: Fraction
    cached: Fraction
    output: Fraction
    valid_from: date
    valid_until: date | None = None
    aliases: tuple[str, ...] = ()
    source: str = ""
    file: str = ""

    def holds(self, model: str, at: date) -> bool:
        """Whether this is the price of `model` on a day."""
        return model in {self.name, *self.aliases} and _within(at, self.valid_from, self.valid_until)


@dataclass(frozen=True, slots=True)
class ComputePrice:
    """What computing costs while a price holds.

    Attributes:
        cpu_hour: dollars per hour of processor time.
        gib_hour: dollars per GiB of memory and hour on the clock.
        valid_from, valid_until, source, file: see `ModelPrice`.
    """

    cpu_hour: Fraction
    valid_from: date
    valid_until: date | None = None
    gib_hour: Fraction = Fraction(0)
    source: str = ""
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
        """Two prices of one thing on one day are an error, not a choice; so is a price that ends before it begins."""
        names = sorted({name for one in self.models for name in (one.name, *one.aliases)})
        for name in names:
            _check_apart(name, [one for one in self.models if name in {one.name, *one.aliases}])
        _check_apart("compute", self.compute)

    @property
    def empty(self) -> bool:
        """Whether nobody gave any prices: dollars that are not told are then not known. Otherwise no price is an
        error."""
        return not (self.files or self.models or self.compute)

    def model(self, name: str, at: date) -> ModelPrice:
        """The price of a model on a day.

        Raises:
            InputError: there is none. A model without a price is an error, never free.
        """
        for one in self.models:
            if one.holds(name, at):
                return one
        known = [one for one in self.models if name in {one.name, *one.aliases}]
        raise self._no_price(f"the model {name!r}", at, known, "models")

    def processor(self, at: date) -> ComputePrice | None:
        """The price of computing on a day; None where no file has one at all: it is then counted in seconds only.

        Raises:
            InputError: there are prices of computing, and none holds on that day.
        """
        if not self.compute:
            return None
        for one in self.compute:
            if _within(at, one.valid_from, one.valid_until):
                return one
        raise self._no_price("computing", at, self.compute, "compute")

    def _no_price(self, what: str, at: date, known: Sequence[ModelPrice | ComputePrice], field: str) -> InputError:
        spans = "; ".join(f"from {one.valid_from} to {one.valid_until or 'now'}" for one in known)
        file = known[-1].file if known else self.files[-1] if self.files else None
        if file:
            mend = f"add it with its dates to {file}, or to another file that you name with --prices"
        else:
            mend = "write a file like configs/prices/example.yaml with its price, and name it with --prices"
        problem = f"no price of {what} on {at}" + (f" (there is one {spans})" if spans else "")
        return InputError(problem, mend=mend, file=file or None, field=field)

    def merged(self, other: PriceTable) -> PriceTable:
        """Both tables as one. Raises InputError where they contradict each other."""
        return PriceTable(self.models + other.models, self.compute + other.compute, self.files + other.files)


def price(spend: Spend, table: PriceTable, at: date) -> int:
    """What a candidate cost in micro-dollars: as told, else its tokens by the table.

    Raises:
        InputError: it tells neither dollars nor a model and its tokens, or the model has no price.
    """
    if spend.micro_dollars is not None:
        return spend.micro_dollars
    if spend.model is None or not spend.tokens:
        lacking = "a model" if spend.model is None else "tokens"
        mend = "tell `usage.dollars`, or `usage.model` and its tokens, with the prediction"
        raise InputError(f"tells neither dollars nor {lacking}, so that it cannot be priced", mend=mend, field="usage")
    one = table.model(spend.model, at)
    # Dollars per million tokens are micro-dollars per token.
    exact = spend.input_tokens * one.input + spend.cached_tokens * one.cached + spend.output_tokens * one.output
    return round(exact)


def price_compute(spend: Spend, table: PriceTable, at: date) -> int | None:
    """What a grading cost in micro-dollars: its processor time, and its peak of memory for as long as it took.

    The peak is what had to be reserved: an upper bound of what was used on average.

    Returns:
        None where computing has no price, or memory has one and the peak is not known.

    Raises:
        InputError: there are prices of computing, and none holds on that day.
    """
    if spend.micro_dollars is not None:
        return spend.micro_dollars
    one = table.processor(at)
    if one is None or (one.gib_hour and spend.peak_memory_bytes is None):
        return None
    dollar_hours = Fraction(spend.cpu_seconds) * one.cpu_hour
    if one.gib_hour:
        dollar_hours += Fraction(spend.wall_seconds) * Fraction(spend.peak_memory_bytes or 0, _GIB) * one.gib_hour
    return round(dollar_hours * MICRO / _HOUR_S)


def _within(at: date, first: date, last: date | None) -> bool:
    return first <= at and (last is None or at <= last)


def _check_apart(name: str, prices: Sequence[ModelPrice | ComputePrice]) -> None:
    for one in prices:
        if one.valid_until is not None and one.valid_until < one.valid_from:
            problem = f"a price of {name} ends on {one.valid_until}, before it begins on {one.valid_from}"
            raise InputError(problem, mend="swap the two dates, or correct one", file=one.file or None, field=name)
    for earlier, later in pairwise(sorted(prices, key=lambda one: one.valid_from)):
        if earlier.valid_until is None or later.valid_from <= earlier.valid_until:
            problem = f"{name} has two prices on {later.valid_from}"
            mend = "give the earlier one a valid_until before it"
            raise InputError(problem, mend=mend, file=later.file or None, field=name)
