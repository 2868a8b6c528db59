"""Two arms on the same tasks. Golden values are exact binomial tails, or stand in the literature named beside them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimony.statistics import (
    changed_sides,
    clustered_standard_error,
    jackknife_spread,
    mcnemar_exact,
    paired_difference,
    paired_permutation,
    paired_test,
    shared_seed_variance,
    sign_flip_test,
)

GOLDEN = [1, 1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("b", "c", "p"), [(10, 3, 0.0922852), (5, 0, 0.0625), (20, 9, 0.0614283), (0, 0, 1), (4, 4, 1)]
)
def test_mcnemar(b: int, c: int, p: float) -> None:
    assert mcnemar_exact(b, c) == pytest.approx(p, abs=1e-6)
    assert mcnemar_exact(c, b) == mcnemar_exact(b, c)


def test_mcnemar_of_many_pairs_is_exact_too() -> None:
    assert mcnemar_exact(5000, 5200) == pytest.approx(0.04870, abs=1e-3)
    with pytest.raises(ValueError, match="0 or more"):
        mcnemar_exact(-1, 2)


def test_clustered_standard_error() -> None:
    """The golden case: mean 5/9, plain 0.155183, corrected 0.190059."""
    values, clusters = GOLDEN
    assert clustered_standard_error(values, clusters) == pytest.approx(0.155183, abs=1e-6)
    assert clustered_standard_error(values, clusters, small_sample=True) == pytest.approx(0.190059, abs=1e-6)
    assert clustered_standard_error([], []) is None
    assert clustered_standard_error([1.0, 2.0], ["a", "a"], small_sample=True) is None
    with pytest.raises(ValueError, match="1 values and 2 clusters"):
        clustered_standard_error([1.0], ["a", "b"])


@given(st.lists(st.integers(0, 1), min_size=2, max_size=40))
def test_without_clusters_the_spread_is_the_usual_one(values: list[int]) -> None:
    n, mean = len(values), sum(values) / len(values)
    usual = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    spread = jackknife_spread(values, range(n))
    assert spread is not None
    assert spread.standard_error == pytest.approx(usual)
    assert spread.df == pytest.approx(n - 1)


def test_equal_clusters_have_one_degree_of_freedom_less_than_there_are() -> None:
    values, clusters = [1, 0, 1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3]
    spread = jackknife_spread(values, clusters)
    assert spread is not None
    assert spread.df == pytest.approx(3)
    assert spread.standard_error == pytest.approx(clustered_standard_error(values, clusters, small_sample=True))


def test_one_large_cluster_leaves_few_degrees_of_freedom() -> None:
    clusters = ["large"] * 50 + [f"small {n}" for n in range(50)]
    apart = [1.0] * 50 + [0.0] * 50  # the large one differs: values within clusters go together
    spread = jackknife_spread(apart, clusters)
    assert spread is not None
    assert spread.df < 4
    assert jackknife_spread([1.0, 2.0], ["a", "a"]) is None


def test_paired_difference_is_the_t_test_of_the_differences() -> None:
    """Student's sleep data (1908): t = 4.0621 with 9 degrees of freedom, p = 0.002833."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = paired_difference(first, second)
    assert found is not None
    assert found.standard_error is not None
    assert found.mean / found.standard_error == pytest.approx(4.0621, abs=1e-4)
    assert found.p_value == pytest.approx(0.002833, abs=1e-6)
    assert found.interval == pytest.approx((0.7001142, 2.4598858), abs=1e-6)


def test_what_is_not_known_is_none() -> None:
    assert paired_difference([], []) is None
    assert paired_test([], []) is None
    one = paired_difference([0.0, 0.0], [1.0, 1.0], ["r", "r"])
    assert one is not None
    assert (one.mean, one.standard_error, one.interval, one.p_value) == (1.0, None, None, None)
    same = paired_difference([1.0, 2.0], [2.0, 3.0])
    assert same is not None
    assert (same.standard_error, same.interval, same.p_value) == (0.0, (1.0, 1.0), 0.0)
    nothing = paired_difference([1.0, 2.0], [1.0, 2.0])
    assert nothing is not None
    assert nothing.p_value == 1.0
    with pytest.raises(ValueError, match="one length"):
        paired_difference([1.0], [])


fractions = st.fractions(-2, 2, max_denominator=6)


@given(st.lists(fractions, min_size=1, max_size=9))
def test_the_exact_permutation_counts_every_pattern(sums: list[Fraction]) -> None:
    observed = abs(sum(sums, Fraction(0)))
    patterns = itertools.product((1, -1), repeat=len(sums))
    totals = [sum((a * b for a, b in zip(signs, sums, strict=True)), Fraction(0)) for signs in patterns]
    extreme = sum(abs(total) >= observed for total in totals)
    found = sign_flip_test(sums)
    assert found.exact
    assert found.p_value == pytest.approx(extreme / 2 ** len(sums), abs=1e-12)


@settings(max_examples=20)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_draws_agree_with_the_count(sums: list[int]) -> None:
    counted = sign_flip_test([Fraction(one) for one in sums])
    drawn = sign_flip_test([float(one) for one in sums])
    assert drawn.p_value == pytest.approx(counted.p_value, abs=0.01)
    assert counted.exact
    assert drawn.exact == (not any(sums))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60))
def test_on_single_seeds_the_permutation_is_mcnemar(pairs: list[tuple[int, int]]) -> None:
    a, b = zip(*pairs, strict=True)
    lost, won = sum(x > y for x, y in pairs), sum(y > x for x, y in pairs)
    assert paired_permutation(a, b).p_value == pytest.approx(mcnemar_exact(lost, won), abs=1e-12)


def test_tasks_of_one_cluster_change_sign_together() -> None:
    a, b = [0] * 6, [1] * 6
    assert paired_permutation(a, b).p_value == pytest.approx(2 / 2**6)
    assert paired_permutation(a, b, ["x", "x", "y", "y", "z", "z"]).p_value == pytest.approx(2 / 2**3)


def test_unequal_numbers_of_seeds_are_compared_exactly() -> None:
    found = paired_test([[1, 0, 0], [0] * 5], [[1, 1, 1], [0, 1, 0, 0, 0]])
    assert found is not None
    assert found.exact
    assert found.difference.mean == pytest.approx((2 / 3 + 1 / 5) / 2)
    assert found.p_value == 0.5


def test_what_seeds_share_makes_a_difference_less_sure() -> None:
    """Ten tasks where every outcome of a seed goes one way, against ten where they vary alone, with equal rates."""
    apart = [[int((task + seed) % 4 < 2) for seed in range(4)] for task in range(12)]
    together = [[1, 1, 0, 0]] * 12
    assert shared_seed_variance([apart, apart]) == 0
    assert shared_seed_variance([together, together]) == pytest.approx(2 * (1 / 3 - 1 / 36) / 4)
    assert shared_seed_variance([[[1]] * 3, [[0]] * 3]) == 0
    assert shared_seed_variance([[[1, 1]] * 3, [[0, 0]] * 3]) == 0
    better = [[int((task + seed) % 4 < 3 or task == 5) for seed in range(4)] for task in range(12)]
    alone, shared = paired_test(apart, better), paired_test(together, better)
    assert alone is not None
    assert shared is not None
    assert alone.difference.mean == shared.difference.mean
    assert alone.p_value < 0.01
    assert shared.p_value > 0.1
    assert shared.seed_variance > 0


def test_changed_sides() -> None:
    a, b = {"x": True, "y": True, "z": False, "only": True}, {"x": False, "y": True, "z": True}
    assert changed_sides(a, b) == (1, 1)
