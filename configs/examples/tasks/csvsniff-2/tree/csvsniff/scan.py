"""Walking through text with an eye on quotes."""

from __future__ import annotations

from collections.abc import Iterator


def split_lines(text: str, quote: str) -> list[str]:
    """Lines of `text`; a line break between quotes does not end one."""
    lines = [""]
    for character, quoted in walk(text.replace("\r\n", "\n"), quote):
        if character == "\n" and not quoted:
            lines.append("")
        else:
            lines[-1] += character
    return lines


def walk(text: str, quote: str) -> Iterator[tuple[str, bool]]:
    """Each character, and whether it stands between quotes. A doubled quote stays inside."""
    quoted = False
    for character in text:
        if character == quote:
            quoted = not quoted
        yield character, quoted
