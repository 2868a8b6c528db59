"""What arms earn: sums that reconcile, bounds for what is missing, intervals that say no more than the data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimony.cost_ledger import PriceTable, by_arm
from parsimony.errors import InputError
from parsimony.runs import Run, Spend
from parsimony.value import Appraisal, Worth, appraise, wording
from parsimony.value.intervals import effective_number, intervals
from tests.parsimony.value.conftest import costs_of, make_run, point

Verdict = st.sampled_from([True, False, None])


def appraised(run: Run, pay: list[int], **more: object) -> Appraisal:
    worths = {f"t{row}": Worth(one, "even" if row % 2 == 0 else "odd") for row, one in enumerate(pay)}
    return appraise(run, worths, costs_of(run), draws=0, **more)  # type: ignore[arg-type]


def test_a_payout_is_earned_whole_or_not_at_all() -> None:
    found = appraised(make_run({"x": [[True, False], [True, True], [False, False]]}), [100, 20, 3])
    (arm,) = found.arms
    assert [one.earned for one in arm.whole.seeds] == [(120, 120), (20, 20)]
    assert (arm.whole.available, point(arm.whole.rate)) == (123, Fraction(70, 123))
    assert point(arm.whole.mean) == 70
    assert arm.whole.resolve_rate == (0.5, 0.5)
    assert [(one.kind, one.available, one.total) for one in arm.kinds] == [
        ("even", 103, (100, 100)), ("odd", 20, (40, 40)),
    ]  # fmt: skip


def test_earned_per_dollar_spent() -> None:
    """Two seeds of two tasks at a dollar each, and seven dollars earned."""
    found = appraised(make_run({"x": [[True, True], [True, False]]}), [2_000_000, 3_000_000])
    assert found.arms[0].spent == 4_000_000
    assert point(found.arms[0].per_dollar) == Fraction(7, 4)
    assert found.complete


def test_a_cost_that_nobody_told_is_unknown_and_not_zero() -> None:
    found = appraised(make_run({"x": [[True], [False]]}, micro=None), [1, 1])
    assert (found.arms[0].spent, found.arms[0].unknown, found.arms[0].per_dollar) == (None, 2, None)
    assert not found.complete
    free = appraised(make_run({"x": [[True]]}, micro=0), [1])
    assert free.arms[0].spent == 0
    assert free.arms[0].per_dollar is None


def test_a_model_without_a_price_is_an_error() -> None:
    run = make_run({"x": [[True]]})
    dark = tuple(replace(one, llm=Spend(output_tokens=5, model="m")) for one in run.trials)
    with pytest.raises(InputError):
        by_arm(replace(run, trials=dark), PriceTable(files=("prices.yaml",)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_reconcile_to_the_micro_dollar(data: st.DataObject) -> None:
    """Over seeds, kinds and arms: what is earned, what is not and what is missing are all that there is."""
    tasks, seeds = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    table = st.lists(st.lists(Verdict, min_size=seeds, max_size=seeds), min_size=tasks, max_size=tasks)
    tables = {"a": data.draw(table), "b": data.draw(table)}
    pay = data.draw(st.lists(st.integers(0, 10**15), min_size=tasks, max_size=tasks))
    found = appraised(make_run(tables), pay)
    for arm in found.arms:
        cells = [(pay[row], verdict) for row, some in enumerate(tables[arm.arm]) for verdict in some]
        low, high = arm.whole.total
        assert low == sum(worth for worth, verdict in cells if verdict is True)
        assert high + sum(worth for worth, verdict in cells if verdict is False) == arm.whole.available * seeds
        assert sum(one.total[0] for one in arm.kinds) == low
        assert sum(one.total[1] for one in arm.kinds) == high
        assert sum(one.available for one in arm.kinds) == arm.whole.available == sum(pay)
    a, b = (arm.whole.mean for arm in found.arms)
    assert found.contrasts[0].delta == (b[0] - a[1], b[1] - a[0])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_bounds_hold_whatever_the_missing_verdicts_turn_out_to_be(data: st.DataObject) -> None:
    table = data.draw(st.lists(st.lists(Verdict, min_size=2, max_size=2), min_size=1, max_size=6))
    filled = [[data.draw(st.booleans()) if one is None else one for one in row] for row in table]
    pay = data.draw(st.lists(st.integers(0, 10**9), min_size=len(table), max_size=len(table)))
    low, high = appraised(make_run({"x": table}), pay).arms[0].whole.mean
    truth, same = appraised(make_run({"x": filled}), pay).arms[0].whole.mean
    assert low <= truth == same <= high


def test_missing_verdicts_are_bounds_and_never_a_point() -> None:
    run = make_run({"a": [[True], [True], [False]], "b": [[True], [None], [False]]})
    found = appraised(run, [10, 20, 30])
    low, high = found.arms[1].whole.mean
    assert (low, high) == (Fraction(10), Fraction(30))
    assert (found.contrasts[0].p_value, found.contrasts[0].gained) == (None, None)
    assert not found.complete
    assert "between" in wording.contrast(found.contrasts[0])
    assert any("bounds" in line for line in wording.notes(found))


def test_tasks_without_a_value_are_in_no_number() -> None:
    run = make_run({"x": [[True], [True]]})
    found = appraise(run, {"t0": Worth(5), "elsewhere": Worth(9)}, costs_of(run), draws=0)
    assert (found.arms[0].whole.available, found.unvalued, found.unused) == (5, ("t1",), 1)
    assert found.arms[0].spent == 1_000_000
    assert not found.complete
    with pytest.raises(InputError, match="no task with a value"):
        appraise(run, {"elsewhere": Worth(9)}, costs_of(run))


def test_quarantined_tasks_are_in_no_number() -> None:
    run = replace(make_run({"x": [[True], [True]]}), quarantined={"t1": ("weak",)})
    found = appraised(run, [5, 7])
    assert (found.arms[0].whole.available, found.quarantined, found.unvalued) == (5, ("t1",), ())


def test_the_difference_is_paired_and_its_direction_is_candidate_less_baseline() -> None:
    base = [[False]] * 20
    cand = [[True]] * 10 + [[False]] * 10
    run = make_run({"other": cand, "baseline": base, "third": base})
    worths = {f"t{row}": Worth(10 + row) for row in range(20)}
    found = appraise(run, worths, costs_of(run), draws=2000)
    first, second = found.contrasts
    assert (first.baseline, first.candidate) == ("baseline", "other")
    assert point(first.delta) == sum(range(10, 20))
    assert first.interval is not None
    assert 0 < first.interval[0] < first.delta[0] < first.interval[1]
    assert first.p_value == pytest.approx(2 * 2 / 2**10, rel=0.01)  # two sided, exact, twice by Holm
    assert point(second.delta) == 0
    assert (second.p_value, second.interval) == (1.0, None)
    named = appraise(run, worths, costs_of(run), "other", draws=0)
    assert [one.candidate for one in named.contrasts] == ["baseline", "third"]
    with pytest.raises(InputError, match="no arm 'nobody'"):
        appraise(run, worths, costs_of(run), "nobody")


def test_intervals_are_the_same_each_time_and_of_clusters() -> None:
    table = [[row % 3 == 0] for row in range(60)]
    worths = {f"t{row}": Worth(1_000_000 * (1 + row % 7)) for row in range(60)}
    alone, grouped = make_run({"x": table}), make_run({"x": table}, repos=10)
    first = appraise(alone, worths, costs_of(alone), draws=1000)
    assert first == appraise(alone, worths, costs_of(alone), draws=1000)
    assert (first.clusters.name, first.clusters.number) == ("task", 60)
    by_repository = appraise(grouped, worths, costs_of(grouped), draws=1000)
    assert (by_repository.clusters.name, by_repository.clusters.number) == ("repository", 10)
    assert by_repository.arms[0].whole.interval != first.arms[0].whole.interval


def test_an_interval_is_not_made_of_what_cannot_tell() -> None:
    """One cluster that pays, no draws, or clusters that all agree: no interval, instead of one without width."""
    ones = [Fraction(1), Fraction(0), Fraction(1)]
    assert intervals([ones], [1, 1, 1], ["a", "a", "a"], draws=100, seed=1) == [None]
    assert intervals([ones], [1, 0, 0], ["a", "b", "c"], draws=100, seed=1) == [None]
    assert intervals([ones], [1, 1, 1], ["a", "b", "c"], draws=0, seed=1) == [None]
    assert intervals([[Fraction(2), Fraction(3)]], [2, 3], ["a", "b"], draws=100, seed=1) == [None]
    (found,) = intervals([ones], [1, 1, 1], ["a", "b", "c"], draws=100, seed=1)
    assert found is not None


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=20))
def test_the_effective_number_of_clusters(pay: list[int]) -> None:
    number = effective_number(pay, range(len(pay)))
    assert 1 - 1e-9 <= number <= len(pay) + 1e-9
    assert effective_number([7] * len(pay), range(len(pay))) == pytest.approx(len(pay))
    assert effective_number([0], ["a"]) == 0
