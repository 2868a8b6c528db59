"""Recall and rank: worked examples, and what must hold for every ranking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.scorecard.retrieval import first_rank, hits, recall

ITEMS = st.integers(0, 12)
RANKINGS = st.lists(ITEMS, max_size=20)
TARGETS = st.frozensets(ITEMS, min_size=1)


def same(one: object, other: object) -> bool:
    return one == other


@pytest.mark.parametrize(
    ("ranking", "targets", "at_1", "at_3", "whole", "rank"),
    [
        (["a", "b", "c"], ["a"], 1.0, 1.0, 1.0, 1),
        (["x", "a", "y", "b"], ["a", "b"], 0.0, 0.5, 1.0, 2),
        (["x", "x", "x", "a"], ["a"], 0.0, 1.0, 1.0, 2),  # a repeat takes no place
        (["x"], ["a"], 0.0, 0.0, 0.0, 0),
        ([], ["a"], 0.0, 0.0, 0.0, 0),
    ],
)
def test_examples(ranking: list[str], targets: list[str], at_1: float, at_3: float, whole: float, rank: int) -> None:
    found = hits(ranking, targets, same)
    assert (recall(found, targets, 1), recall(found, targets, 3), recall(found, targets)) == (at_1, at_3, whole)
    assert first_rank(found) == rank


def test_without_targets_there_is_no_recall() -> None:
    found = hits(["a"], list[str](), same)
    assert recall(found, []) is None
    assert first_rank(found) == 0


def test_a_name_that_two_targets_share_finds_both_and_takes_one_place() -> None:
    targets = ["a.py:run", "b.py:run", "c.py:stop"]
    found = hits(["run", "stop"], targets, lambda name, target: target.endswith(":" + name))
    assert recall(found, targets, 1) == 2 / 3
    assert recall(found, targets, 2) == 1


@given(RANKINGS, TARGETS)
def test_recall_is_a_share_that_only_grows_with_k(ranking: list[int], targets: frozenset[int]) -> None:
    found = hits(ranking, targets, same)
    curve = [recall(found, targets, k) for k in range(len(ranking) + 2)]
    assert all(value is not None and 0 <= value <= 1 for value in curve)
    assert curve[0] == 0
    assert curve == sorted(curve, key=lambda value: value or 0.0)
    assert curve[-1] == recall(found, targets) == len(targets & set(ranking)) / len(targets)


@given(RANKINGS, TARGETS)
def test_the_rank_is_the_first_k_with_a_recall(ranking: list[int], targets: frozenset[int]) -> None:
    found = hits(ranking, targets, same)
    rank = first_rank(found)
    if rank:
        assert (recall(found, targets, rank - 1), bool(recall(found, targets, rank))) == (0, True)
    else:
        assert recall(found, targets) == 0


@given(RANKINGS, TARGETS, RANKINGS)
def test_what_comes_after_does_not_change_what_was_found_before(
    ranking: list[int], targets: frozenset[int], more: list[int]
) -> None:
    before, after = hits(ranking, targets, same), hits([*ranking, *more], targets, same)
    assert after[: len(before)] == before
    assert recall(after, targets, len(before)) == recall(before, targets)
    if first_rank(before):
        assert first_rank(after) == first_rank(before)


@given(RANKINGS, TARGETS, st.integers(0, 5))
def test_repeats_change_nothing(ranking: list[int], targets: frozenset[int], times: int) -> None:
    assert hits(ranking + ranking[:times], targets, same) == hits(ranking, targets, same)
