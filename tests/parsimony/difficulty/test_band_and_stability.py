"""The mid-range band, information, and rank correlations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimony.difficulty import (
    Band,
    Bank,
    Place,
    Response,
    bank_of,
    information,
    kendall_tau,
    pass_rates,
    spearman_rho,
    stability,
)
from parsimony.errors import InputError


def bank(rows: list[list[float | None]], agents: list[str] | None = None) -> Bank:
    """A bank of shares of one trial; None = missing."""
    return bank_of(
        Response(f"r{i}", agents[i] if agents else f"r{i}", f"t{j}", value, 1.0)
        for i, row in enumerate(rows)
        for j, value in enumerate(row)
        if value is not None
    )


@pytest.mark.parametrize(
    ("rate", "place"),
    [
        (0.0, Place.NONE),
        (0.29, Place.HARD),
        (0.3, Place.MIDDLE),
        (0.1 + 0.2, Place.MIDDLE),  # 0.30000000000000004
        (1 - 0.3, Place.MIDDLE),
        (0.7, Place.MIDDLE),
        (0.71, Place.EASY),
        (1.0, Place.ALL),
        (math.nan, Place.UNTRIED),
    ],
)
def test_ends_of_the_band_are_in_it(rate: float, place: Place) -> None:
    assert Band().place(rate) is place


def test_a_band_of_everything_still_leaves_out_what_tells_nothing() -> None:
    band = Band.parse("0:1")
    assert [band.place(rate) for rate in (0, 0.001, 0.999, 1)] == [Place.NONE, Place.MIDDLE, Place.MIDDLE, Place.ALL]


@pytest.mark.parametrize(
    "text", ["", "0.3", "0.7:0.3", "0.5:0.5", "-0.1:0.5", "0.2:1.1", "nan:0.5", "a:b", "0.1:0.2:0.3"]
)
def test_bands_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="--band"):
        Band.parse(text)


def test_pass_rates_are_of_who_tried_and_errors_count_agents() -> None:
    some = bank([[1, 0, None], [1, 1, None], [0, None, None], [0, 0, 1]], agents=["a", "a", "b", "b"])
    rates, errors = pass_rates(some)
    assert rates == pytest.approx([0.5, 1 / 3, 1.0])
    assert errors == pytest.approx([math.sqrt(0.25 / 2), math.sqrt(2 / 9 / 2), 0.0])


def test_information_is_largest_where_half_succeed_and_84_percent_of_that_at_the_ends_of_the_band() -> None:
    logit = math.log(0.7 / 0.3)
    told = information(np.array([0.0, logit, -logit]), np.array([0.0]), np.array([1.0]))[:, 0]
    assert told == pytest.approx([0.25, 0.21, 0.21])
    assert information(np.array([1.0]), np.array([1.0]), np.array([3.0]))[0, 0] == pytest.approx(9 / 4)


values = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1.0]), min_size=2, max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_rank_correlations_are_those_of_scipy(data: st.DataObject) -> None:
    one = data.draw(values)
    other = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(one), max_size=len(one)))
    first, second = np.array(one), np.array(other)
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert kendall_tau(first, second) is None
        assert spearman_rho(first, second) is None
        return
    assert kendall_tau(first, second) == pytest.approx(scipy.stats.kendalltau(first, second).statistic)
    assert spearman_rho(first, second) == pytest.approx(scipy.stats.spearmanr(first, second).statistic)


def test_equal_up_to_rounding_is_tied() -> None:
    first = np.array([0.1 + 0.2, 0.3, 0.5])
    assert kendall_tau(first, np.array([1.0, 1.0, 2.0])) == 1.0


ROWS: list[list[float | None]] = [
    [1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 0, 0],
    [1, 1, 1, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0],
]


def test_a_set_that_ranks_alike_has_correlations_of_one() -> None:
    found = stability(bank(ROWS), np.array([False, True, True, True, True, False]), 300, 1)
    assert found.full == pytest.approx([5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert [list(ranks) for ranks in (found.full_ranks, found.middle_ranks)] == [[1, 2, 3, 4, 5]] * 2
    assert (found.kendall.value, found.spearman.value) == pytest.approx((1, 1))
    assert found.kendall.interval is not None
    assert 0.7 < found.kendall.interval[0] <= found.kendall.interval[1] <= 1


def test_the_whole_set_agrees_with_itself_in_every_draw() -> None:
    found = stability(bank(ROWS), np.ones(6, dtype=bool), 200, 1)
    assert found.kendall.interval == pytest.approx((1, 1))
    assert found.by_chance == pytest.approx(1)


def test_where_nothing_can_be_said_nothing_is() -> None:
    none = stability(bank(ROWS), np.zeros(6, dtype=bool), 100, 1)
    assert none.middle == (None,) * 5
    assert (none.kendall.value, none.kendall.interval, none.by_chance, none.compared) == (None, None, None, 0)
    equal = stability(bank([[1, 0], [1, 0]]), np.array([True, False]), 100, 1)
    assert equal.kendall.value is None
    without = stability(bank(ROWS), np.ones(6, dtype=bool), 0, 1)
    assert without.kendall.value == pytest.approx(1)
    assert (without.kendall.interval, without.by_chance) == (None, None)


def test_respondents_without_a_task_of_the_set_are_not_compared() -> None:
    some = bank([[1, None], [1, 0], [0, 1], [0, 0]])
    found = stability(some, np.array([False, True]), 50, 1)
    assert found.middle_ranks[0] is None
    assert found.compared == 3


def test_draws_are_of_the_seed() -> None:
    chosen = np.array([True, True, False, True, False, True])
    first, again, other = (stability(bank(ROWS), chosen, 50, seed) for seed in (1, 1, 2))
    assert first == again
    assert first.kendall.value == other.kendall.value


def test_a_bank_adds_up_and_sorts() -> None:
    some = bank_of(
        [
            Response("b", "b", "t2", 1, 2),
            Response("a", "x", "t1", 0.5, 1),
            Response("b", "b", "t2", 1, 1),
        ]
    )
    assert (some.respondents, some.agents, some.tasks) == (("a", "b"), ("x", "b"), ("t1", "t2"))
    assert some.successes.tolist() == [[0.5, 0], [0, 2]]
    assert some.trials.tolist() == [[1, 0], [0, 3]]
    assert some.shares.tolist() == [[0.5, 0], [0, pytest.approx(2 / 3)]]


def test_banks_that_cannot_be() -> None:
    with pytest.raises(InputError, match="no response"):
        bank_of([])
    with pytest.raises(InputError, match="sample of"):
        bank_of([Response("a", "x", "t", 1, 1), Response("a", "y", "t", 1, 1)])
    for successes, trials in ((-1, 1), (2, 1), (0, 0), (1, math.inf), (math.nan, 1), (0, math.nan)):
        with pytest.raises(InputError):
            Response("a", "a", "t", successes, trials)
