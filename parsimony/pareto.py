"""What is worth its price: of systems with a cost and a score, those that no other beats, and those that no mix beats.

All arithmetic is on exact numbers: a point is on a frontier or it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Point:
    """A system.

    Attributes:
        name: unique among the points that are compared.
        cost: less is better, 0 or more; score: more is better, 0 or more. Any units, the same for all points.
    """

    name: str
    cost: Fraction
    score: Fraction


def dominates(one: Point, other: Point) -> bool:
    """Whether `one` costs no more and scores no less than `other`, and one of the two truly (Kapoor et al. 2024,
    arXiv:2407.01502; the rule of HAL, arXiv:2510.11977)."""
    return one.cost <= other.cost and one.score >= other.score and (one.cost, one.score) != (other.cost, other.score)


def frontier(points: Iterable[Point]) -> list[Point]:
    """The points that no other dominates, by cost. Equal points are all on it, or none is."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda one: (one.cost, -one.score, one.name)):
        if not kept or point.score > kept[-1].score or (point.cost, point.score) == (kept[-1].cost, kept[-1].score):
            kept.append(point)
    return kept


def dominators(points: Sequence[Point]) -> Mapping[str, str]:
    """For each point that is dominated, by name, the best of those that dominate it: highest score, then least cost."""
    edge = frontier(points)
    found: dict[str, str] = {}
    for point in points:
        better = [one for one in edge if dominates(one, point)]
        if better:
            found[point.name] = max(better, key=lambda one: (one.score, -one.cost)).name
    return found


def convex_frontier(points: Iterable[Point], *, idle: bool = True) -> list[Point]:
    """The upper hull of the frontier, by cost: the points that no mix of two others beats or equals at their cost.

    A system that takes each task to A with probability w and to B otherwise has the cost and the score
    w A + (1 - w) B (Kapoor et al. 2024, section 3.2). Andrew's monotone chain (1979).

    Args:
        idle: doing nothing, at no cost and with a score of 0, may be part of a mix: half of the tasks left alone.
    """
    edge = frontier(points)
    nothing = (Fraction(0), Fraction(0))
    hull = [nothing] if idle else []
    for corner in dict.fromkeys((point.cost, point.score) for point in edge):
        if idle and corner[1] == 0:
            continue  # nothing for something: doing nothing beats it, or is it
        while hull and (_at_once(hull, corner) or (len(hull) >= 2 and not _turns_right(hull[-2], hull[-1], corner))):
            hull.pop()
        hull.append(corner)
    corners = set(hull) - ({nothing} if idle else set())
    return [point for point in edge if (point.cost, point.score) in corners]


def _at_once(hull: Sequence[tuple[Fraction, Fraction]], corner: tuple[Fraction, Fraction]) -> bool:
    """Whether the corner stands above the last one: only doing nothing can be beaten at its own cost."""
    return hull[-1][0] == corner[0]


def _turns_right(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) < 0
