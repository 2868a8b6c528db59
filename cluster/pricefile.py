"""Price files: YAML of a closed schema, read into a `PriceTable`. configs/prices/example.yaml is one, with comments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from cluster.yamlfile import read_yaml
from parsimony.cost_ledger import ComputePrice, ModelPrice, PriceTable


def _exact(value: object) -> object:
    """A price as written, not as a float: 0.1 is a tenth. Anything that is no amount is an error."""
    text = value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        text = format(Decimal(repr(value)), "f")
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise ValueError("is no price; write dollars such as 0.25, with at most nine digits on each side of the point")
    return text


_AMOUNT = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
Dollars = Annotated[str, BeforeValidator(_exact)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Dated(_Closed):
    valid_from: date
    valid_until: date | None = None
    source: str = Field(min_length=3)


class _Model(_Dated):
    """Dollars per million tokens."""

    name: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    input: Dollars
    cached: Dollars
    output: Dollars


class _Compute(_Dated):
    """Dollars per hour of a processor, and per GiB of memory and hour."""

    cpu_hour: Dollars
    gib_hour: Dollars = "0"


class PriceFile(_Closed):
    """A price file: models in dollars per million tokens, computing in dollars per hour."""

    version: Literal[1]
    currency: Literal["USD"]
    models: tuple[_Model, ...] = ()
    compute: tuple[_Compute, ...] = ()


def read_prices(paths: Iterable[Path]) -> PriceTable:
    """The prices of some files together.

    Raises:
        InputError: a file is not of the schema (names the line), or two prices of one thing hold on one day.
    """
    table = PriceTable()
    for path in paths:
        table = table.merged(_table(read_yaml(path, PriceFile), str(path)))
    return table


def _table(file: PriceFile, name: str) -> PriceTable:
    models = tuple(
        ModelPrice(
            one.name,
            Fraction(one.input),
            Fraction(one.cached),
            Fraction(one.output),
            one.valid_from,
            one.valid_until,
            one.aliases,
            one.source,
            name,
        )
        for one in file.models
    )
    compute = tuple(
        ComputePrice(Fraction(one.cpu_hour), one.valid_from, one.valid_until, Fraction(one.gib_hour), one.source, name)
        for one in file.compute
    )
    return PriceTable(models, compute, (name,))
