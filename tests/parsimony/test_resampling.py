"""The draws are those of Python's own generator, whatever their number and however they are cut into blocks."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony import resampling
from parsimony.resampling import draw_counts, interval_95, mean_draws, ranks, weighted_mean_draws


def by_choices(tasks: int, draws: int, seed: int) -> list[list[int]]:
    """The same draws, as the standard library makes them."""
    generator = random.Random(seed)
    drawn = [generator.choices(range(tasks), k=tasks) for _ in range(draws)]
    return [[one.count(task) for task in range(tasks)] for one in drawn]


@given(st.integers(1, 40), st.integers(1, 20), st.integers(-3, 2**70))
def test_draws_are_those_of_choices(tasks: int, draws: int, seed: int) -> None:
    assert np.concatenate(list(draw_counts(tasks, draws, seed))).tolist() == by_choices(tasks, draws, seed)


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "_CELLS", 20)
    blocks = list(draw_counts(7, 11, 42))
    assert [len(block) for block in blocks] == [2, 2, 2, 2, 2, 1]
    assert np.concatenate(blocks).tolist() == by_choices(7, 11, 42)
    monkeypatch.setattr(resampling, "_CELLS", 3)  # less than one draw
    assert np.concatenate(list(draw_counts(7, 2, 42))).tolist() == by_choices(7, 2, 42)


def test_means_are_over_the_drawn_tasks() -> None:
    values = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    wanted = [[float(np.dot(counts, values[:, agent]) / 3) for agent in (0, 1)] for counts in by_choices(3, 9, 5)]
    assert np.allclose(mean_draws(values, 9, 5), wanted, rtol=1e-14)


def test_a_draw_without_weight_has_no_mean() -> None:
    values, weights = np.array([[4.0], [0.0], [0.0]]), np.array([[1.0], [0.0], [0.0]])
    found = weighted_mean_draws(values, weights, 50, 1)[:, 0]
    drawn = [counts[0] > 0 for counts in by_choices(3, 50, 1)]
    assert np.isnan(found).tolist() == [not one for one in drawn]
    assert set(found[drawn]) == {4.0}
    assert 0 < sum(drawn) < 50


def test_ranks_share_ties_and_put_the_unknown_last() -> None:
    values = np.array([[2.0, 1.0, 1.0 + 1e-13, np.nan]])
    assert ranks(values, largest_first=False).tolist() == [[3, 1, 1, 4]]
    assert ranks(values, largest_first=True).tolist() == [[1, 2, 2, 4]]


@pytest.mark.parametrize(
    ("rows", "ends"), [(1, (0, 0)), (2, (0, 0)), (41, (1, 39)), (200, (4, 194)), (1000, (24, 974))]
)
def test_an_interval_is_two_order_statistics(rows: int, ends: tuple[int, int]) -> None:
    shuffled = np.random.default_rng(1).permutation(rows)[:, None]
    lower, upper = interval_95(shuffled)
    assert (int(lower[0]), int(upper[0])) == ends
