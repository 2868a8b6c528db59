"""Frontiers: against the definition, by brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from parsimony.pareto import Point, convex_frontier, dominates, dominators, frontier


def point(name: str, cost: int | Fraction, score: int | Fraction) -> Point:
    return Point(name, Fraction(cost), Fraction(score))


SOME = [point("A", 10, 10), point("B", 20, 40), point("C", 40, 45), point("D", 50, 60), point("E", 45, 30)]


def names(points: list[Point]) -> str:
    return "".join(one.name for one in points)


def test_the_frontier_is_what_no_other_dominates() -> None:
    assert names(frontier(SOME)) == "ABCD"
    assert dominators(SOME) == {"E": "C"}


def test_the_convex_frontier_is_what_no_mix_beats() -> None:
    """C lies under the line from B to D; A under the line from doing nothing to B."""
    assert names(convex_frontier(SOME)) == "BD"
    assert names(convex_frontier(SOME, idle=False)) == "ABD"


def test_what_only_equals_a_mix_is_not_on_it() -> None:
    assert names(convex_frontier([point("A", 1, 1), point("B", 2, 2), point("C", 3, 3)])) == "C"


def test_twins_share_their_place() -> None:
    twins = [point("x", 2, 3), point("y", 2, 3), point("z", 2, 2)]
    assert names(frontier(twins)) == names(convex_frontier(twins)) == "xy"
    assert dominators(twins) == {"z": "x"}


def test_a_free_system_and_one_that_does_nothing() -> None:
    assert names(convex_frontier([point("free", 0, 5), point("dear", 9, 5)])) == "free"
    assert names(frontier([point("cheap", 1, 0), point("good", 2, 1)])) == "cheapgood"
    assert names(convex_frontier([point("cheap", 1, 0), point("good", 2, 1)])) == "good"
    assert convex_frontier([point("cheap", 1, 0)]) == []
    assert frontier([]) == convex_frontier([]) == []


def test_a_hair_decides() -> None:
    """Floats would call these equal."""
    a, b = point("a", 1, Fraction(1, 3)), point("b", 1, Fraction(1, 3) + Fraction(1, 10**30))
    assert dominators([a, b]) == {"a": "b"}


POINTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=9)


@given(POINTS)
def test_the_frontier_by_definition(pairs: list[tuple[int, int]]) -> None:
    points = [point(str(n), *pair) for n, pair in enumerate(pairs)]
    edge, beaten = {one.name for one in frontier(points)}, dominators(points)
    by_name = {one.name: one for one in points}
    for one in points:
        assert (one.name in edge) == (not any(dominates(other, one) for other in points)) == (one.name not in beaten)
    assert all(dominates(by_name[winner], by_name[loser]) for loser, winner in beaten.items())


@given(POINTS, st.booleans())
def test_the_convex_frontier_by_definition(pairs: list[tuple[int, int]], idle: bool) -> None:
    """A point is on it unless another point, or a mix of two, has at least its score at no more than its cost."""
    points = [point(str(n), *pair) for n, pair in enumerate(pairs)]
    hull = {one.name for one in convex_frontier(points, idle=idle)}
    nothing = [point("nothing", 0, 0)] if idle else []
    for one in points:
        others = [p for p in points + nothing if (p.cost, p.score) != (one.cost, one.score)]
        alone = any(p.cost <= one.cost and p.score >= one.score for p in others)
        is_nothing = idle and one.cost == one.score == 0
        beaten = alone or is_nothing or any(mixed(a, b, one) for a, b in combinations(others, 2))
        assert (one.name in hull) == (not beaten)


def mixed(a: Point, b: Point, one: Point) -> bool:
    """Whether some mix of a and b costs what `one` costs, or less, and scores no less."""
    low, high = sorted((a, b), key=lambda p: p.cost)
    if not low.cost <= one.cost <= high.cost or low.cost == high.cost:
        return False
    share = (one.cost - low.cost) / (high.cost - low.cost)
    return (1 - share) * low.score + share * high.score >= one.score
