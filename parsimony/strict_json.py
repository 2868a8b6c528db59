"""JSON without its traps: a key given twice, NaN, infinities and bytes that are not UTF-8 are errors, not values.

Python's own reader lets the last of two equal keys win and takes `NaN`. A verdict or a gate that changed because a key
was there twice is a wrong verdict, so everything that enters through JSON enters here.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NoReturn

from parsimony.errors import InputError

_BLANK = re.compile(r"[ \t\n\r]*")


def loads(data: str | bytes) -> object:
    """The value of one JSON text.

    Raises:
        InputError: not UTF-8, not JSON, or one of the traps. A syntax error has its line as the `row` of its place.
    """
    try:
        return _STRICT.decode(decode_utf8(data) if isinstance(data, bytes) else data)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise _syntax_error(error) from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(error) from None


def decode_utf8(data: bytes) -> str:
    """`data` as text, without a byte order mark.

    Raises:
        InputError: names the first byte that is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}",
            mend=r"write it as UTF-8 (raw bytes of a patch go into JSON as \udc80 to \udcff, or as base64)",
        ) from None


def members(text: str) -> Iterator[tuple[str | None, object]]:
    """The members of the array or object that `text` is, one by one: (key, value), the key None in an array.

    A member that only breaks a rule of ours (a key twice, NaN, a number too large) comes as the `InputError` that says
    so, and the next ones follow. A key that the object itself has twice comes as an error the second time.

    Raises:
        InputError: `text` is not JSON; nothing after that place can be read.
    """
    at = _skip_blanks(text, 0)
    close = {"[": "]", "{": "}"}.get(text[at : at + 1])
    if close is None:
        raise _syntax_error(json.JSONDecodeError("Expecting an array or an object", text, at))
    at = _skip_blanks(text, at + 1)
    keys: set[str] = set()
    more = text[at : at + 1] != close
    while more:
        key: str | None = None
        if close == "}":
            key, at = _key(text, at)
        value, at = _member(text, at)
        if key is not None and key in keys:
            value = InputError(f"the key {_short(key)} is there twice", mend="keep one of the two")
        yield key, value
        if key is not None:
            keys.add(key)
        at = _skip_blanks(text, at)
        more = text[at : at + 1] != close
        if more:
            at = _expect(text, at, ",")
    at = _skip_blanks(text, at + 1)
    if at != len(text):
        raise _syntax_error(json.JSONDecodeError("Extra data", text, at))


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise _syntax_error(json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at))
    key, at = _scan(_LENIENT, text, at)
    at = _expect(text, _skip_blanks(text, at), ":")
    return str(key), at


def _member(text: str, at: int) -> tuple[object, int]:
    """The value that starts at `at`, or the error it is, and where it ends."""
    try:
        return _scan(_STRICT, text, at)
    except InputError as error:
        if error.place.row is not None:  # a syntax error: there is no end to be found
            raise
        _, end = _scan(_LENIENT, text, at)
        return error, end


def _scan(decoder: json.JSONDecoder, text: str, at: int) -> tuple[object, int]:
    try:
        return decoder.raw_decode(text, at)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise _syntax_error(error) from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(error) from None


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise _syntax_error(json.JSONDecodeError(f"Expecting '{sign}' delimiter", text, at))
    return _skip_blanks(text, at + 1)


def _syntax_error(error: json.JSONDecodeError) -> InputError:
    problem = f"is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
    return InputError(problem, mend="mend or remove it", row=error.lineno)


def _unreadable(error: Exception) -> InputError:
    if isinstance(error, RecursionError):
        return InputError("is nested too deeply", mend="make it flatter")
    return InputError("holds an integer of thousands of digits", mend="write a smaller number")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise InputError(f"has the key {_short(twice)} twice", mend="keep one of the two")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"holds {name}, which JSON does not have", mend="write null or a number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InputError(f"holds {_short(digits)}, which is larger than any number", mend="write a smaller number")
    return number


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 80 else shown[:77] + "..."


_STRICT = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite)
_LENIENT = json.JSONDecoder(parse_int=str, parse_float=str)
