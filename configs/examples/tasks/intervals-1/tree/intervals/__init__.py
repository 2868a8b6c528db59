"""Sets of whole numbers, kept as runs."""

from intervals.core import IntervalSet
from intervals.text import parse

__all__ = ["IntervalSet", "parse"]
