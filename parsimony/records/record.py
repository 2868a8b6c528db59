"""The root of the exact records: frozen, checked when made, JSON both ways with exactly their fields."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import (
    Annotated,
    Any,
    ClassVar,
    NoReturn,
    Protocol,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from parsimony import strict_json
from parsimony.errors import InputError

_R = TypeVar("_R", bound="Record")


class Record:
    """Root of the records. A subclass is a dataclass (frozen, slots, keyword-only) whose annotations say what its
    fields may hold; making one that breaks them raises `InputError` with the name of the field.

    A derived field is a property: it is in the JSON, it has no storage, so no constructor, `dataclasses.replace`,
    `__dict__`, `setattr`, `object.__setattr__`, pickle or subclass can give it a value of its own. What Python always
    allows remains: to exchange the property on the class, or to overwrite a stored field of one object with
    `object.__setattr__`, from which the derived field then follows unchecked.
    """

    __slots__ = ()

    # Names in the order of the build spec, for records with derived fields. Others have the order of their dataclass.
    ORDER: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        if Record not in cls.__bases__:
            raise TypeError(f"{cls.__bases__[0].__name__} is exact: it cannot be extended")
        if "__dataclass_fields__" in cls.__dict__:
            # The class as `dataclass(slots=True)` makes it anew. Its `__setattr__` still refers to the class before,
            # so that (to Python 3.13) a name that is no stored field ended in a TypeError about super().
            cls.__setattr__ = cls.__delattr__ = _refuse_change  # type: ignore[assignment,method-assign]

    def __post_init__(self) -> None:
        for name, kind in _stored(type(self)).items():
            object.__setattr__(self, name, kind.accept(getattr(self, name), name))
        self._check()

    def _check(self) -> None:
        """Rules between fields; raises `InputError`. For subclasses."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By way of the constructor, so that a pickle cannot bring in what the constructor refuses.
        return _rebuild, (type(self), {name: getattr(self, name) for name in _stored(type(self))})

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Names of all fields, derived ones included, in the order of the build spec."""
        return cls.ORDER or tuple(_stored(cls))

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object: all fields in order, derived ones included."""
        kinds = _stored(type(self))
        names = self.field_names()
        return {
            name: kinds[name].write(getattr(self, name)) if name in kinds else str(getattr(self, name))
            for name in names
        }

    def to_json_text(self) -> str:
        """The record as one line of JSON (ASCII, no line feed)."""
        return json.dumps(self.to_json(), allow_nan=False)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """The record that a JSON object stands for.

        Raises:
            InputError: a field is missing, unknown, of the wrong type or out of its range, or a derived field
                contradicts what it derives from. `place.field` is its dotted name (`fail_to_pass.passed`).
        """
        return _read(cls, value, "")

    @classmethod
    def from_json_text(cls, text: str | bytes) -> Self:
        """Like `from_json`, from JSON text; also refuses what is no JSON, and keys that are there twice."""
        return cls.from_json(strict_json.loads(text))


def _refuse_change(self: Record, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"a {type(self).__name__} is frozen: {name!r} cannot be changed")


def _rebuild(cls: type[Record], fields: dict[str, object]) -> Record:
    return cls(**fields)


def _read(cls: type[_R], value: object, path: str) -> _R:
    """The record of class `cls` that `value` stands for; `path` goes before the names of its fields."""
    if not isinstance(value, Mapping):
        raise InputError(f"is {_json_type(value)}", mend=f"a {cls.__name__} is an object", field=path or None)
    names = cls.field_names()
    for name in names:
        if name not in value:
            raise InputError("is missing", mend=_exactly(cls), field=_dotted(path, name))
    for name in value:
        if name not in names:
            raise InputError(f"is no field of a {cls.__name__}", mend=_exactly(cls), field=_dotted(path, str(name)))
    kinds = _stored(cls)
    fields = {name: kind.read(value[name], _dotted(path, name)) for name, kind in kinds.items()}
    try:
        record = cls(**fields)
    except InputError as error:
        field = _dotted(path, error.place.field) if error.place.field else path
        raise InputError(error.problem, mend=error.mend, field=field) from None
    for name in names:
        if name not in kinds and value[name] != str(getattr(record, name)):
            raise InputError.wrong(
                _dotted(path, name), value[name], f"{getattr(record, name)}: it follows from the other fields"
            )
    return record


def _dotted(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _exactly(cls: type[Record]) -> str:
    return f"a {cls.__name__} has exactly these fields: {', '.join(cls.field_names())}"


def _json_type(value: object) -> str:
    names = {type(None): "null", bool: "true or false", str: "a text", list: "an array"}
    return names.get(type(value), "a number")


class _Kind(Protocol):
    """How one sort of field is taken by a constructor (`accept`), read from JSON (`read`) and written (`write`)."""

    def accept(self, value: object, name: str) -> Any: ...

    def read(self, value: object, name: str) -> object: ...

    def write(self, value: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class _Choice:
    """A closed enum: a member in Python, its value in JSON."""

    enum: type[StrEnum]

    def accept(self, value: object, name: str) -> StrEnum:
        if not isinstance(value, self.enum):
            raise InputError.wrong(name, value, f"a {self.enum.__name__}")
        return value

    def read(self, value: object, name: str) -> StrEnum:
        try:
            return self.enum(cast("str", value))
        except ValueError:
            raise InputError.wrong(name, value, "one of " + ", ".join(self.enum)) from None

    def write(self, value: StrEnum) -> str:
        return value.value


@dataclass(frozen=True, slots=True)
class _Several:
    """A tuple in Python, an array in JSON."""

    item: _Kind

    def accept(self, value: object, name: str) -> tuple[Any, ...]:
        if not isinstance(value, tuple):
            raise InputError.wrong(name, value, "a tuple")
        return tuple(self.item.accept(item, f"{name}.{index}") for index, item in enumerate(value))

    def read(self, value: object, name: str) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise InputError.wrong(name, value, "an array")
        return tuple(self.item.read(item, f"{name}.{index}") for index, item in enumerate(value))

    def write(self, value: tuple[Any, ...]) -> list[Any]:
        return [self.item.write(item) for item in value]


@dataclass(frozen=True, slots=True)
class _Nested:
    """A record in a record. It has checked itself when it was made."""

    record: type[Record]

    def accept(self, value: object, name: str) -> Record:
        if not isinstance(value, self.record):
            raise InputError.wrong(name, value, f"a {self.record.__name__}")
        return value

    def read(self, value: object, name: str) -> Record:
        return _read(self.record, value, name)

    def write(self, value: Record) -> dict[str, Any]:
        return value.to_json()


def _kind(hint: Any) -> _Kind:
    if get_origin(hint) is Annotated:
        scalar: _Kind = get_args(hint)[1]
        return scalar
    if get_origin(hint) is tuple:
        return _Several(_kind(get_args(hint)[0]))
    return _Choice(hint) if issubclass(hint, StrEnum) else _Nested(hint)


_STORED: dict[type[Record], dict[str, _Kind]] = {}


def _stored(cls: type[Record]) -> dict[str, _Kind]:
    """The stored fields of a record class and their kinds. Worked out once, when a class is complete and used."""
    if cls not in _STORED:
        hints = get_type_hints(cls, include_extras=True)
        _STORED[cls] = {field.name: _kind(hints[field.name]) for field in dataclasses.fields(cast("Any", cls))}
    return _STORED[cls]
