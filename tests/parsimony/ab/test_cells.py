"""One verdict from repeats, and what a cell tells."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.ab import Cell, majority, make_grid
from parsimony.ab.cells import cell_cost
from parsimony.runs import Settings, Spend, Trial
from parsimony.scorer import Outcome


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([True], True),
        ([False], False),
        ([None], None),
        ([True, True, False], True),
        ([True, False], False),  # a tie is not resolved
        ([True, True, None], True),  # the missing one cannot turn it
        ([True, None], None),
        ([False, False, None], False),
        ([False, None], False),  # at best a tie
        ([], None),
    ],
)
def test_majority(verdicts: list[bool | None], expected: bool | None) -> None:
    assert majority(verdicts) is expected


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6))
def test_majority_is_what_every_completion_agrees_on(verdicts: Sequence[bool | None]) -> None:
    """None exactly where two ways to fill in what is missing disagree."""
    ways = itertools.product(*[[v] if v is not None else [True, False] for v in verdicts])
    answers = {2 * sum(way) > len(way) for way in ways}
    assert majority(verdicts) is (answers.pop() if len(answers) == 1 else None)


def trial(repeat: int, outcome: Outcome, **more: object) -> Trial:
    return Trial("t", "a", 1, repeat, outcome, **more)  # type: ignore[arg-type]


def test_a_flaky_cell_shows_the_log_of_its_verdict() -> None:
    trials = (
        trial(0, Outcome.NOT_RESOLVED, log="first"),
        trial(1, Outcome.RESOLVED, log="second"),
        trial(2, Outcome.RESOLVED, log="third"),
    )
    cell = Cell("t", 1, trials, majority([t.resolved for t in trials]))
    assert cell.flaky
    assert cell.log == "second"
    assert cell.outcomes == {Outcome.NOT_RESOLVED: 1, Outcome.RESOLVED: 2}


def test_missing_repeats_do_not_make_a_cell_flaky() -> None:
    trials = (trial(0, Outcome.RESOLVED), trial(1, Outcome.MISSING))
    assert not Cell("t", 1, trials, None).flaky


def test_repeats_are_not_the_candidates_cost() -> None:
    """A candidate that was graded five times costs what one grading costs."""
    llm = Spend(input_tokens=10, output_tokens=5, calls=2, cpu_seconds=1.0, wall_seconds=2.0, micro_dollars=3)
    compute = [Spend(cpu_seconds=c, wall_seconds=2 * c) for c in (1.0, 3.0)]
    trials = tuple(trial(n, Outcome.RESOLVED, llm=llm, compute=one) for n, one in enumerate(compute))
    cost = cell_cost(Cell("t", 1, trials, True))
    assert (cost.tokens, cost.calls, cost.cpu, cost.wall) == (15, 2, 3.0, 6.0)
    assert cost.dollars == pytest.approx(3e-6)


def test_dollars_are_unknown_where_nobody_told() -> None:
    cell = Cell("t", 1, (trial(0, Outcome.RESOLVED, llm=Spend(input_tokens=4)),), True)
    assert cell_cost(cell).dollars is None
    assert cell_cost(Cell("t", 1, (trial(0, Outcome.RESOLVED),), True)).tokens is None


def test_a_grid_has_holes_where_candidates_are_not_there() -> None:
    trials = [Trial("x", "a", 1, 0, Outcome.RESOLVED), Trial("y", "a", 2, 0, Outcome.NOT_RESOLVED)]
    grid = make_grid("a", Settings(), trials, {})
    assert grid.tasks == ("x", "y")
    assert grid.seeds == (1, 2)
    assert grid.missing == 2
    assert [cell.task_id for cell in grid] == ["x", "y"]
