"""From text to a count of bytes."""

from __future__ import annotations

import re
from decimal import Decimal

from bytesize.units import factor

_SIZE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse(text: str) -> int:
    """The bytes that `text` names; no unit means bytes. Raises ValueError for what is no size."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"no size: {text!r}")
    return int(Decimal(match[1]) * factor(match[2] or "B"))
