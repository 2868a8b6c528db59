"""Names of tests: one test can have several, and a task's gates were made with one of them.

A JUnit test is `class.name` for one tool and `class#name` for another; jest's full name joins titles by blanks where a
log shows only the last title. A reader knows all the parts, so it gives a test its standard name and beside it those of
its other names that are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from parsimony.execution import TestResult
from parsimony.testreports.model import add

LONGEST_LINE: Final = 20_000
"""Characters of a line that can be a result; patterns are not tried on longer ones."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def lines(data: bytes) -> list[str]:
    """Lines of printed text, without colours and ends of line. What is not UTF-8 is replaced."""
    text = _ANSI.sub("", data.decode("utf-8", "replace"))
    return [line.rstrip("\r") for line in text.split("\n") if len(line) <= LONGEST_LINE]


class Tests:
    """Results by test id while a report is read; the worst status of an id counts.

    Args:
        expected: ids that are asked for.
    """

    __test__ = False

    def __init__(self, expected: Collection[str] = ()) -> None:
        self.results: dict[str, TestResult] = {}
        self._expected = frozenset(expected)

    def add(self, standard: str, result: TestResult, others: Iterable[str] = ()) -> None:
        """Record `result` under the standard name and under those of the `others` that are asked for."""
        for name in dict.fromkeys((standard, *(other for other in others if other in self._expected))):
            add(self.results, name, result)

    def is_expected(self, name: str) -> bool:
        """Whether somebody asks for `name`."""
        return name in self._expected

    def longest_expected(self, text: str, separators: Iterable[str]) -> str | None:
        """The longest expected id that `text` consists of, or begins with before one of `separators`."""
        candidates = (text, *(cut for separator in separators for cut in _cuts(text, separator)))
        return max((each for each in candidates if each in self._expected), key=len, default=None)


def _cuts(text: str, separator: str) -> Iterator[str]:
    at = text.find(separator)
    while at >= 0:
        yield text[:at]
        at = text.find(separator, at + 1)
