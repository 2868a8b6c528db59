"""Sizes in bytes, for people."""

from bytesize.reading import parse
from bytesize.showing import show

__all__ = ["parse", "show"]
