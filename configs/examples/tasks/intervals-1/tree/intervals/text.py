"""Reading sets as people write them: `1-3, 8`."""

from __future__ import annotations

import re

from intervals.core import IntervalSet

_PART = re.compile(r"\s*(-?\d+)\s*(?:-\s*(-?\d+)\s*)?")


def parse(text: str) -> IntervalSet:
    """Read `text`; both ends of a run belong to it. Raises ValueError that quotes the part it cannot read."""
    numbers = IntervalSet()
    for part in filter(str.strip, text.split(",")):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"not a number or a run: {part.strip()!r}")
        low = int(match[1])
        high = low if match[2] is None else int(match[2])
        numbers.add(low, high + 1)
    return numbers
