"""Texts side by side."""

from __future__ import annotations

from itertools import zip_longest

from textflow.width import width_of
from textflow.wrapping import wrap


def columns(texts: list[str], width: int, *, gap: int = 2) -> list[str]:
    """Wrap each of `texts` to `width` and set them side by side, `gap` columns apart."""
    cells = [wrap(text, width) for text in texts]
    lines = []
    for row in zip_longest(*cells, fillvalue=""):
        padded = [cell + " " * (width - width_of(cell)) for cell in row]
        lines.append((" " * gap).join(padded).rstrip())
    return lines
