import pytest

from intervals import IntervalSet


def test_runs_that_touch_become_one():
    assert list(IntervalSet([(0, 3), (3, 5)])) == [(0, 5)]


def test_runs_apart_stay_apart():
    assert list(IntervalSet([(6, 8), (0, 3)])) == [(0, 3), (6, 8)]


@pytest.mark.parametrize("number", [-1, 3, 5, 8])
def test_outside(number):
    assert number not in IntervalSet([(0, 3), (6, 8)])


@pytest.mark.parametrize("number", [0, 2, 6, 7])
def test_inside(number):
    assert number in IntervalSet([(0, 3), (6, 8)])


@pytest.mark.parametrize(
    ("start", "stop", "left"),
    [(0, 2, [(2, 9)]), (7, 20, [(0, 7)]), (0, 9, []), (9, 12, [(0, 9)])],
    ids=["front", "back", "all of it", "beside it"],
)
def test_remove(start, stop, left):
    numbers = IntervalSet([(0, 9)])
    numbers.remove(start, stop)
    assert list(numbers) == left


def test_remove_leaves_other_runs_alone():
    numbers = IntervalSet([(0, 3), (6, 9)])
    numbers.remove(6, 7)
    assert list(numbers) == [(0, 3), (7, 9)]


def test_length_counts_members():
    assert len(IntervalSet([(0, 3), (6, 8)])) == 5


def test_union():
    assert IntervalSet([(0, 3)]) | IntervalSet([(2, 6)]) == IntervalSet([(0, 6)])


def test_empty_run_is_refused():
    with pytest.raises(ValueError, match="empty run"):
        IntervalSet([(4, 4)])
