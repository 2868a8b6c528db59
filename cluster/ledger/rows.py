"""Python rows -> the JSON of a journal line, checked column by column.

A null column is left out. Bytes become base64, times ISO 8601 in UTC with microseconds. What comes back from a reader
equals what went in: times are rounded to microseconds, tuples come back as lists.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from cluster.ledger.schema import Column, Schema, Type
from parsimony.errors import InputError

_to_json = json.JSONEncoder(separators=(",", ":")).encode
Value = str | int | float | list[str]


def encode_row(schema: Schema, kind: str, row: Mapping[str, object]) -> str:
    """The row as ASCII JSON in one line.

    Raises:
        InputError: an unknown kind or column, a missing required column, or a value that does not fit its column.
    """
    columns = schema.columns(kind)
    encoded: dict[str, Value] = {}
    for name, value in row.items():
        column = columns.get(name)
        if column is None:
            known = ", ".join(columns)
            mend = f"use some of {known}"
            raise InputError(f"{kind} rows have no column {name!r}", mend=mend, field=f"{kind}.{name}")
        if value is None:
            continue
        encoded[name] = encode_value(kind, column, value)
    for column in columns.values():
        if column.required and column.name not in encoded:
            raise InputError("the column is required", mend="give it a value", field=f"{kind}.{column.name}")
    return _to_json(encoded)


def encode_value(kind: str, column: Column, value: object) -> Value:
    """One value as it stands in the JSON. Raises InputError when it does not fit its column."""
    try:
        encoded = _ENCODERS[column.type](value)
    except (TypeError, ValueError) as error:
        mend, field = f"give {_EXPECTED[column.type]}", f"{kind}.{column.name}"
        raise InputError(f"{value!r:.80} does not fit: {error}", mend=mend, field=field) from None
    if column.values and encoded not in column.values:
        mend = f"use one of {', '.join(sorted(column.values))}"
        raise InputError(f"{value!r:.80} is unknown", mend=mend, field=f"{kind}.{column.name}")
    return encoded


def _key(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"it is a {type(value).__name__}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("it is not valid Unicode") from None
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"it is a {type(value).__name__}")
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def _texts(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"it is a {type(value).__name__}")
    return [_text(item) for item in value]


def _integer(bits: int) -> Callable[[object], int]:
    bound = 1 << (bits - 1)

    def encode(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"it is a {type(value).__name__}")
        if not -bound <= value < bound:
            raise ValueError(f"it needs more than {bits} bits")
        return value

    return encode


def _float(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"it is a {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError("it is not finite")
    return float(value)


def _time(value: object) -> str:
    seconds = _float(value)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError):
        raise ValueError("it is no year between 1 and 9999") from None
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


def _bytes(value: object) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"it is a {type(value).__name__}")
    return base64.b64encode(value).decode("ascii")


_ENCODERS: Mapping[Type, Callable[[object], Value]] = {
    Type.KEY: _key,
    Type.NAME: _key,
    Type.TEXT: _text,
    Type.TEXTS: _texts,
    Type.INT32: _integer(32),
    Type.INT64: _integer(64),
    Type.FLOAT: _float,
    Type.TIME: _time,
    Type.BYTES: _bytes,
}

_EXPECTED: Mapping[Type, str] = {
    Type.KEY: "a string that is valid Unicode",
    Type.NAME: "a string that is valid Unicode",
    Type.TEXT: "a string",
    Type.TEXTS: "a list or tuple of strings",
    Type.INT32: "an integer of 32 bits",
    Type.INT64: "an integer of 64 bits",
    Type.FLOAT: "a finite number",
    Type.TIME: "a time in seconds since 1970 UTC",
    Type.BYTES: "bytes",
}
