"""The guess: the delimiter that parts the most lines into the same number of cells."""

from __future__ import annotations

from csvsniff.dialect import Dialect
from csvsniff.scan import split_lines

DELIMITERS = (",", ";", "\t", "|")
QUOTES = ('"', "'")


def sniff(text: str, *, default: str = ",") -> Dialect:
    """Guess the dialect of `text`. Text of one column gets `default`."""
    quote = _quote(text)
    lines = [line for line in split_lines(text, quote) if line.strip()]
    best, best_score = default, (0, 0)
    for delimiter in DELIMITERS:
        counts = [line.count(delimiter) for line in lines]
        common = max(set(counts), key=lambda count: (counts.count(count), count), default=0)
        score = (counts.count(common), common)
        if common > 0 and score > best_score:
            best, best_score = delimiter, score
    return Dialect(best, quote)


def _quote(text: str) -> str:
    """The quote that opens the most cells."""
    opened = {quote: 0 for quote in QUOTES}
    before = "\n"
    for character in text:
        if character in opened and (before in DELIMITERS or before == "\n"):
            opened[character] += 1
        before = character
    return max(QUOTES, key=lambda quote: opened[quote])
