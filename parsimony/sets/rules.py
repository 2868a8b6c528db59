"""Which task may join which set. The roles are kept apart here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parsimony.contamination.cutoffs import Cutoff
from parsimony.contamination.gate import gate_task
from parsimony.errors import InputError
from parsimony.records import Role
from parsimony.sets.model import Member, SourceKind, TaskSet, parse_cutoff

if TYPE_CHECKING:
    from parsimony.sets.state import State


def may_join(state: State, one: TaskSet, members: Sequence[Member]) -> None:
    """Whether tasks may be assigned to a set.

    Raises:
        InputError: one may not; names the first, and how many others.
    """
    problems = [f"{task!r} {problem}" for task, problem in refusals(state, one, members).items()]
    if problems:
        more = f" (and {len(problems) - 1} more tasks)" if len(problems) > 1 else ""
        raise InputError(problems[0] + more, mend="leave them out", field="tasks")


def refusals(state: State, one: TaskSet, members: Sequence[Member]) -> dict[str, str]:
    """Which tasks may not be assigned to a set, each with the reason as a clause.

    Raises:
        InputError: the set as it is described may hold no task at all.
    """
    cutoff = parse_cutoff(one.cutoff)
    held_out = one.role is Role.HOLDOUT_LIVE
    if held_out:
        _may_hold_out(one)
    problems = {}
    for member in members:
        problem = (_burned(state, member) if held_out else None) or _joins(state, one, member)
        if problem is None and held_out:
            problem = _is_new(state, one, member, None if cutoff is None else Cutoff("", cutoff, "given"))
        if problem is not None:
            problems[member.task_id] = problem
    return problems


def _may_hold_out(one: TaskSet) -> None:
    if one.kind is SourceKind.STATIC:
        mend = "a public corpus that stands still is development or regression data"
        raise InputError(f"is {one.source!r}, and the set is a holdout", mend=mend, field="source")
    if one.kind is SourceKind.TIMESTAMP_GATED and one.cutoff is None:
        mend = "give --cutoff, the date after which its tasks must have been made"
        raise InputError("is missing", mend=mend, field="cutoff")


def _burned(state: State, member: Member) -> str | None:
    burn = state.burn_of(member)
    return None if burn is None else f"is burned (entry {burn.entry}: {burn.reason}) and never unseen again"


def _joins(state: State, one: TaskSet, member: Member) -> str | None:
    """Why a task may not be in two roles at a time."""
    for other, there in state.sets_of(member):
        if other.role is not one.role and state.is_active(other, there.task_id):
            return f"is in {other.set_id!r}, a {other.role} set: a task has one role at a time"
    return None


def _is_new(state: State, one: TaskSet, member: Member, cutoff: Cutoff | None) -> str | None:
    """Why a task may not be in a holdout."""
    held_out = False
    for other, there in state.sets_of(member):
        held_out = held_out or state.is_active(other, there.task_id)
        if other.role is not Role.HOLDOUT_LIVE:
            return f"was in {other.set_id!r}, a {other.role} set: it has been optimized against"
        if there.task_id in other.retired:
            return f"was retired from {other.set_id!r} (entry {other.retired[there.task_id]})"
    looked_at = state.compared_in(member)
    if looked_at is not None and not held_out:
        return f"was compared (entry {looked_at}) before it was held out"
    if cutoff is not None:
        gated = gate_task(member.task_id, member.created_at, cutoff)
        return None if gated.eligible else f"may not be in it: {gated.reason}"
    if one.kind.dated and member.created_at is None:
        return "has no created_at, which a holdout of dated tasks needs"
    return None
