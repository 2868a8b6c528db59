"""Samples, power, components, several and repeated looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.statistics import (
    SPENDING,
    boundaries,
    holm,
    mean_interval,
    minimum_detectable_effect,
    nominal_alphas,
    obrien_fleming,
    pass_at_k,
    pass_hat_k,
    pocock,
    power_of,
    sample_size,
    seeds_needed,
    variance_components,
)


def test_pass_at_k() -> None:
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)
    assert pass_hat_k(5, 2, 2) == pytest.approx(0.1)
    assert pass_at_k(10, 3, 5) == pytest.approx(0.9166667, abs=1e-7)
    assert (pass_at_k(3, 0, 2), pass_hat_k(3, 3, 3), pass_at_k(3, 2, 2)) == (0.0, 1.0, 1.0)
    for wrong in ((3, 4, 1), (3, 1, 4), (3, 1, 0), (3, -1, 1)):
        with pytest.raises(ValueError, match="must hold"):
            pass_at_k(*wrong)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_one_success_is_likelier_than_all(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    assert pass_hat_k(n, c, k) <= c / n + 1e-12
    assert c / n <= pass_at_k(n, c, k) + 1e-12


def test_sample_sizes() -> None:
    assert [sample_size(delta, 0.25) for delta in (0.03, 0.05, 0.10)] == [2181, 785, 197]
    with pytest.raises(ValueError, match="difference of 0"):
        sample_size(0, 0.25)


@given(st.floats(0.01, 0.5), st.floats(0.01, 1), st.floats(0.5, 0.95))
def test_effect_size_and_sample_size_are_each_others_inverse(delta: float, variance: float, power: float) -> None:
    n = sample_size(delta, variance, power)
    found = minimum_detectable_effect(n, variance, power)
    assert found is not None
    assert found <= delta * (1 + 1e-9)
    # Student's t takes a little more than the normal that the sample size is for, the less the more tasks there are.
    reached = power_of(delta, n, variance)
    assert n < 30 or (reached is not None and power - 0.03 <= reached)


def test_seeds_that_are_still_needed() -> None:
    """Seeds shrink what varies within a task; what varies between tasks stays, and then no number is enough."""
    alone = sample_size(0.05, 0.05 + 0.30 / 4)
    assert seeds_needed(0.05, alone, task_variance=0.05, seed_variance=0.30) == 4
    assert seeds_needed(0.05, 100, task_variance=0.25, seed_variance=0.1) is None
    assert seeds_needed(0.0, 100, task_variance=0.1, seed_variance=0.1) is None


def test_components_recover_what_was_put_in() -> None:
    random = np.random.default_rng(7)
    tasks = random.normal(0, 0.5, 600)
    seeds = random.normal(0, 0.3, (600, 4))
    flake = random.normal(0, 0.2, (600, 4, 3))
    found = variance_components((tasks[:, None, None] + seeds[:, :, None] + flake).tolist())
    assert found.task == pytest.approx(0.25, rel=0.15)
    assert found.seed == pytest.approx(0.09, rel=0.1)
    assert found.flake == pytest.approx(0.04, rel=0.1)
    assert (found.tasks, found.seeds, found.repeats) == (599, 1800, 4800)


def test_components_that_cannot_be_told_are_none() -> None:
    assert variance_components([]).total is None
    single = variance_components([[[1.0]], [[0.0]]])
    assert (single.task, single.seed, single.flake) == (0.5, None, None)
    uneven = variance_components([[[1.0, 1.0], [0.0]], [[1.0]], []])
    assert (uneven.flake, uneven.seeds) == (0.0, 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_against_its_definition(p_values: list[float]) -> None:
    m, order = len(p_values), sorted(p_values)
    expected = [
        min(1.0, max((m - j) * order[j] for j in range(order.index(p) + 1))) if p in order else p for p in p_values
    ]
    adjusted = holm(p_values)
    for found, wanted, raw in zip(adjusted, expected, p_values, strict=True):
        assert found >= raw
        assert found == pytest.approx(wanted) or p_values.count(raw) > 1


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


FIVE = [0.2, 0.4, 0.6, 0.8, 1.0]


def test_boundaries_are_those_of_the_tables() -> None:
    """Five equal looks at 5 % two-sided (Jennison and Turnbull 2000, and the usual programs)."""
    assert boundaries(FIVE) == pytest.approx([4.8769, 3.3570, 2.6803, 2.2898, 2.0310], abs=1e-4)
    assert boundaries(FIVE, spending=pocock) == pytest.approx([2.4380, 2.4268, 2.4102, 2.3966, 2.3860], abs=1e-4)


def test_one_look_is_the_usual_test() -> None:
    assert boundaries([1.0]) == pytest.approx([1.959964], abs=1e-6)
    assert nominal_alphas([1.0]) == pytest.approx([0.05])


def test_later_looks_do_not_change_earlier_boundaries() -> None:
    assert boundaries(FIVE[:3]) == pytest.approx(boundaries(FIVE)[:3])


@pytest.mark.parametrize("spending", SPENDING.values())
def test_no_more_than_alpha_is_spent(spending: object) -> None:
    """By simulation of the score at four looks: 5 % within its error."""
    assert callable(spending)
    shares = [0.25, 0.5, 0.75, 1.0]
    random = np.random.default_rng(11)
    score = np.cumsum(random.normal(0, 0.5, (200_000, 4)), axis=1) / np.sqrt(shares)
    crossed = (np.abs(score) > np.array(boundaries(shares, spending=spending))).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=0.002)
    assert spending(1.0, 0.05) == pytest.approx(0.05)


def test_shares_must_increase() -> None:
    for wrong in ([0.5, 0.5], [0.0, 1.0], [1.1]):
        with pytest.raises(ValueError, match="increase"):
            boundaries(wrong)
    assert obrien_fleming(0.0) == 0.0


def test_mean_of_seeds() -> None:
    assert mean_interval([]) is None
    single = mean_interval([0.4])
    assert single is not None
    assert (single.mean, single.variance, single.interval) == (0.4, 0.0, None)
    several = mean_interval([0.33, 0.36, 0.35, 0.34, 0.37])
    assert several is not None
    assert several.mean == pytest.approx(0.35)
    assert several.variance == pytest.approx(0.00025)
    half = 2.776445 * math.sqrt(0.00005)
    assert several.interval == pytest.approx((0.35 - half, 0.35 + half))
