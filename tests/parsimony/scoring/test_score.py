"""Scores of agents: every task counts alike, and what is not known keeps an agent from a rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parsimony.errors import InputError
from parsimony.measurements import Base, Population, Record
from parsimony.scoring import Panel, State, freeze, score

MakeRecord = Callable[..., dict[str, Any]]
Typed = Callable[..., tuple[Record, ...]]


@pytest.fixture
def panel(record: MakeRecord, typed: Typed) -> Panel:
    """Two tasks, each with the references of the specification's examples."""
    return freeze(
        typed(
            *(
                record(agent, task, net, churn)
                for task in ("t1", "t2")
                for agent, net, churn in (("r1", 5, 9), ("r2", 10, 10), ("r3", 10, 30))
            )
        ),
        "p",
    )


def test_the_example_of_two_tasks(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    """34 and -12.5 are 10.75 together."""
    (row,) = score(panel, typed(record("a", "t1", 10, 20), record("a", "t2", 10, 10, resolved=False)))
    assert row.score == pytest.approx(10.75, abs=1e-12)
    assert row.success_credit == pytest.approx(17, abs=1e-12)
    assert row.failure_penalty == pytest.approx(6.25, abs=1e-12)
    assert row.lower == row.upper == pytest.approx(10.75, abs=1e-12)
    assert (row.scored_tasks, row.published_resolve_rate) == (2, 0.5)


def test_a_negative_score_stays_negative(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    huge = {"resolved": False, "net": 10**9, "churn": 10**9}
    (row,) = score(panel, typed(record("a", "t1", **huge), record("a", "t2", **huge)))
    assert row.score == pytest.approx(-25, abs=1e-6)
    assert row.score is not None
    assert row.score > -25


def test_an_unknown_task_stays_in_the_denominator(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    (row,) = score(panel, typed(record("a", "t1", 10, 20)))
    assert (row.score, row.success_credit, row.failure_penalty, row.scored_tasks) == (None, None, None, 1)
    assert [row.lower, row.upper] == pytest.approx([(34 - 25) / 2, (34 + 100) / 2])
    assert row.to_json()["task_count"] == 2


def test_incomplete_agents_come_last_whatever_they_could_reach(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    rows = score(
        panel,
        typed(
            record("best", "t1", 0, 0),
            record("worst", "t1", 99, 99, resolved=False),
            record("worst", "t2", 99, 99, resolved=False),
            record("twin", "t1", 99, 99, resolved=False),
            record("twin", "t2", 99, 99, resolved=False),
            record("good", "t1", 5, 9),
            record("good", "t2", 5, 9),
        ),
    )
    assert [row.agent for row in rows] == ["good", "twin", "worst", "best"]


def test_a_reference_is_scored_against_the_panel_with_itself(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    (row,) = score(panel, typed(record("r1", "t1", 5, 9), record("r1", "t2", 5, 9)))
    assert row.score == pytest.approx(83.5, abs=1e-12)


def test_tasks_beside_the_panel_do_not_count(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    both = [record("a", "t1", 5, 9), record("a", "t2", 5, 9)]
    (row,) = score(panel, typed(*both))
    assert score(panel, typed(*both, record("a", "t3", 0, 0))) == [row]


def test_nothing_to_score(panel: Panel) -> None:
    assert score(panel, ()) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"analyzer_version": "0.1"}, "has 0.1, the panel 9.9"),
        ({"python_version": "3.11.0"}, "has 3.11.0, the panel 3.12.1"),
        ({"measurement_track": {"language": "go"}}, "another track than the panel"),
        ({"provenance": {"repo": "o/r", "base_commit": "other"}}, "another base than the panel"),
        ({"provenance": {}}, "another base than the panel"),
    ],
)
def test_records_that_were_made_otherwise(
    panel: Panel, record: MakeRecord, typed: Typed, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        score(panel, typed(record("a", "t1", 5, 9, **changes)))


def test_records_that_disagree_about_the_rate(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    with pytest.raises(InputError, match=r"states the rate 0\.6, before it was 0\.5"):
        score(panel, typed(record("a", "t1"), record("a", "t2", resolve_rate=0.6)))


def test_a_record_twice(panel: Panel, record: MakeRecord, typed: Typed) -> None:
    with pytest.raises(InputError, match="a on t1 is there twice, first at row 1"):
        score(panel, typed(record("a", "t1"), record("a", "t1")))


def test_a_frozen_population_keeps_tasks_that_nobody_solved(record: MakeRecord, typed: Typed) -> None:
    tasks = {task: Base("o/r", f"{task:0<8}") for task in ("t1", "t2")}
    frozen = Population("pop", "d" * 64, "c" * 40, "3.12.1", None, tasks)
    panel = freeze(typed(record("r", "t1", 5, 9)), "p", frozen)
    (row,) = score(panel, typed(record("a", "t1", 5, 9), record("a", "t2", 3, 3, resolved=False)))
    assert {task: one.state for task, one in row.tasks.items()} == {"t1": State.RESOLVED, "t2": State.UNCALIBRATED}
    assert (row.score, row.lower, row.upper) == (None, (50.5 - 25) / 2, 50.5 / 2)
    with pytest.raises(InputError, match="outside the panel's population"):
        score(panel, typed(record("a", "t9", 1, 1)))
