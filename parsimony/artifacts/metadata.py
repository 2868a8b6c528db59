"""The texts in a submission's `metadata.yaml`: nested mappings of scalars, which is all that is needed of it.

YAML is far larger than this. What a line of ours does not understand (a list, a block of text, an anchor) is passed
over, and never guessed at; so that nothing is needed to read five fields, and no reader of YAML meets unknown files.
"""

from __future__ import annotations

import re
from typing import Final

from parsimony import strict_json

_LINE = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z0-9_.-]+) *:(?: +(?P<value>.*))?")
_EMPTY: Final = frozenset({"", "null", "~", "Null", "NULL"})
_NOT_SCALAR: Final = ("[", "{", "&", "*", "|", ">", "!", "%", "@", "`")


def scalars(data: bytes) -> dict[str, str]:
    """{dotted key: text} of every scalar, such as `assets.logs`; the first of two equal keys counts.

    Raises:
        InputError: it is not UTF-8.
    """
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in strict_json.decode_utf8(data).splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        indent = len(match["indent"])
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, match["key"]))
        value = _scalar(match["value"] or "")
        if value is not None:
            found.setdefault(".".join(key for _, key in above), value)
    return found


def _scalar(text: str) -> str | None:
    """The text of a scalar; None for what is empty or no scalar."""
    text = text.strip()
    if text[:1] in {'"', "'"}:
        end = text.find(text[0], 1)
        return text[1:end] or None if end > 0 else None
    text = re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
    return None if text in _EMPTY or text.startswith(_NOT_SCALAR) else text
