"""Which arm is better when cost counts: a ranking without false ties, and the frontier of what is worth its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parsimony.cost_ledger.entries import ArmCost


@dataclass(frozen=True, slots=True)
class Ranked:
    """An arm in the ranking.

    Attributes:
        rank: from 1; equal only where rate and dollars are equal.
        dominated_by: an arm that resolves at least as much for no more money, and one of the two truly; "" where none.
        convex: whether it is on the upper hull of the frontier: better than any mix of two others at its price.
    """

    cost: ArmCost
    rank: int
    dominated_by: str
    convex: bool


def rank(arms: Sequence[ArmCost]) -> list[Ranked]:
    """Arms by resolve rate, and where that is equal by dollars: at ten times the cost the same rate is worse.

    An arm whose cost is unknown comes after those of its rate whose cost is known, and neither dominates nor is
    dominated.
    """
    ordered = sorted(arms, key=_key)
    hull = {arm.arm for arm in convex_frontier(arms)}
    ranks: list[int] = []
    for number, arm in enumerate(ordered):
        tied = number > 0 and _key(arm)[:3] == _key(ordered[number - 1])[:3] and arm.dollars is not None
        ranks.append(ranks[-1] if tied else number + 1)
    return [
        Ranked(arm, place, _dominator(arm, arms), arm.arm in hull) for arm, place in zip(ordered, ranks, strict=True)
    ]


def _key(arm: ArmCost) -> tuple[float, bool, float, str]:
    return -(arm.rate if arm.rate is not None else -1.0), arm.dollars is None, arm.dollars or 0.0, arm.arm


def _dominator(arm: ArmCost, arms: Sequence[ArmCost]) -> str:
    return next((other.arm for other in arms if dominates(other, arm)), "")


def dominates(one: ArmCost, other: ArmCost) -> bool:
    """Whether `one` resolves at least as much as `other` for no more dollars per candidate, and one of both truly."""
    mine, theirs = point(one), point(other)
    if mine is None or theirs is None or one.arm == other.arm:
        return False
    return mine[0] <= theirs[0] and mine[1] >= theirs[1] and mine != theirs


def point(arm: ArmCost) -> tuple[float, float] | None:
    """(dollars per candidate, resolve rate); None where one is unknown."""
    if arm.dollars is None or arm.rate is None:
        return None
    return arm.dollars / arm.candidates, arm.rate


def frontier(arms: Sequence[ArmCost]) -> list[ArmCost]:
    """Arms that no other dominates, by price."""
    known = [arm for arm in arms if point(arm) is not None]
    return sorted((arm for arm in known if not _dominator(arm, known)), key=lambda arm: point(arm) or (0.0, 0.0))


def convex_frontier(arms: Sequence[ArmCost]) -> list[ArmCost]:
    """The upper hull of the frontier: arms that no mix of two others (each on a share of the tasks) beats at its price.

    Andrew's monotone chain (1979) on the points of `frontier`.
    """
    hull: list[ArmCost] = []
    for arm in frontier(arms):
        while len(hull) >= 2 and not _turns_right(hull[-2], hull[-1], arm):
            hull.pop()
        hull.append(arm)
    return hull


def _turns_right(a: ArmCost, b: ArmCost, c: ArmCost) -> bool:
    (ax, ay), (bx, by), (cx, cy) = (point(arm) or (0.0, 0.0) for arm in (a, b, c))
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) < 0
