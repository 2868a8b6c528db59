"""Matching one path against one pattern."""

from __future__ import annotations

import re
from functools import lru_cache


def match(pattern: str, path: str) -> bool:
    """Whether the whole of `path` fits `pattern`. `**` as a whole part stands for any number of folders, also none."""
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = pattern.split("/")
    last = len(parts) - 1
    expression = ""
    for number, part in enumerate(parts):
        if part == "**":
            expression += ".*" if number == last else "(?:.*/)"
        else:
            expression += _part(part) + ("" if number == last else "/")
    return re.compile(expression, re.DOTALL)


def _part(part: str) -> str:
    """The expression for what stands between two slashes."""
    expression, at = "", 0
    while at < len(part):
        character = part[at]
        end = part.find("]", at + 2)
        if character == "*":
            expression += "[^/]*"
        elif character == "?":
            expression += "[^/]"
        elif character == "[" and end > 0:
            inside = part[at + 1 : end].replace("\\", "\\\\")
            negated = inside.startswith("!")
            expression += f"[{'^/' if negated else ''}{inside[negated:]}]"
            at = end
        else:
            expression += re.escape(character)
        at += 1
    return expression
