from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony import strict_json
from parsimony.errors import InputError

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(values)
def test_what_json_writes_is_read(value: Any) -> None:
    assert strict_json.loads(json.dumps(value)) == value
    assert strict_json.loads(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "has the key 'a' twice"),
        ('[{"x": {"a": 1, "a": 1}}]', "has the key 'a' twice"),
        ("[NaN]", "holds NaN"),
        ("[-Infinity]", "holds -Infinity"),
        ("[1e999]", "larger than any number"),
        ("1" * 5000, "thousands of digits"),
        ("[" * 100_000, "nested too deeply"),
        ("", "is not JSON: Expecting value at column 1"),
        ('{"a": }', "is not JSON: Expecting value at column 7"),
        ("[1] 2", "is not JSON: Extra data at column 5"),
        (b'"\xe9"', "is not UTF-8: byte 0xe9 at offset 1"),
    ],
)
def test_traps_are_errors(text: str | bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        strict_json.loads(text)


def test_a_syntax_error_has_its_line() -> None:
    with pytest.raises(InputError) as caught:
        strict_json.loads('{\n"a": 1,\n"b" 2}')
    assert caught.value.place.row == 3


def test_surrogate_pairs_are_one_character_and_lone_ones_stay() -> None:
    assert strict_json.loads(r'"\ud83d\ude00"') == "\N{GRINNING FACE}"
    assert strict_json.loads(r'"\udce9"') == "\udce9"


def test_a_byte_order_mark_is_left_out() -> None:
    assert strict_json.loads(b"\xef\xbb\xbf[1]") == [1]


@given(st.lists(values))
def test_members_of_an_array(items: list[Any]) -> None:
    assert list(strict_json.members(json.dumps(items, indent=1))) == [(None, item) for item in items]


@given(st.dictionaries(st.text(), values))
def test_members_of_an_object(items: dict[str, Any]) -> None:
    assert list(strict_json.members(" " + json.dumps(items) + "\n")) == list(items.items())


def test_one_bad_member_does_not_hide_the_next() -> None:
    text = '[{"a": 1, "a": 2}, {"b": NaN}, ' + "1" * 5000 + ", 7]"
    found = [value for _, value in strict_json.members(text)]
    assert [type(value) for value in found] == [InputError, InputError, InputError, int]


def test_a_key_of_the_whole_twice_is_an_error_the_second_time() -> None:
    first, second, third = strict_json.members('{"a": 1, "a": 2, "b": 3}')
    assert first == ("a", 1)
    assert second[0] == "a"
    assert isinstance(second[1], InputError)
    assert third == ("b", 3)


@pytest.mark.parametrize(
    "text", ["[1,]", "[1 2]", "[1", "[", '{"a" 1}', "{1: 2}", '{"a": 1,}', "[1] x", "7", "", "[[]"]
)
def test_broken_text_has_no_members_beyond_the_break(text: str) -> None:
    with pytest.raises(InputError, match="is not JSON") as caught:
        list(strict_json.members(text))
    assert caught.value.place.row == 1


@given(st.text(alphabet='[]{}",:\\ \n1eNaufls-', max_size=40))
def test_members_and_loads_agree_on_what_is_json(text: str) -> None:
    try:
        whole = strict_json.loads(text)
    except InputError:
        whole = None
    if isinstance(whole, list):
        assert [value for _, value in strict_json.members(text)] == whole
    elif isinstance(whole, dict):
        assert dict(strict_json.members(text)) == whole
    else:
        try:
            list(strict_json.members(text))
        except InputError:
            return
        assert whole is None  # only a rule of ours, which is an error of one member, can be between the two
