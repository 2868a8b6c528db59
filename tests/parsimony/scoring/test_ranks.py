"""Rank intervals and the envelopes that bounds add to them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.measurements import Record
from parsimony.scoring import freeze, rank_intervals, score, task_clusters
from parsimony.scoring.ranks import cluster_draws, possible_ranks

MakeRecord = Callable[..., dict[str, Any]]
Typed = Callable[..., tuple[Record, ...]]


def test_attempts_of_one_task_are_one_cluster() -> None:
    assert task_clusters(["a#1", "a#2", "b", "a#b", "a#3#1", "a#3"]).tolist() == [0, 0, 1, 2, 3, 0]


def test_attempts_of_one_task_are_drawn_together() -> None:
    """Two tasks with two attempts of 0 and 1 each: every draw of whole tasks has the mean 0.5."""
    values = np.array([[0.0], [1.0], [0.0], [1.0]])
    clusters = task_clusters(["a#1", "a#2", "b#1", "b#2"])
    assert (cluster_draws(values, clusters, 200, 1) == 0.5).all()
    apart = cluster_draws(values, task_clusters(["a", "b", "c", "d"]), 200, 1)
    assert len(np.unique(apart)) == 5


def test_a_larger_cluster_weighs_more() -> None:
    """The mean is over attempts, not over tasks."""
    values = np.array([[0.0], [0.0], [0.0], [1.0]])
    found = np.unique(cluster_draws(values, task_clusters(["a#1", "a#2", "a#3", "b"]), 200, 1))
    assert found.tolist() == [0.0, 0.25, 1.0]


BOUNDS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=4)


@given(BOUNDS)
def test_possible_ranks_are_those_of_all_choices_within_bounds(bounds: list[tuple[int, int]]) -> None:
    spans = [(low, low + width) for low, width in bounds]
    seen: list[set[int]] = [set() for _ in spans]
    for values in itertools.product(*(range(low, high + 1) for low, high in spans)):
        for at, value in enumerate(values):
            ahead = sum(other > value for other in values)
            tied = sum(other == value for other in values)
            seen[at] |= {ahead + 1, ahead + tied}
    lower, upper = (np.array([[span[end] for span in spans]], dtype=float) for end in (0, 1))
    best, worst = possible_ranks(lower, upper)
    assert best[0].tolist() == [min(one) for one in seen]
    assert worst[0].tolist() == [max(one) for one in seen]


def test_complete_scores_have_equal_interval_and_envelope(record: MakeRecord, typed: Typed) -> None:
    records = typed(
        *(record(agent, f"t{task}", at, 10 + at) for at, agent in enumerate("abc", start=1) for task in range(6))
    )
    found = rank_intervals(score(freeze(records, "p"), records), draws=300)
    assert [(row["agent"], row["rank"]) for row in found] == [("a", 1), ("b", 2), ("c", 3)]
    for row in found:
        assert row["rank_interval_95"] == row["midpoint_interval_95"] == row["rank_envelope_95"] == [row["rank"]] * 2


def test_withholding_data_gives_no_rank_and_a_wide_envelope(record: MakeRecord, typed: Typed) -> None:
    full = [record(agent, f"t{task}", net, net) for agent, net in (("a", 1), ("b", 5)) for task in range(4)]
    panel = freeze(typed(*full), "p")
    known = [raw for raw in full if (raw["agent"], raw["task_id"]) not in {("a", "t0"), ("a", "t1"), ("a", "t2")}]
    found = rank_intervals(score(panel, typed(*known)), draws=300)
    assert [(row["agent"], row["rank"], row["rank_interval_95"]) for row in found] == [
        ("b", 1, [1, 1]),
        ("a", None, None),
    ]
    assert [row["rank_envelope_95"] for row in found] == [[1, 2], [1, 2]]
    assert rank_intervals([]) == []


@pytest.mark.parametrize("draws", [1, 2, 40])
def test_few_draws_have_intervals_too(record: MakeRecord, typed: Typed, draws: int) -> None:
    records = typed(record("a", "t", 1, 1), record("b", "t", 2, 2))
    found = rank_intervals(score(freeze(records, "p"), records), draws=draws)
    assert [row["rank_interval_95"] for row in found] == [[1, 1], [2, 2]]
