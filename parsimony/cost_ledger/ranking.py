"""Which arm is better when cost counts: a ranking without false ties, and what is worth its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from parsimony.cost_ledger.arms import ArmCost
from parsimony.pareto import Point, convex_frontier, dominators, frontier


@dataclass(frozen=True, slots=True)
class Ranked:
    """An arm in the ranking.

    Attributes:
        rank: from 1; equal only where rate and cost per candidate are exactly equal. None while a verdict is missing.
        dominated_by: an arm that resolves at least as much for no more money, and one of the two truly; "" where none.
        frontier, convex: whether it is on the plain and on the convex frontier (docs/costs.md).
    """

    cost: ArmCost
    rank: int | None
    dominated_by: str
    frontier: bool
    convex: bool


def rank(arms: Sequence[ArmCost]) -> list[Ranked]:
    """Arms by resolve rate, and where that is equal by cost per candidate: ten times the cost is worse.

    An arm whose cost is unknown comes after those of its rate whose cost is known, and neither dominates nor is
    dominated; one with a missing verdict has bounds, not a rate, and comes last without a rank.
    """
    points = [found for arm in arms if (found := point(arm)) is not None]
    beaten = dominators(points)
    edge = {one.name for one in frontier(points)}
    hull = {one.name for one in convex_frontier(points)}
    ranked: list[Ranked] = []
    for number, arm in enumerate(sorted(arms, key=_key), 1):
        place: int | None = number if arm.rate is not None else None
        if ranked and place is not None and arm.per_candidate is not None and _same(arm, ranked[-1].cost):
            place = ranked[-1].rank
        ranked.append(Ranked(arm, place, beaten.get(arm.arm, ""), arm.arm in edge, arm.arm in hull))
    return ranked


def point(arm: ArmCost) -> Point | None:
    """Micro-dollars per candidate and resolve rate; None where one is unknown."""
    cost, rate = arm.per_candidate, arm.rate
    return None if cost is None or rate is None else Point(arm.arm, cost, rate)


def _key(arm: ArmCost) -> tuple[bool, Fraction, bool, Fraction, str]:
    rate, cost = arm.rate, arm.per_candidate
    return rate is None, -(rate or Fraction(0)), cost is None, cost or Fraction(0), arm.arm


def _same(one: ArmCost, other: ArmCost) -> bool:
    return (one.rate, one.per_candidate) == (other.rate, other.per_candidate)
