"""How much of the gold patch stands in the problem statement (solution leakage, SWE-bench+, arXiv:2410.06992).

A line counts when the patch adds it, it is not trivial, and it occurs in the statement once runs of white space are one
blank in both. Trivial is a line with fewer than `LEAST_CHARACTERS` characters that are not blank or fewer than two
words: `else:`, `return x`, `}` stand everywhere and tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from parsimony import patches
from parsimony.tasks import Task

LEAST_CHARACTERS: Final = 12
LEAST_WORDS: Final = 2
LEAKED_FROM: Final = 0.5
"""A task whose ratio is this or more is called leaked: half of what it takes to solve it is told."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Leak:
    """What the texts of a task tell of its gold patch.

    Attributes:
        lines: distinct lines that the patch adds and that are not trivial.
        told: those of them that occur in the statement, as the patch has them, blanks made one.
        hinted: those that occur in the row's `hints_text` (which solvers must not be shown).
        problem: why nothing can be said; None otherwise.
    """

    task_id: str
    lines: int
    told: tuple[str, ...] = ()
    hinted: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def ratio(self) -> float | None:
        """told / lines; None where there are no lines to look for."""
        return len(self.told) / self.lines if self.lines else None

    @property
    def hint_ratio(self) -> float | None:
        """hinted / lines; None where there are no lines to look for."""
        return len(self.hinted) / self.lines if self.lines else None


def leaks(tasks: Iterable[Task]) -> list[Leak]:
    """The leak of each task, in their order."""
    return [leak_of(task) for task in tasks]


def leak_of(task: Task) -> Leak:
    """The leak of one task."""
    if not task.patch.strip():
        return Leak(task.instance_id, 0, problem="there is no gold patch")
    lines = added_lines(task.patch)
    if not lines:
        return Leak(task.instance_id, 0, problem="the gold patch adds no line that is not trivial")
    statement, hints = normalised(task.problem_statement), task.row.get("hints_text")
    hinted = normalised(hints) if isinstance(hints, str) else ""
    if not statement:
        return Leak(task.instance_id, len(lines), problem="there is no problem statement")
    return Leak(
        task.instance_id,
        len(lines),
        tuple(line for line in lines if occurs(line, statement)),
        tuple(line for line in lines if occurs(line, hinted)),
    )


def added_lines(patch: bytes) -> list[str]:
    """Distinct lines that a patch adds and that are not trivial, blanks made one, in their order."""
    parsed = patches.parse(patch)
    added = (
        normalised(line[1:].decode("utf-8", "replace"))
        for file in parsed.files
        for hunk in file.hunks
        for line in hunk.body
        if line.startswith(b"+")
    )
    return list(dict.fromkeys(line for line in added if not is_trivial(line)))


def is_trivial(line: str) -> bool:
    """Whether a line is too short to tell anything."""
    characters = sum(not sign.isspace() for sign in line)
    return characters < LEAST_CHARACTERS or len(_WORD.findall(line)) < LEAST_WORDS


def normalised(text: str) -> str:
    """The text with every run of white space as one blank, none at its ends."""
    return " ".join(text.split())


def occurs(line: str, text: str) -> bool:
    """Whether a line occurs in a text as whole words; both are `normalised`."""
    start = text.find(line)
    while start >= 0:
        end = start + len(line)
        before = start > 0 and _in_word(text[start - 1]) and _in_word(line[0])
        after = end < len(text) and _in_word(text[end]) and _in_word(line[-1])
        if not before and not after:
            return True
        start = text.find(line, start + 1)
    return False


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
