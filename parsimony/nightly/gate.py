"""What lets a night pass: canaries that hold, verdicts that are there, and no arm that is significantly worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from parsimony.nightly.book import State

if TYPE_CHECKING:
    from parsimony.ab import Comparison

RESOLVED: Final = "resolved"
MISSING: Final = "missing"


class Kind(StrEnum):
    """What a canary must be: a task's own fix resolved, a patch that fixes nothing not."""

    GOLD = "gold"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Canary:
    """One canary as graded.

    Attributes:
        name: `gold`, or that of a patch that fixes nothing (`parsimony.audit.canaries`).
        when: `before` the sweep or `after` it.
        outcome: as in outcomes.jsonl. reasons: of the verdict.
    """

    task_id: str
    name: str
    when: str
    outcome: str
    reasons: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """What it must be."""
        return Kind.GOLD if self.name == Kind.GOLD else Kind.WRONG

    @property
    def holds(self) -> bool | None:
        """Whether it was graded as it must be; None when it has no verdict, which proves nothing."""
        if self.outcome == MISSING:
            return None
        return (self.outcome == RESOLVED) == (self.kind is Kind.GOLD)


def broken(canaries: Iterable[Canary]) -> tuple[str, ...]:
    """Why a night is void, in words; empty when no canary was graded wrong."""
    found = []
    for one in canaries:
        if one.holds is False:
            must = "must be resolved" if one.kind is Kind.GOLD else "must not be resolved"
            why = f" ({one.reasons[0]})" if one.reasons else ""
            found.append(f"{_named(one)} is {one.outcome} and {must}{why}")
    return tuple(found)


def _named(one: Canary) -> str:
    return f"canary {one.name!r} of {one.task_id}, {one.when} the sweep,"


def unproven(canaries: Iterable[Canary]) -> tuple[str, ...]:
    """Canaries without a verdict, in words."""
    return tuple(
        f"{_named(one)} has no verdict" + (f" ({one.reasons[0]})" if one.reasons else "")
        for one in canaries
        if one.holds is None
    )


@dataclass(frozen=True, slots=True)
class Gate:
    """What a comparison with the baseline came to, and why in words."""

    state: State
    reasons: tuple[str, ...] = ()


def judge(arms: Sequence[str], comparisons: Sequence[Comparison], missing: int) -> Gate:
    """The gate, from the comparison of each arm with itself in the baseline (p-values are Holm's over the arms).

    A significant loss is a regression even where verdicts are missing: significant is only what they cannot turn
    (docs/comparisons.md).

    Args:
        comparisons: none where there is no baseline yet.
        missing: candidates of the night without a verdict.
    """
    from parsimony.ab import wording  # noqa: PLC0415 - loads numpy
    from parsimony.records import Significance  # noqa: PLC0415

    worse, blind = [], []
    for arm, one in zip(arms, comparisons, strict=True) if comparisons else ():
        result = one.record.result
        if result.significant is Significance.YES and result.delta < 0:
            worse.append(f"{arm}: {wording.finding(one)}")
        if len(one.record.seeds) < 2:
            blind.append(f"{arm}: one seed says nothing about the variance, so this gate cannot fail; run two or more")
    if worse:
        return Gate(State.REGRESSION, (*worse, *blind))
    if missing:
        return Gate(State.INCOMPLETE, (f"{missing} candidates have no verdict", *blind))
    return Gate(State.PASSED, tuple(blind))
