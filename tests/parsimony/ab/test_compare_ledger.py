"""Comparisons and the ledger of sets: what is written down, and what a result may be called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parsimony import ab
from parsimony.cli.comparing_ledger import Place, Standing, stand
from parsimony.records import Role
from parsimony.report.comparison_page import comparison_page
from parsimony.runs import Run
from parsimony.sets import SetStore
from tests.parsimony.ab.conftest import STATED, make_run

TABLES = {"baseline": [[0, 1], [0, 0], [1, 1]], "candidate": [[1, 1], [0, 1], [1, 1]]}
MODELS = "models:\n  model-1:\n    cutoff: 2025-06\n    source: its card\n"


def dated(run_id: str = "run-1", *, created: str = "2026-03-01T00:00:00Z", statement: str = "") -> Run:
    """A run of three tasks that tell when they were made."""
    run = make_run(TABLES, run_id=run_id, settings=dict.fromkeys(TABLES, STATED))
    tasks = {
        name: replace(task, created_at=created, problem_statement=f"{statement}{name}")
        for name, task in run.tasks.items()
    }
    return replace(run, tasks=tasks)


def compared(run: Run, change: str) -> ab.Comparison:
    source = ab.Source(run)
    pair = ab.align(source.grid("baseline"), source.grid("candidate"))
    return ab.compare([pair], [change])[0]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "models.yaml").write_text(MODELS, encoding="utf-8")
    return Place(tmp_path / "ledger.jsonl", tmp_path / "models.yaml")


def held_out(place: Place, run: Run) -> SetStore:
    store = SetStore.open(place.ledger)
    store.create("live-v1", Role.HOLDOUT_LIVE, list(run.tasks.values()), "live:feed")
    return store


def look(place: Place, run: Run, change: str) -> Standing:
    (standing,) = stand([compared(run, change)], [run], place)
    return standing


def test_without_a_ledger_nothing_is_written_and_the_word_is_refused(place: Place) -> None:
    standing = look(place, dated(), "a")
    assert standing.entry is None
    assert not standing.claim.allowed
    assert "there is no" in standing.note
    assert not place.ledger.exists()


def test_tasks_in_no_set_are_not_written_down(place: Place) -> None:
    held_out(place, dated(statement="others "))
    other = make_run(TABLES, first=5)
    standing = look(place, other, "a")
    assert standing.entry is None
    assert "none of its tasks is in a set" in standing.note
    assert "in no set" in standing.claim.label
    assert len(SetStore.open(place.ledger).chain) == 1


def test_the_first_look_at_a_holdout_is_generalization_and_the_second_change_is_not(place: Place) -> None:
    store = held_out(place, dated())
    first = look(place, dated(), "planner v2")
    assert (first.entry, first.claim.label) == (2, "generalization")
    second = look(place, dated("run-2"), "planner v3")
    assert second.entry == 3
    assert "burned" in second.claim.label
    store.refresh()
    assert [entry.kind for entry in store.chain.entries()] == ["set.created", "comparison", "comparison"]
    assert store.state.active(store.state.named("live-v1")) == []


def test_the_same_result_twice_is_one_look(place: Place) -> None:
    held_out(place, dated())
    assert look(place, dated(), "a").entry == 2
    again = look(place, dated(), "a")
    assert (again.entry, again.claim.allowed) == (2, True)
    assert "already" in again.note
    assert len(SetStore.open(place.ledger).chain) == 2


def test_a_look_that_is_kept_out_of_the_ledger_is_never_generalization(place: Place) -> None:
    held_out(place, dated())
    standing = look(replace(place, record=False), dated(), "a")
    assert standing.entry is None
    assert not standing.claim.allowed
    assert "kept out of the ledger" in standing.claim.label
    assert len(SetStore.open(place.ledger).chain) == 1


def test_a_task_under_another_name_is_written_down_as_the_task_it_is(place: Place) -> None:
    run = dated()
    held_out(place, run)
    renamed = {f"x-{name}": replace(task, instance_id=f"x-{name}") for name, task in run.tasks.items()}
    trials = tuple(replace(trial, task_id=f"x-{trial.task_id}") for trial in run.trials)
    standing = look(place, replace(run, tasks=renamed, trials=trials), "a")
    (entry,) = SetStore.open(place.ledger).chain.entries("comparison")
    assert standing.entry == entry.number
    assert entry.data["tasks"] == ["t0", "t1", "t2"]


def test_an_unknown_cutoff_is_no_generalization(place: Place) -> None:
    held_out(place, dated())
    place.models.write_text("models: {}\n", encoding="utf-8")
    assert "cutoff of model-1 is unknown" in look(place, dated(), "a").claim.label


def test_the_page_says_the_word_only_where_it_is_allowed(place: Place, tmp_path: Path) -> None:
    run = dated()
    one = compared(run, "a")
    assert "Not generalization: no ledger" in comparison_page([one], beside=tmp_path)
    held_out(place, run)
    (standing,) = stand([one], [run], place)
    page = comparison_page([one], beside=tmp_path, standings=[(standing.claim, standing.note)])
    assert "<b>Generalization.</b>" in page
    assert "Not generalization" not in page
