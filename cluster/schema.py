"""What the schemas of our files share: closed parts, and sizes, times and caps as people write them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from parsimony.execution import GIB, KIB, MIB

_UNITS = {
    "": 1,
    "b": 1,
    "k": KIB,
    "kb": KIB,
    "kib": KIB,
    "m": MIB,
    "mb": MIB,
    "mib": MIB,
    "g": GIB,
    "gb": GIB,
    "gib": GIB,
}


def parse_size(value: object) -> object:
    """`3g`, `512 MiB` or a number of bytes, as bytes (powers of 1024); anything else is left for the schema."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", value)
        if found is None or found[2].lower() not in _UNITS:
            raise ValueError("is not a size; write a number of bytes or, for example, `3g` or `512m`")
        return int(float(found[1]) * _UNITS[found[2].lower()])
    return value


Size = Annotated[
    int,
    BeforeValidator(parse_size),
    Field(gt=0),
    WithJsonSchema({"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "string", "pattern": r"^\s*\d"}]}),
]


_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def parse_duration(value: object) -> object:
    """`90s`, `30 min`, `2h`, `1.5d` or a number of seconds, as seconds; anything else is left for the schema."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", value)
        if found is None or found[2] not in _SECONDS:
            raise ValueError("is not a time; write seconds or, for example, `45m` or `2h`")
        return float(found[1]) * _SECONDS[found[2]]
    return value


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(gt=0, allow_inf_nan=False),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": r"^\s*\d"}]}),
]
Cap = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Closed(BaseModel):
    """A part of the file: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
