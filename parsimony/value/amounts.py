"""Amounts of money, exact to the micro-dollar: read from texts and numbers, never through a binary fraction."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

from parsimony.cost_ledger import MICRO
from parsimony.cost_ledger.wording import dollars
from parsimony.errors import InputError

MOST: Final = 10**12
"""Dollars that one thing may be worth or cost: what is larger is a mistake in a file."""

_PLAIN: Final = re.compile(r"\d{1,13}(\.\d{1,30})?", re.ASCII)
_WANTED: Final = f"dollars as a plain number such as 250 or 1000.50: 0 to {MOST:,}, at most 6 digits after the point"


def micro_dollars(value: object, field: str) -> int:
    """An amount in micro-dollars.

    Args:
        value: a text of digits with a point, or a number (a float counts as the shortest text that means it).

    Raises:
        InputError: it is no such amount, is negative, or is finer than a micro-dollar.
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value.strip()):
        exact = Decimal(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST:
        exact = Decimal(repr(value))
    else:
        raise InputError.wrong(field, value, _WANTED)
    micro = exact * MICRO
    if exact > MOST or micro != micro.to_integral_value():
        raise InputError.wrong(field, value, _WANTED)
    return int(micro)


def exact_text(micro: int) -> str:
    """An amount of 0 or more as a decimal text for machines, to the micro-dollar: `1234.500000`."""
    whole, rest = divmod(micro, MICRO)
    return f"{whole}.{rest:06d}"


def told(micro: float | Fraction | None, *, sign: bool = False) -> str:
    """Micro-dollars for people, `$1,234.50`; a dash for None. `sign`: a plus before what is more than nothing."""
    if micro is None:
        return "–"
    return ("+" if sign and micro > 0 else "") + dollars(float(micro) / MICRO)
