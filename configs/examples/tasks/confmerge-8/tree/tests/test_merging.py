import pytest

from confmerge import DELETE, merge


@pytest.mark.parametrize(
    ("layers", "merged"),
    [
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ([{"a": 1}, {"a": 2}], {"a": 2}),
        ([{"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}], {"a": {"x": 1, "y": 3}}),
        ([{"a": {"x": 1}}, {"a": 5}], {"a": 5}),
        ([{"a": [1]}, {"a": [2]}], {"a": [2]}),
        ([{"a": [1]}, {"a": ["...", 2]}], {"a": [1, 2]}),
        ([{"a": 1, "b": 2}, {"a": DELETE}], {"b": 2}),
        ([], {}),
    ],
    ids=["side by side", "the last wins", "tables merge", "a value over a table", "lists replace", "[..., more]", "DELETE", "∅"],
)
def test_merge(layers, merged):
    assert merge(*layers) == merged


def test_three_layers():
    assert merge({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": DELETE}}) == {"a": {"y": 2}}
