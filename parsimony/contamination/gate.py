"""The date gate of LiveCodeBench (arXiv:2403.07974): only a task made after a model's cutoff can be new to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from parsimony.contamination.cutoffs import Cutoff
from parsimony.contamination.dates import Moment
from parsimony.errors import InputError
from parsimony.tasks import Task


@dataclass(frozen=True, slots=True)
class Gated:
    """What the gate says of a task. `reason` is empty for an eligible one."""

    task_id: str
    eligible: bool
    reason: str = ""


def gate_task(task_id: str, created_at: str | None, cutoff: Cutoff | None) -> Gated:
    """Whether a task was made after a cutoff for certain. What is unknown or unreadable is not."""
    if cutoff is None:
        return Gated(task_id, eligible=False, reason="the model's cutoff is unknown")
    if created_at is None:
        return Gated(task_id, eligible=False, reason="the task has no created_at")
    try:
        created = Moment.parse(created_at, field="created_at")
    except InputError as error:
        return Gated(task_id, eligible=False, reason=str(error))
    if created.surely_after(cutoff.moment):
        return Gated(task_id, eligible=True)
    certain = "" if not cutoff.moment.surely_after(created) else " (it is before it)"
    named = f"of {cutoff.model} " if cutoff.model else ""
    reason = f"created {created.text} is not surely after the cutoff {named}{cutoff.moment.text}{certain}"
    return Gated(task_id, eligible=False, reason=reason)


def gate(tasks: Iterable[Task], cutoff: Cutoff | None) -> list[Gated]:
    """`gate_task` for each task, in their order."""
    return [gate_task(task.instance_id, task.created_at, cutoff) for task in tasks]
