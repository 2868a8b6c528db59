"""The formulas, with the worked examples of the scoring specification."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.scoring.rule import Scale, blend, failure_score, percentile, success_score

EXAMPLE = [(5, 9), (10, 10), (10, 30)]

counts = st.integers(0, 10**7)
footprints = st.tuples(counts, counts).map(lambda pair: (pair[0] - pair[1], pair[0] + pair[1]))


def solved(scale: Scale, net: int, churn: int) -> float:
    return success_score(blend(*scale.percentiles(net, churn)))


def failed(scale: Scale, net: int, churn: int) -> float:
    return failure_score(blend(*scale.burdens(net, churn)))


@pytest.mark.parametrize(
    ("footprint", "percentiles", "score"),
    [((10, 20), (1 / 3, 1 / 3), 34), ((4, 1000), (1, 0), 80.2), ((5, 9), (5 / 6, 5 / 6), 83.5)],
)
def test_successes_of_the_specification(
    footprint: tuple[int, int], percentiles: tuple[float, float], score: float
) -> None:
    scale = Scale.of(EXAMPLE)
    assert scale.percentiles(*footprint) == pytest.approx(percentiles, abs=1e-15)
    assert solved(scale, *footprint) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("footprint", "score"), [((0, 0), 0), ((10, 10), -12.5), ((-10, 10), -2.5), ((0, 20), -10 / 3)]
)
def test_failures_of_the_specification(footprint: tuple[int, int], score: float) -> None:
    scale = Scale.of(EXAMPLE)
    assert scale.failure_scale == 10
    assert failed(scale, *footprint) == pytest.approx(score, abs=1e-12)


def test_ties_with_all_references_are_the_middle_and_beating_all_the_end() -> None:
    scale = Scale.of([(3, 5)] * 4)
    assert solved(scale, 3, 5) == 50.5
    assert solved(scale, 2, 4) == 100
    assert solved(scale, 4, 6) == 1


def test_percentiles_saturate() -> None:
    scale = Scale.of(EXAMPLE)
    assert solved(scale, 20, 40) == solved(scale, 10**6, 10**6) == 1


def test_references_without_churn_have_a_scale() -> None:
    """Otherwise a failure beside them would divide by nothing."""
    assert Scale.of([(0, 0), (0, 0)]).failure_scale == 1
    assert failed(Scale.of([(0, 0)]), 1, 1) == -12.5


def test_the_median_of_an_even_number_is_between() -> None:
    assert Scale.of([(0, 2), (0, 5)]).failure_scale == 3.5


def test_a_floor_takes_the_credit_for_deletion_from_references_too() -> None:
    scale = Scale.of([(-5, 5), (-1, 1), (2, 4)], net_floor=0)
    assert scale.nets == (0, 0, 2)
    assert scale.churns == (1, 4, 5)


@given(st.lists(st.integers(-50, 50), min_size=1), st.integers(-60, 60))
def test_percentile_is_what_its_definition_says(references: list[int], value: int) -> None:
    larger = sum(one > value for one in references)
    equal = sum(one == value for one in references)
    assert percentile(value, sorted(references)) == (larger + 0.5 * equal) / len(references)


@given(st.lists(footprints, min_size=1, max_size=8), footprints)
def test_any_success_is_worth_more_than_any_failure(
    references: list[tuple[int, int]], footprint: tuple[int, int]
) -> None:
    scale = Scale.of(references)
    assert -25 <= failed(scale, *footprint) <= 0 < 1 <= solved(scale, *footprint) <= 100 + 1e-12


@given(st.lists(footprints, min_size=1, max_size=8), footprints, counts, counts)
def test_more_growth_or_churn_never_improves_a_failure(
    references: list[tuple[int, int]], footprint: tuple[int, int], growth: int, churn: int
) -> None:
    scale, (net, moved) = Scale.of(references), footprint
    assert failed(scale, net + growth, moved) <= failed(scale, net, moved)
    assert failed(scale, net, moved + churn) <= failed(scale, net, moved)
