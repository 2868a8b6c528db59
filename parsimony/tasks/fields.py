"""Typed access to the fields of a row. Every complaint is an `InputError` that names the field.

A field that is absent, null or a blank text is not there (None). Types are exact: `True` is no number, `"3"` is none
either, `1.0` is no integer.
"""

from __future__ import annotations

import ast
import base64
import binascii
import math
import re
import warnings
from collections.abc import Mapping
from pathlib import PurePosixPath

from parsimony import strict_json
from parsimony.errors import InputError

LARGEST_INTEGER = 2**63 - 1  # what a column of a ledger holds

# A flat list of text literals with commas between them. `ast.literal_eval` alone would take more: it joins the texts
# of ['a' 'b'], which is how numpy prints two test ids.
_LITERAL = r"""[rRuU]?(?:'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+")"""
_LITERALS = re.compile(rf"\s*[\[(]\s*(?:{_LITERAL}\s*(?:,\s*{_LITERAL}\s*)*+,?)?\s*[\])]\s*", re.DOTALL)

_SIZE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*([kmgtKMGT]?)[iI]?[bB]?\s*")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def is_there(value: object) -> bool:
    """Whether a field with this value counts as given."""
    return value is not None and not (isinstance(value, str) and not value.strip())


class Fields:
    """The fields of one row, or of an object in it (`within`)."""

    def __init__(self, row: Mapping[str, object], within: str = "") -> None:
        self._row = row
        self._within = within

    def has(self, name: str) -> bool:
        """Whether the field is there."""
        return is_there(self._row.get(name))

    def _value(self, name: str) -> object:
        value = self._row.get(name)
        return value if is_there(value) else None

    def place(self, name: str) -> str:
        """The dotted name of a field, for messages."""
        return f"{self._within}.{name}" if self._within else name

    def wrong(self, name: str, wanted: str) -> InputError:
        """The error that the field should hold what `wanted` says."""
        return InputError.wrong(self.place(name), self._row.get(name), wanted)

    def text(self, name: str) -> str | None:
        """A text, as it is."""
        value = self._value(name)
        if not isinstance(value, str) and value is not None:
            raise self.wrong(name, "a text")
        return value

    def identifier(self, name: str) -> str | None:
        """A text of printable characters: what may become a key, a column, a part of a message."""
        value = self.text(name)
        if value is not None and not value.isprintable():
            raise self.wrong(name, "a text of printable characters")
        return value

    def flag(self, name: str) -> bool | None:
        """True or false."""
        value = self._value(name)
        if not isinstance(value, bool) and value is not None:
            raise self.wrong(name, "true or false")
        return value

    def integer(self, name: str, least: int = 0, most: int = LARGEST_INTEGER) -> int | None:
        """An integer from `least` to `most`."""
        value = self._value(name)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            upper = "" if most == LARGEST_INTEGER else f", at most {most}"
            raise self.wrong(name, f"an integer, {least} or more{upper}")
        return value

    def number(self, name: str, most: float = math.inf, *, positive: bool = False) -> float | None:
        """A finite number from 0 (not 0 itself when it must be `positive`) to `most`."""
        value = self._value(name)
        if value is None:
            return None
        if type(value) is int and abs(value) <= LARGEST_INTEGER:
            value = float(value)
        if type(value) is not float or not math.isfinite(value) or not 0 <= value <= most or (positive and not value):
            upper = "" if most == math.inf else f", at most {most:g}"
            raise self.wrong(name, f"a number {'above 0' if positive else '0 or more'}{upper}")
        return value

    def size(self, name: str) -> int | None:
        """Bytes, from `NAME_bytes` (an integer) or from `NAME` (an integer, or a text such as 3g, 512m or 1.5 GiB;
        powers of 1024)."""
        exact = self.integer(f"{name}_bytes", least=1)
        value = self._value(name)
        if value is None:
            return exact
        told = _parse_size(value) if isinstance(value, str) else value
        if type(told) is not int or not 1 <= told <= LARGEST_INTEGER:
            raise self.wrong(name, "a size such as 3g, 512m, or a number of bytes")
        if exact is not None and exact != told:
            raise InputError(f"is not the same as {name}_bytes", mend="give one of the two", field=self.place(name))
        return told

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts: a real one, or a text that holds one in JSON or as a Python literal."""
        value = self._value(name)
        if value is None:
            return None
        items = _list_in(value) if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
            raise self.wrong(name, "a list of texts (or JSON text of one)")
        return tuple(items)

    def names(self, name: str) -> tuple[str, ...] | None:
        """A list of texts of which none is blank, each once, in the order of their first mention."""
        items = self.texts(name)
        if items is None:
            return None
        if not all(item.strip() for item in items):
            raise InputError("holds a blank text", mend="remove it", field=self.place(name))
        return tuple(dict.fromkeys(items))

    def paths(self, name: str) -> tuple[str, ...]:
        """Paths of files in the work tree, relative to its root."""
        paths = self.names(name) or ()
        for path in paths:
            parts = PurePosixPath(path)
            if parts.is_absolute() or ".." in parts.parts or not parts.parts or "\0" in path:
                mend = "a path is relative to the root of the work tree and stays in it"
                raise InputError(f"holds {path[:60]!r}", mend=mend, field=self.place(name))
        return paths

    def payload(self, name: str) -> bytes | None:
        """Exact bytes, from `NAME` (a text, in which U+DC80 to U+DCFF stand for raw bytes) or from `NAME_base64`.

        When both are there they must be the same. Here a blank text is there: it is a patch of white space.
        """
        value = self._row.get(name)
        plain = value if isinstance(value, bytes) or value is None else self._from_text(name, value)
        encoded = self._row.get(f"{name}_base64")
        if encoded is None:
            return plain
        exact = self._from_base64(f"{name}_base64", encoded)
        if plain is not None and plain != exact:
            mend = f"give one of the two, or make {name} with the surrogateescape error handler"
            raise InputError(f"holds other bytes than {name}_base64", mend=mend, field=self.place(name))
        return exact

    def _from_text(self, name: str, value: object) -> bytes:
        if not isinstance(value, str):
            raise self.wrong(name, "a text or null")
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            problem = f"holds the lone surrogate U+{ord(value[error.start]):04X} at character {error.start}"
            mend = f"only U+DC80 to U+DCFF stand for raw bytes; give {name}_base64"
            raise InputError(problem, mend=mend, field=self.place(name)) from None

    def _from_base64(self, name: str, value: object) -> bytes:
        try:
            if isinstance(value, str):
                return base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError):
            pass
        raise self.wrong(name, "base64 text")

    def nested(self, name: str, known: tuple[str, ...]) -> Fields | None:
        """The fields of an object in the row, which may hold the `known` ones and no other."""
        value = self._row.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        for key, told in value.items():
            if key not in known and told is not None:  # a column of structs has every key in every row
                mend = f"use {', '.join(known)}"
                raise InputError(f"is no field of {name}", mend=mend, field=self.place(f"{name}.{str(key)[:60]}"))
        return Fields(value, within=self.place(name))


def _parse_size(text: str) -> int | None:
    match = _SIZE.fullmatch(text)
    return int(float(match[1]) * 1024 ** _POWERS[match[2].lower()]) if match else None


def _list_in(text: str) -> object:
    """The list that a text holds, None when it holds none."""
    try:
        return strict_json.loads(text)
    except InputError:
        pass
    if not _LITERALS.fullmatch(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an escape such as \d
            return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
