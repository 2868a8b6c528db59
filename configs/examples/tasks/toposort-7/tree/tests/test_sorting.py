import pytest

from toposort import CycleError, order


def test_needs_come_first():
    assert order({"app": ["db", "log"], "db": ["log"]}) == ["log", "db", "app"]


def test_mention_decides_where_there_is_a_choice():
    assert order({"c": [], "a": [], "b": []}) == ["c", "a", "b"]


def test_diamond():
    found = order({"top": ["left", "right"], "left": ["base"], "right": ["base"]})
    assert found == ["base", "left", "right", "top"]


def test_nothing():
    assert order({}) == []


@pytest.mark.parametrize(
    "needs",
    [{"a": ["a"]}, {"a": ["b"], "b": ["a"]}, {"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}],
    ids=["a -> a", "a -> b -> a", "x -> [a -> b -> c -> a]"],
)
def test_cycle(needs):
    with pytest.raises(CycleError):
        order(needs)
