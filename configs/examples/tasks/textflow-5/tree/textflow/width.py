"""How many columns of a terminal a text takes."""

from __future__ import annotations

import unicodedata


def width_of(text: str) -> int:
    """Columns of `text`: East Asian wide characters take two, combining marks none."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
