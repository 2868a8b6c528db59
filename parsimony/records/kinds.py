"""What a plain field of a record may hold. Types are exact: `True` is no integer, and neither is `1.0`.

A record says it in its annotations (`total: Count`). For a type checker they are `int`, `float` and `str`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from parsimony.errors import InputError

LARGEST_INTEGER = 2**63 - 1  # what a column of a ledger holds


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value that is the same in Python and in JSON.

    Attributes:
        convert: gives the value to keep, or raises `ValueError`.
        wanted: what the value should be, for messages.
    """

    convert: Callable[[object], Any]
    wanted: str

    def accept(self, value: object, name: str) -> Any:
        """The value that a record keeps. Raises `InputError` when the field `name` may not hold it."""
        try:
            return self.convert(value)
        except ValueError:
            raise InputError.wrong(name, value, self.wanted) from None

    def read(self, value: object, name: str) -> object:
        """What the JSON value stands for."""
        return value

    def write(self, value: Any) -> Any:
        """The JSON value."""
        return value


def _integer(least: int) -> Callable[[object], int]:
    def convert(value: object) -> int:
        if type(value) is not int or not least <= value <= LARGEST_INTEGER:
            raise ValueError
        return value

    return convert


def _number(least: float = -math.inf, most: float = math.inf) -> Callable[[object], float]:
    def convert(value: object) -> float:
        if type(value) is int and abs(value) <= LARGEST_INTEGER:
            value = float(value)
        if type(value) is not float or not math.isfinite(value) or not least <= value <= most:
            raise ValueError
        return value

    return convert


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    value.encode("utf-8")  # a lone surrogate raises UnicodeEncodeError, a ValueError
    return value


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


Text = Annotated[str, Scalar(_text, "a text that is not blank")]
Flag = Annotated[bool, Scalar(_flag, "true or false")]
Count = Annotated[int, Scalar(_integer(0), "an integer, 0 or more")]
Positive = Annotated[int, Scalar(_integer(1), "an integer, 1 or more")]
Number = Annotated[float, Scalar(_number(), "a number")]
Amount = Annotated[float, Scalar(_number(0), "a number, 0 or more")]
Ratio = Annotated[float, Scalar(_number(0, 1), "a number from 0 to 1")]
Difference = Annotated[float, Scalar(_number(-1, 1), "a number from -1 to 1")]
