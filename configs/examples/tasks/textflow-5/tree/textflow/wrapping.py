"""Greedy line breaking."""

from __future__ import annotations

from textflow.width import width_of


def wrap(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """Lines of `text` that are at most `width` columns wide.

    The first line starts with `first`, all others with `rest`. A word that is wider than a line is cut. Raises
    ValueError when an indent leaves no room.
    """
    if width <= max(width_of(first), width_of(rest)):
        raise ValueError(f"no room for text: width {width}")
    lines, line = [], first
    empty = True
    for word in text.split():
        glue = "" if empty else " "
        if width_of(line + glue + word) <= width:
            line, empty = line + glue + word, False
            continue
        if not empty:
            lines.append(line)
            line = rest
        while width_of(line + word) > width:
            room = width - width_of(line)
            lines.append(line + word[:room])
            line, word = rest, word[room:]
        line, empty = line + word, False
    if not empty:
        lines.append(line)
    return lines
