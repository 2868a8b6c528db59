"""What repeated runs of the fix and of the base teach is kept: a test that was seen to waver stays quarantined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parsimony.reference import Statuses, TaskReference, judge
from parsimony.tasks import Task


def remembering(task: Task, new: TaskReference, old: TaskReference | None) -> TaskReference:
    """The reference of a task after new runs.

    Args:
        old: what is known already; None, or one that does not hold for this task and environment, is forgotten.

    Runs that show nothing new leave the old reference as it is, and with it every verdict that rests on it. Otherwise
    the runs of both stand side by side, the old ones first: a test that changed its status in any of them is unstable.
    """
    if old is None or not old.holds_for(task, new.environment_digest):
        return new
    if new.problems == old.problems and _covers(old.gold, new.gold) and _covers(old.base, new.base):
        return old
    gold, base = _together(old.gold, new.gold), _together(old.base, new.base)
    return replace(new, gold=gold, base=base, problems=tuple(dict.fromkeys((*new.problems, *judge(task, gold, base)))))


def _covers(old: Mapping[str, Statuses], new: Mapping[str, Statuses]) -> bool:
    return all(set(statuses) <= set(old.get(test, ())) for test, statuses in new.items())


def _together(old: Mapping[str, Statuses], new: Mapping[str, Statuses]) -> dict[str, Statuses]:
    return {test: (*old.get(test, ()), *statuses) for test, statuses in new.items()}


def evidence(reference: TaskReference) -> dict[str, dict[str, Any]]:
    """What each unstable test did in each run, by its id."""
    return {
        test: {
            side: [status and status.value for status in runs.get(test, ())]
            for side, runs in (("gold", reference.gold), ("base", reference.base))
        }
        for test in sorted(reference.unstable)
    }
