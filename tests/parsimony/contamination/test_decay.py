"""The decay curve, and the exact test and intervals under it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from parsimony.contamination import Cutoff, Moment, decay, twosample
from parsimony.contamination.twosample import difference_interval, mean_interval, permutation_test
from parsimony.errors import InputError
from parsimony.runs import Run, Settings, Trial
from parsimony.scorer import Outcome
from parsimony.statistics import wilson
from parsimony.tasks import Task

CUTOFF = Cutoff("m", Moment.parse("2024-04"), "card")
RATES = st.lists(st.fractions(0, 1, max_denominator=5), min_size=1, max_size=5)


def rates(*values: int) -> list[Fraction]:
    return [Fraction(value) for value in values]


def by_hand(a: Sequence[Fraction], b: Sequence[Fraction]) -> float:
    """All splits, one by one."""
    everything, n = [*a, *b], len(a) + len(b)
    splits = list(itertools.combinations(range(n), len(a)))

    def distance(chosen: Sequence[int]) -> Fraction:
        first = [everything[i] for i in chosen]
        second = [everything[i] for i in range(n) if i not in set(chosen)]
        return abs(sum(first, Fraction()) / len(first) - sum(second, Fraction()) / len(second))

    observed = distance(range(len(a)))
    return sum(distance(split) >= observed for split in splits) / len(splits)


@given(RATES, RATES)
def test_the_test_counts_all_splits(a: list[Fraction], b: list[Fraction]) -> None:
    found = permutation_test(a, b)
    assert found is not None
    assert found.exact
    assert found.p_value == pytest.approx(by_hand(a, b), abs=1e-12)


@given(st.integers(0, 30), st.integers(0, 30))
@settings(max_examples=40)
def test_with_equal_groups_it_is_fishers_exact_test(x: int, y: int) -> None:
    a, b = rates(*[1] * x, *[0] * (30 - x)), rates(*[1] * y, *[0] * (30 - y))
    found = permutation_test(a, b)
    assert found is not None
    assert found.p_value == pytest.approx(stats.fisher_exact([[x, 30 - x], [y, 30 - y]]).pvalue, rel=1e-9)


def test_large_groups_are_exact_too() -> None:
    a = [Fraction(k % 11, 10) for k in range(300)]
    b = [Fraction(k % 7, 10) for k in range(200)]
    found = permutation_test(a, b)
    assert found is not None
    assert found.exact
    assert found.p_value < 1e-6


def test_beyond_its_size_the_test_draws_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = rates(*[1] * 9, *[0] * 6), rates(*[1] * 4, *[0] * 10)
    exact = permutation_test(a, b)
    monkeypatch.setattr(twosample, "MOST_STEPS", 0)
    monkeypatch.setattr(twosample, "DRAWS", 20_000)
    drawn = permutation_test(a, b)
    assert exact is not None
    assert drawn is not None
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.015)


def test_an_empty_group_has_no_test() -> None:
    assert permutation_test([], rates(1)) is None
    assert permutation_test(rates(1), []) is None
    assert mean_interval(0.5, 0) is None
    assert difference_interval(0.5, 0, 0.5, 3) is None


@given(st.integers(0, 50), st.integers(1, 50))
def test_the_interval_of_one_side_is_wilsons(successes: int, n: int) -> None:
    successes = min(successes, n)
    assert mean_interval(successes / n, n) == pytest.approx(wilson(successes, n), abs=1e-12)


def test_the_interval_of_the_difference_is_newcombes() -> None:
    # Newcombe 1998, table II, method 10: 56/70 - 48/80 = 0.2, interval 0.0524 to 0.3339.
    assert difference_interval(48 / 80, 80, 56 / 70, 70) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert difference_interval(3 / 10, 10, 9 / 10, 10) == pytest.approx((0.1705, 0.8090), abs=5e-5)


def run(trials: list[tuple[str, str, int, Outcome]], dates: dict[str, str | None]) -> Run:
    tasks = {
        name: Task(name, "r", None, ("t",), (), "pytest", created_at=created, problem_statement=name)
        for name, created in dates.items()
    }
    rows = tuple(Trial(task, arm, seed, 0, outcome) for task, arm, seed, outcome in trials)
    return Run("run", "name", "here", tasks, {"a": Settings(model="m")}, rows)


YES, NO, MISSING = Outcome.RESOLVED, Outcome.NOT_RESOLVED, Outcome.MISSING


def test_the_curve_has_months_and_two_sides() -> None:
    dates = {
        "o1": "2024-01-05",
        "o2": "2024-04-20T00:00:00Z",
        "n1": "2024-05-20T00:00:00Z",
        "n2": "2024-06-01",
        "u": None,
    }
    found = decay(
        run(
            [("o1", "a", 0, YES), ("o1", "a", 1, YES), ("o2", "a", 0, YES), ("o2", "a", 1, NO), ("n1", "a", 0, NO),
             ("n1", "a", 1, MISSING), ("n2", "a", 0, MISSING), ("u", "a", 0, YES), ("o1", "b", 0, NO)],
            dates,
        ),
        CUTOFF,
    )  # fmt: skip
    assert found.undated == ("u",)
    a, b = found.arms
    assert [month.month for month in a.months] == ["2024-01", "2024-04", "2024-05", "2024-06"]
    assert [month.after for month in a.months] == [0, 0, 1, 1]
    assert (a.before.tasks, a.before.trials, a.before.resolved, a.before.rate) == (2, 4, 3, 0.75)
    assert (a.after.tasks, a.after.missing, a.after.rate) == (1, 2, 0.0)
    assert a.months[3].side.rate is None
    assert a.difference is not None
    assert a.difference.value == -0.75
    assert a.difference.p_value == pytest.approx(2 / 3)
    assert a.difference.interval[0] < -0.75 < a.difference.interval[1]
    assert b.difference is None


def test_an_arm_that_is_not_there_is_named() -> None:
    one = run([("o", "a", 0, YES)], {"o": "2024-01"})
    assert [arm.arm for arm in decay(one, CUTOFF, ["a"]).arms] == ["a"]
    with pytest.raises(InputError, match="no arm 'z'"):
        decay(one, CUTOFF, ["z"])
