"""Python rows -> the JSON of a journal line, checked column by column.

A null column is left out. Bytes become base64, times ISO 8601 in UTC with microseconds. What comes back from a reader
equals what went in: times are rounded to microseconds, tuples come back as lists.

This stands between every verdict and the next job: each value goes straight to its JSON text.
"""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii

from cluster.ledger.schema import Column, Schema, Type
from parsimony.errors import InputError

Encoder = Callable[[object], str]
_MICROSECONDS = 1_000_000


class RowEncoder:
    """Encodes the rows of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._plans = {
            kind: {name: (f'"{name}":', _ENCODERS[column.type], column.values) for name, column in columns.items()}
            for kind, columns in schema.kinds.items()
        }
        self._required = {
            kind: tuple(column.name for column in columns.values() if column.required)
            for kind, columns in schema.kinds.items()
        }

    def encode(self, kind: str, row: Mapping[str, object]) -> str:
        """The row as ASCII JSON in one line.

        Raises:
            InputError: an unknown kind or column, a missing required column, or a value that does not fit its column.
        """
        if kind not in self._plans:
            raise self._schema.unknown_kind(kind)
        plan = self._plans[kind]
        members = []
        for name, value in row.items():
            if name not in plan:
                raise self._schema.unknown_column(kind, name)
            if value is None:
                continue
            prefix, encoder, values = plan[name]
            try:
                members.append(prefix + encoder(value))
            except (TypeError, ValueError) as error:
                raise _misfit(kind, self._schema.kinds[kind][name], value, error) from None
            if values and value not in values:
                mend = f"use one of {', '.join(sorted(values))}"
                raise InputError(f"{value!r:.80} is unknown", mend=mend, field=f"{kind}.{name}")
        for name in self._required[kind]:
            if row.get(name) is None:
                raise InputError("the column is required", mend="give it a value", field=f"{kind}.{name}")
        return "{" + ",".join(members) + "}"


def encode_value(kind: str, column: Column, value: object) -> str:
    """One value as JSON text. Raises InputError when it does not fit its column."""
    try:
        return _ENCODERS[column.type](value)
    except (TypeError, ValueError) as error:
        raise _misfit(kind, column, value, error) from None


def _misfit(kind: str, column: Column, value: object, error: Exception) -> InputError:
    mend = f"give {_EXPECTED[column.type]}"
    return InputError(f"{value!r:.80} does not fit: {error}", mend=mend, field=f"{kind}.{column.name}")


def _key(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("it is not valid Unicode") from None
    return encode_basestring_ascii(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value)
    if not value.isascii():
        value = value.encode("utf-8", "backslashreplace").decode()
    return encode_basestring_ascii(value)


def _texts(value: object) -> str:
    if not isinstance(value, list | tuple):
        raise _wrong_type(value)
    return f"[{','.join([_text(item) for item in value])}]"


def _integer(bits: int) -> Encoder:
    bound = 1 << (bits - 1)

    def encode(value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong_type(value)
        if not -bound <= value < bound:
            raise ValueError(f"it needs more than {bits} bits")
        return int.__repr__(value)

    return encode


def _float(value: object) -> str:
    return repr(_number(value))


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong_type(value)
    if not math.isfinite(value):
        raise ValueError("it is not finite")
    return float(value)


def _time(value: object) -> str:
    seconds, microseconds = divmod(round(_number(value) * _MICROSECONDS), _MICROSECONDS)
    return f'"{_second(seconds)}.{microseconds:06d}Z"'


@functools.lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    """A whole second in ISO 8601; most rows of a run are from the last few."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()[: -len("+00:00")]
    except (OverflowError, OSError):
        raise ValueError("it is in no year between 1 and 9999") from None


def _bytes(value: object) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _wrong_type(value)
    return f'"{base64.b64encode(value).decode("ascii")}"'


def _wrong_type(value: object) -> TypeError:
    return TypeError(f"it is a {type(value).__name__}")


_ENCODERS: Mapping[Type, Encoder] = {
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
