"""Whose is it: the labels that an execution carries, and what they say about one that was left behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cluster.sandboxes import labels
from parsimony.execution import ExecutionRequest

SLACK_S: Final = 120.0
"""Seconds after its deadline at which what is left of an execution belongs to nobody."""


def own_labels(request: ExecutionRequest, now: float) -> dict[str, str]:
    """The labels of an execution that starts `now` (epoch seconds): its own, and those that mark it as ours."""
    return {
        labels.EXECUTION: request.execution_key,
        **request.labels,
        labels.MANAGED_BY: labels.OURS,
        labels.EXPIRES: str(int(now + 2 * request.limits.deadline_s + SLACK_S)),  # it may wait for a turn first
    }


def same_attempt(request: ExecutionRequest, found: Mapping[str, str]) -> bool:
    """Whether labels that were `found` belong to an earlier try at exactly this attempt."""
    own = own_labels(request, 0.0)
    names = (labels.MANAGED_BY, labels.EXECUTION, labels.RUN, labels.ATTEMPT)
    return all(found.get(name) == own.get(name) for name in names)


def expired(found: Mapping[str, str], now: float) -> bool:
    """Whether the expiry label lies in the past; a label that is missing or no number never does."""
    stamp = found.get(labels.EXPIRES, "")
    return stamp.isdigit() and int(stamp) < now


def may_be_reaped(found: Mapping[str, str], run_id: str | None, now: float) -> bool:
    """Whether what carries labels that were `found` may be removed: it is ours, and either of the run that asks or,
    when no run asks, past its expiry, since before that it may be a living driver's."""
    if found.get(labels.MANAGED_BY) != labels.OURS:
        return False
    return expired(found, now) if run_id is None else found.get(labels.RUN) == run_id
