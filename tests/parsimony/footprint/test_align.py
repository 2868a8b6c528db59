"""Alignment is exact."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.footprint import align as module
from parsimony.footprint.align import Edits, align

SEQUENCES = st.lists(st.integers(0, 5), max_size=30)


def plain_lcs(before: list[int], after: list[int]) -> int:
    """The textbook table."""
    row = [0] * (len(after) + 1)
    for old in before:
        previous = row
        row = [0]
        for index, new in enumerate(after):
            row.append(previous[index] + 1 if old == new else max(previous[index + 1], row[index]))
    return row[-1]


@given(SEQUENCES, SEQUENCES)
def test_equal_to_the_textbook(before: list[int], after: list[int]) -> None:
    common = plain_lcs(before, after)
    assert align(before, after) == Edits(len(after) - common, len(before) - common)


@given(SEQUENCES, SEQUENCES)
def test_equal_to_the_textbook_with_all_preparation(before: list[int], after: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", 0)
        common = plain_lcs(before, after)
        assert align(before, after) == Edits(len(after) - common, len(before) - common)


@given(SEQUENCES, SEQUENCES)
def test_what_must_hold_of_any_alignment(before: list[int], after: list[int]) -> None:
    edits = align(before, after)
    assert edits.net == len(after) - len(before)
    assert edits.total == align(after, before).total
    assert align(before, before) == Edits(0, 0)
    assert edits.total <= len(before) + len(after)


@pytest.mark.parametrize("alphabet", [3, 300, 5000])
def test_long_sequences_with_many_labels(alphabet: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SMALL", 1_000_000)
    numbers = random.Random(alphabet)
    before = [numbers.randrange(alphabet) for _ in range(1100)]
    after = [numbers.randrange(alphabet) for _ in range(1000)]
    common = plain_lcs(before, after)
    assert align(before, after) == Edits(1000 - common, 1100 - common)


def test_too_long_to_align_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 100)
    before, after = [1, 2] * 10, [2, 2, 1] * 10
    with pytest.raises(InputError, match="too long to align"):
        align(before, after)
    assert align([], after) == Edits(30, 0)
