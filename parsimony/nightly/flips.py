"""What a task did night by night: newly broken, flaky, mended, or always the same.

A task's verdict of a night is that of most of its seeds. A *flip* is a change of it from one night with a verdict to
the next. One flip is a change; two or more in the window are a task that goes to and fro.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Final

from parsimony.nightly.model import Night, TaskNight

FOR_GOOD: Final = 3
"""Nights in a row after which a task that failed now and then before is broken."""


class Flip(StrEnum):
    """What a history is.

    `NEWLY_BROKEN`: resolved, then not any more: one flip, or more of them and now for good. `MENDED`: one flip, the
    other way. `FLAKY`: two flips or more, or executions of one candidate that disagree. `STEADY`: no flip. `UNKNOWN`:
    no verdict.
    """

    NEWLY_BROKEN = "newly_broken"
    FLAKY = "flaky"
    MENDED = "mended"
    STEADY = "steady"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class History:
    """One task of one arm over a window of nights.

    Attributes:
        nights: with what the task did, the oldest first; None where the night did not plan it.
        kind: what that is.
        changed: the night of the newest flip: of a newly broken task the night when it first failed.
        last_good: the newest night before `changed` that resolved it.
        same_patches: whether exactly the same patches were graded before and after the flip: then the tests, the
            environment or the machine changed, not what was graded. None where there is no flip.
    """

    task_id: str
    repo: str
    arm: str
    nights: tuple[tuple[date, TaskNight | None], ...]
    kind: Flip
    changed: date | None = None
    last_good: date | None = None
    same_patches: bool | None = None

    @property
    def marks(self) -> str:
        """A sign per night: `+` resolved, `-` not, `?` no verdict, `.` not planned."""
        signs = {True: "+", False: "-", None: "?"}
        return "".join("." if task is None else signs[task.verdict] for _, task in self.nights)


def histories(nights: Sequence[Night]) -> tuple[History, ...]:
    """Histories of the tasks of the newest night, arm by arm.

    Args:
        nights: those that count, by date, the newest last; void ones are not among them.
    """
    if not nights:
        return ()
    tables = {arm: [(night.day, _by_task(night, arm)) for night in nights] for arm in nights[-1].arms}
    return tuple(
        _history(arm, task, [(day, table.get(task.task_id)) for day, table in tables[arm]])
        for arm, found in nights[-1].arms.items()
        for task in found.tasks
    )


def _by_task(night: Night, arm: str) -> dict[str, TaskNight]:
    return {task.task_id: task for task in night.arms[arm].tasks} if arm in night.arms else {}


def _history(arm: str, now: TaskNight, nights: Iterable[tuple[date, TaskNight | None]]) -> History:
    seen = tuple(nights)
    known = [(day, task) for day, task in seen if task is not None and task.verdict is not None]
    flips = [(one, other) for one, other in pairwise(known) if one[1].verdict != other[1].verdict]
    kind = _kind(known, len(flips))
    if not flips:
        return History(now.task_id, now.repo, arm, seen, kind)
    before, after = flips[-1]
    good = [day for day, task in known if task.verdict and day < after[0]]
    same = before[1].patches == after[1].patches
    return History(now.task_id, now.repo, arm, seen, kind, after[0], good[-1] if good else None, same)


def _kind(known: Sequence[tuple[date, TaskNight]], flips: int) -> Flip:
    if not known:
        return Flip.UNKNOWN
    if any(task.flaky for _, task in known) or (flips > 1 and not _for_good(known)):
        return Flip.FLAKY
    if not flips:
        return Flip.STEADY
    return Flip.MENDED if known[-1][1].verdict else Flip.NEWLY_BROKEN


def _for_good(known: Sequence[tuple[date, TaskNight]]) -> bool:
    """Whether a task that failed now and then fails for good: `FOR_GOOD` nights or more at the end, longer than ever
    before, after a time in which most nights resolved it."""
    runs = [(verdict, len(list(found))) for verdict, found in groupby(bool(task.verdict) for _, task in known)]
    *before, (verdict, length) = runs
    good = sum(n for was, n in before if was)
    bad = [n for was, n in before if not was]
    return not verdict and length >= FOR_GOOD and length > max(bad, default=0) and good > sum(bad)
