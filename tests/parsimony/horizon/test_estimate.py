"""Horizons: the formula, weights, refusals, intervals, and what must not change them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.horizon import Horizon, Options, State, TimedTask, Weighting, estimate, fit, run_weights
from parsimony.horizon.resampling import draw
from parsimony.horizon.wording import duration, interval, told

PLAIN = Options(draws=0)


def tasks(scores: Sequence[Sequence[float]], families: int = 0) -> list[TimedTask]:
    """Tasks of 1, 2, 4, ... minutes with these scores."""
    return [
        TimedTask(f"t{place}", 2.0**place, f"f{place % families}" if families else f"t{place}", tuple(map(float, its)))
        for place, its in enumerate(scores)
    ]


def drawn_tasks(horizon: float, number: int, seed: int, slope: float = -0.7) -> list[TimedTask]:
    """Tasks whose runs succeed by a line that has this horizon."""
    chance = random.Random(seed)
    found = []
    for place in range(number):
        minutes = 2 ** chance.uniform(0, 10)
        p = 1 / (1 + math.exp(-slope * (math.log2(minutes) - math.log2(horizon))))
        scores = tuple(float(chance.random() < p) for _ in range(4))
        found.append(TimedTask(f"t{place}", minutes, f"f{place % 30}", scores))
    return found


FALLING = tasks([[1, 1], [1, 1], [1, 0], [1, 1], [0, 1], [1, 0], [0, 0], [0, 0]])


def test_horizons_are_where_the_fitted_line_has_the_chance() -> None:
    found = estimate(FALLING, PLAIN)
    assert found.state is State.ESTIMATED
    assert found.intercept is not None
    assert found.slope is not None
    assert found.h50 == pytest.approx(2 ** (-found.intercept / found.slope))
    assert found.h80 == pytest.approx(2 ** ((math.log(0.8 / 0.2) - found.intercept) / found.slope))
    assert found.h80 is not None
    assert found.h50 is not None
    assert found.h80 < found.h50
    assert (found.interval50, found.undefined) == (None, None)
    assert (found.tasks, found.runs, found.shortest, found.longest) == (8, 16, 1.0, 128.0)


def test_a_horizon_is_found_again_and_its_interval_holds_it() -> None:
    covered = 0
    for seed in range(40):
        found = estimate(drawn_tasks(30, 120, seed), Options(draws=200, seed=seed))
        assert found.interval50 is not None
        low, high = found.interval50
        assert high is not None
        covered += low <= 30 <= high
    assert covered >= 34  # 95 % of 40 are 38; fewer than 34 has a chance of under 1 %


def test_a_fractional_score_is_a_success_and_a_failure_that_share_its_weight() -> None:
    halves = estimate(tasks([[1], [0.75], [0.5], [0]]), PLAIN)
    x = np.log2([1.0, 2, 2, 4, 4, 8])
    weights = np.array([1, 0.75, 0.25, 0.5, 0.5, 1]) / 4
    split = fit(x, (weights * [1, 1, 0, 1, 0, 0])[None], weights[None], 1e-5)
    assert halves.slope == pytest.approx(split.slopes[0], rel=1e-7)
    assert halves.intercept == pytest.approx(split.intercepts[0], rel=1e-7)


def test_weights() -> None:
    some = [
        TimedTask("a", 1, "x", (1.0, 0.0)),
        TimedTask("b", 1, "x", (1.0,)),
        TimedTask("c", 1, "x", (1.0,)),
        TimedTask("d", 1, "x", (1.0,)),
        TimedTask("e", 1, "y", (1.0,) * 4),
    ]
    equal = run_weights(some, Weighting.EQUAL_TASK)
    assert equal == pytest.approx(np.array([0.5, 1, 1, 1, 0.25]) / 5)
    # Four tasks of x weigh 1/2 each before normalisation, the one of y weighs 1: x has 2/3 of all.
    root = run_weights(some, Weighting.INVSQRT)
    assert root == pytest.approx(np.array([0.25, 0.5, 0.5, 0.5, 0.25]) / 3)
    assert root @ [2, 1, 1, 1, 4] == pytest.approx(1)


def test_more_runs_of_a_task_do_not_make_it_heavier() -> None:
    more = [TimedTask(t.task_id, t.minutes, t.family, t.scores * 5) for t in FALLING[:3]] + FALLING[3:]
    assert estimate(more, PLAIN).h50 == pytest.approx(estimate(FALLING, PLAIN).h50)


@pytest.mark.parametrize(
    ("scores", "state", "says"),
    [
        ([[0, 0], [0], [0]], State.ALL_FAIL, "nothing succeeds"),
        ([[1, 1], [1], [1]], State.ALL_SUCCEED, "beyond every task"),
        ([[0], [0], [1], [1]], State.NOT_FALLING, "does not fall"),
        ([[1, 0], [1, 0], [0, 1]], State.NOT_FALLING, "does not fall"),
    ],
)
def test_where_there_is_no_horizon_it_says_why(scores: list[list[float]], state: State, says: str) -> None:
    found = estimate(tasks(scores))
    assert found.state is state
    assert says in found.reason
    assert (found.h50, found.h80, found.interval50, found.curve) == (None,) * 4
    assert found.bins


def test_tasks_of_one_length_tell_nothing() -> None:
    found = estimate([TimedTask("a", 5, "a", (1.0,)), TimedTask("b", 5, "b", (0.0,))])
    assert found.state is State.NOT_FALLING
    assert "the same time" in found.reason


def test_what_a_reader_must_know_is_said() -> None:
    apart = estimate(tasks([[1], [1], [0], [0]]), PLAIN)
    assert apart.separated
    assert any("separates" in note for note in apart.notes)
    beyond = estimate(tasks([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0]]), PLAIN)
    assert any("longer than every task" in note for note in beyond.notes)
    few = estimate([TimedTask(t.task_id, t.minutes, f"f{i % 3}", t.scores) for i, t in enumerate(FALLING)], PLAIN)
    assert any("3 families" in note for note in few.notes)


def test_draws_without_a_fall_widen_the_interval_both_ways() -> None:
    weak = tasks([[1, 0], [1, 0, 1], [0, 1], [1, 1, 0, 0], [0, 1], [1, 0, 0]])
    found = estimate(weak)
    assert found.state is State.ESTIMATED
    assert found.undefined is not None
    assert found.undefined > 0.05
    assert found.interval50 == (0.0, None)


def test_equal_seeds_give_equal_intervals_and_none_the_other() -> None:
    first, again, other = (estimate(FALLING, Options(draws=300, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first.h50 == other.h50
    assert first.interval50 != other.interval50


def test_draws_take_families_whole_and_keep_the_weights() -> None:
    grouped = [TimedTask(f"t{i}", 2.0**i, f"f{i // 2}", (1.0, 0.0, 1.0)) for i in range(8)]
    weights = run_weights(grouped, Weighting.INVSQRT)
    successes, totals = draw(grouped, weights, 4000, 5)
    in_families = totals.reshape(-1, 4, 2).sum(axis=2) / (6 * weights[0])
    assert np.allclose(in_families, np.round(in_families))  # each time all runs of both tasks' number
    assert totals.sum(axis=1) == pytest.approx(1)  # families of one size: weights add up by themselves
    assert totals.mean(axis=0) == pytest.approx(3 * weights, rel=0.06)
    assert successes.mean(axis=0) == pytest.approx(2 * weights, rel=0.06)
    # A family of two is drawn B(4, 1/4) times, and each time two tasks, each with three runs.
    assert in_families.var(axis=0) == pytest.approx(4 * 0.25 * 0.75, rel=0.1)
    uneven = [*grouped[:7], TimedTask("t7", 128.0, "f9", (1.0,))]
    _, totals = draw(uneven, run_weights(uneven, Weighting.INVSQRT), 100, 5)
    assert np.ptp(totals.sum(axis=1)) > 0.1  # and are not made to sum to 1 where they do not


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_order_plays_no_part(seed: int, shuffled: random.Random) -> None:
    some = drawn_tasks(20, 25, seed)
    other = [TimedTask(t.task_id, t.minutes, t.family, tuple(shuffled.sample(t.scores, 4))) for t in some]
    shuffled.shuffle(other)
    assert estimate(other, Options(draws=50)) == estimate(some, Options(draws=50))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_one_more_success_at_the_horizon_makes_it_longer(seed: int) -> None:
    """At the horizon, that is: a success at a much shorter task can steepen the line and so shorten it."""
    some = drawn_tasks(20, 25, seed)
    before = estimate(some, PLAIN)
    assert before.h50 is not None
    log_h50 = math.log2(before.h50)
    failed = [i for i, task in enumerate(some) if min(task.scores) < 1]
    place = min(failed, key=lambda i: abs(math.log2(some[i].minutes) - log_h50))
    scores = sorted(some[place].scores)
    better = [*some]
    better[place] = TimedTask(some[place].task_id, some[place].minutes, some[place].family, (1.0, *scores[1:]))
    after = estimate(better, PLAIN)
    assert after.h50 is not None
    assert after.h50 > before.h50


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_another_unit_of_time_scales_the_horizon(seed: int, factor: float) -> None:
    some = drawn_tasks(20, 25, seed)
    scaled = [TimedTask(t.task_id, t.minutes * factor, t.family, t.scores) for t in some]
    before, after = estimate(some, Options(draws=40)), estimate(scaled, Options(draws=40))
    assert after.state is before.state
    if before.h50 is not None and before.interval50 is not None and after.interval50 is not None:
        assert after.h50 == pytest.approx(before.h50 * factor, rel=1e-6)
        assert after.interval50[0] == pytest.approx(before.interval50[0] * factor, rel=1e-5)


def test_more_success_everywhere_is_a_longer_horizon() -> None:
    found = [estimate(drawn_tasks(horizon, 150, 3), PLAIN).h50 or 0 for horizon in (2, 8, 32, 128)]
    assert found == sorted(set(found))


@pytest.mark.parametrize(
    "options",
    [
        Options(regularization=0),
        Options(regularization=math.nan),
        Options(draws=-1),
        Options(draws=10**9),
        Options(seed=-1),
        Options(level=0.5),
        Options(level=math.nan),
    ],
)
def test_options_that_cannot_be(options: Options) -> None:
    with pytest.raises(InputError):
        estimate(FALLING, options)


def test_data_that_cannot_be() -> None:
    with pytest.raises(InputError, match="no task"):
        estimate([])
    with pytest.raises(InputError, match="twice"):
        estimate([FALLING[0], FALLING[0]])
    for minutes, scores in ((0.0, (1.0,)), (math.inf, (1.0,)), (math.nan, (1.0,)), (1.0, ()), (1.0, (1.5,))):
        with pytest.raises(InputError):
            TimedTask("t", minutes, "f", scores)


def test_bins_are_doublings_and_hold_every_task() -> None:
    found = estimate(drawn_tasks(30, 200, 1), PLAIN)
    assert sum(part.tasks for part in found.bins) == 200
    assert len(found.bins) <= 10
    assert all(part.high > part.low for part in found.bins)
    assert all(a.high <= b.low for a, b in zip(found.bins, found.bins[1:], strict=False))


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "0 s"),
        (0.5, "30 s"),
        (1, "1 min"),
        (59.94, "59.9 min"),
        (90, "1.5 h"),
        (1440, "1 days"),
        (1e6, "1.9 years"),
        (1e-9, "< 1 ms"),
        (1e12, "> 1e6 years"),
    ],
)
def test_durations(minutes: float, text: str) -> None:
    assert duration(minutes) == text


WITHIN = Horizon(State.ESTIMATED, "", 2, 2, 2, 0.5, shortest=2.0, longest=240.0)


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(None, "–"), (1e-8, "< 30 s"), (0.5, "30 s"), (15, "15 min"), (960, "16 h"), (1e9, "> 16 h")],
)
def test_a_horizon_far_from_every_task_is_told_as_a_side(minutes: float | None, text: str) -> None:
    assert told(minutes, WITHIN) == text


def test_intervals_in_words() -> None:
    assert interval(None, WITHIN) == "–"
    assert interval((0.0, None), WITHIN) == "< 30 s … no bound"
    assert interval((1.0, 120.0), WITHIN) == "1 min … 2 h"
    assert interval((1.0, 1e7), WITHIN) == "1 min … > 16 h"
