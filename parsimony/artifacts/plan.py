"""What happens to each task of a submission, decided before anything is measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from parsimony.artifacts.dataset import Task
from parsimony.artifacts.examine import FETCH_ERROR, Attempt, Finding, Rules
from parsimony.artifacts.submission import Submission, shows_failure

NOT_RESOLVED = "not_resolved"
NOT_SELECTED = "not_selected"
LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which attempts are examined.

    Attributes:
        tasks: only these; empty for all.
        limit: at most so many of each submission, in the order of task ids; those without a patch count.
        include_failed: also attempts that the publisher says failed.
    """

    tasks: Collection[str] = ()
    limit: int | None = None
    include_failed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One task: what is known of it already, or what has to be examined."""

    task_id: str
    task: Task | None
    settled: Finding | None = None
    attempt: Attempt | None = None


def eligible(submission: Submission, task_id: str, *, include_failed: bool) -> bool:
    """Whether an attempt may be measured: it was solved, or it failed by explicit evidence and failures are wanted."""
    if task_id in submission.resolved:
        return True
    return include_failed and shows_failure(submission.categories.get(task_id, ()))


def plan(submission: Submission, tasks: Mapping[str, Task] | None, selection: Selection, rules: Rules) -> list[Step]:
    """A step for every task of the dataset, or without one for every task that the submission names; sorted by id.

    The order of tests is that of the published rules: eligible, selected, within the limit; then, when it is examined,
    whether there is a patch, and a base.
    """
    steps: list[Step] = []
    left = selection.limit
    for task_id in sorted(tasks) if tasks is not None else submission.tasks:
        task = tasks[task_id] if tasks is not None else None
        chosen = not selection.tasks or task_id in selection.tasks
        if task_id in submission.unfetched:
            # Whether it may be measured is not known.
            told = Finding(FETCH_ERROR, submission.unfetched[task_id]) if chosen else Finding(NOT_SELECTED)
        elif not eligible(submission, task_id, include_failed=selection.include_failed):
            told = Finding(NOT_RESOLVED)
        elif not chosen:
            told = Finding(NOT_SELECTED)
        elif left == 0:
            told = Finding(LIMIT)
        else:
            left = None if left is None else left - 1
            reference, base = (task.patch, task.base) if task is not None else (None, None)
            attempt = Attempt(submission.patch(task_id), reference, base, rules)
            steps.append(Step(task_id, task, attempt=attempt))
            continue
        steps.append(Step(task_id, task, settled=told))
    return steps
