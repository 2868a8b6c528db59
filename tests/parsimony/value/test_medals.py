"""Medals at each boundary of the table, in both directions, and the any-medal rate."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.value import Attempt, Leaderboard, Medal, positions, read_attempts, read_leaderboard, tally
from tests.parsimony.value.conftest import point


@pytest.mark.parametrize(
    ("teams", "expected"),
    [
        (1, (1, 1, 1)),
        (2, (1, 1, 1)),
        (5, (1, 1, 2)),
        (9, (1, 1, 3)),
        (10, (1, 2, 4)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (499, (10, 50, 100)),
        (500, (11, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (1500, (13, 75, 150)),
        (1999, (13, 99, 199)),
        (2000, (14, 100, 200)),
        (10_000, (30, 500, 1000)),
    ],
)
def test_positions_at_each_boundary(teams: int, expected: tuple[int, int, int]) -> None:
    assert positions(teams) == expected


def test_whole_numbers_agree_with_the_published_rule_in_floats() -> None:
    """The rule is written with int(0.1 * n) and the like; ours has no floats and is the same for every size."""
    for n in range(1, 20_001):
        if n < 100:
            wanted = (max(1, int(n * 0.1)), max(1, int(n * 0.2)), max(1, int(n * 0.4)))
        elif n < 250:
            wanted = (10, int(n * 0.2), int(n * 0.4))
        elif n < 1000:
            wanted = (10 + int(n * 0.002), 50, 100)
        else:
            wanted = (10 + int(n * 0.002), int(n * 0.05), int(n * 0.1))
        assert positions(n) == wanted, n


@given(st.integers(1, 3000))
def test_positions_are_in_order_and_on_the_board(teams: int) -> None:
    gold, silver, bronze = positions(teams)
    assert 1 <= gold <= silver <= bronze <= teams


def board(teams: int, *, lower: bool) -> Leaderboard:
    """Scores 1, 2, ... or the reverse: the score of position p is p, or teams + 1 - p."""
    scores = [float(number) for number in range(1, teams + 1)]
    return Leaderboard("c", tuple(scores if lower else reversed(scores)))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("teams", [10, 99, 100, 249, 250, 999, 1000, 2345])
def test_a_score_at_a_position_has_its_medal_and_one_just_worse_has_the_next(teams: int, lower: bool) -> None:
    it = board(teams, lower=lower)
    assert it.lower_is_better is lower
    worse = 1e-5 if lower else -1e-5
    after = {Medal.GOLD: Medal.SILVER, Medal.SILVER: Medal.BRONZE, Medal.BRONZE: Medal.NONE}
    for position, medal in zip(positions(teams), after, strict=False):
        score = it.scores[position - 1]
        assert it.medal(score) is medal
        assert it.medal(score + worse) is after[medal]
        assert it.medal(score - worse) is medal
        assert it.medal(score + worse / 10) is medal  # rounded to five places it is a tie, and ties count


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.booleans(), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)
)
def test_a_better_score_never_has_a_lesser_medal(scores: list[float], lower: bool, one: float, other: float) -> None:
    it = Leaderboard("c", tuple(sorted(scores, reverse=not lower)))
    order = [Medal.GOLD, Medal.SILVER, Medal.BRONZE, Medal.NONE]
    better, worse = sorted((one, other), reverse=not it.lower_is_better)
    assert order.index(it.medal(better)) <= order.index(it.medal(worse))
    assert it.above_median(better) >= it.above_median(worse)


def test_the_median_itself_is_not_above_it() -> None:
    it = board(11, lower=False)
    assert not it.above_median(6.0)
    assert it.above_median(6.1)
    assert not it.above_median(None)


def test_an_invalid_submission_has_no_medal_whatever_the_board() -> None:
    assert board(10, lower=True).medal(None) is Medal.NONE
    assert Leaderboard("c", (1.0,)).medal(None) is Medal.NONE


def attempt(competition: str, seed: int, score: float | None, arm: str = "x") -> Attempt:
    return Attempt(competition, arm, seed, score, 1)


BOARDS = {name: board(100, lower=False) for name in "abcd"}


def test_the_any_medal_rate_is_a_mean_over_seeds_with_its_standard_error() -> None:
    """Seed 1 has medals in 2 of 4, seed 2 in 1, seed 3 in 3: mean a half, deviation a quarter."""
    won = {1: "ab", 2: "a", 3: "abc"}
    some = [attempt(name, seed, 100.0 if name in names else 1.0) for seed, names in won.items() for name in "abcd"]
    (table,) = tally(some, BOARDS, list("abcd"))
    assert [float(one.any_medal[0]) for one in table.seeds] == [0.5, 0.25, 0.75]
    assert point(table.mean) == 0.5
    assert table.standard_error == pytest.approx(0.25 / math.sqrt(3))
    assert table.rate_of(Medal.GOLD) == 0.5


def test_what_was_not_submitted_is_missing_and_what_was_refused_is_not() -> None:
    some = [attempt("a", 1, 100.0), attempt("b", 1, None), attempt("a", 2, 100.0), attempt("b", 2, 1.0),
            attempt("c", 2, 1.0)]  # fmt: skip
    (table,) = tally(some, BOARDS, list("abc"))
    assert (table.seeds[0].invalid, table.seeds[0].missing, table.seeds[1].missing) == (1, 1, 0)
    assert [float(end) for end in table.seeds[0].any_medal] == pytest.approx([1 / 3, 2 / 3])
    assert table.standard_error is None


def test_arms_have_their_own_seeds() -> None:
    tables = tally([attempt("a", 1, 100.0), attempt("a", 7, 1.0, "y")], BOARDS, ["a"])
    assert [(one.arm, [seed.seed for seed in one.seeds], one.missing) for one in tables] == [
        ("x", [1], 0), ("y", [7], 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "score"),
        ("score\n", "no team"),
        ("points\n1\n", "no column of the header"),
        ("score\n1\nnan\n", "finite"),
        ("score\n1\n\ninf\n", "finite"),
        ("team,score\na,1\nb\n", "missing"),
        ("score\n3\n1\n2\n", "not in order: team 3"),
        ("score\n1\n3\n2\n4\n", "not in order: team 3"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "pointer of Git LFS"),
        ('score\n"1\n', "no CSV"),
    ],
)
def test_a_leaderboard_that_cannot_be_trusted_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "c.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_leaderboard(path, "c")


def test_other_columns_of_a_leaderboard_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("﻿teamName,score,entries\nx,0.9,1\ny,0.9,7\nz,0.5,2\n", encoding="utf-8")
    assert read_leaderboard(path, "c") == Leaderboard("c", (0.9, 0.9, 0.5))


def test_submissions_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    rows: list[dict[str, object]] = [
        {"competition_id": "a", "seed": 1, "score": 0.5},
        {"competition_id": "a", "seed": 2, "score": 0.5, "valid": False},
        {"competition_id": "a", "seed": 3, "score": None, "valid": False, "arm": "y"},
        {"competition_id": "a", "seed": 1, "score": 0.7},
        {"competition_id": "a", "seed": 4, "score": None},
        {"competition_id": "a", "seed": 5, "score": None, "valid": True},
        {"competition_id": "a", "seed": 1.5, "score": 1},
        {"competition_id": "a", "seed": 6, "score": "high"},
        {"competition_id": "a", "seed": 7, "score": 1, "valid": "maybe"},
        {"competition_id": "a", "seed": 8, "score": 1, "medal": "gold"},
        {"competition_id": "a", "seed": [], "score": 1},
        {"competition_id": "a", "seed": 8, "score": 1, "arm": {}},
        {"competition_id": "a\ud800", "seed": 8, "score": 1},
    ]
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in rows) + '{"competition_id": "a", "seed": 9, "score": NaN}\n'
    )
    taken, rejected = read_attempts(path)
    assert [(one.arm, one.seed, one.score) for one in taken] == [("all", 1, 0.5), ("all", 2, None), ("y", 3, None)]
    assert [error.place.row for error in rejected] == list(range(4, 15))
