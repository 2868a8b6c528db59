"""The eight invariants: each is seen to hold, to be broken, or to have nothing to be checked on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parsimony import invariants
from parsimony.errors import LedgerCorrupt
from parsimony.invariants import Ground, Invariant, check
from parsimony.records import Role
from parsimony.runs import Run, Settings, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

TASK = Task("t-1", "o/r", None, ("a", "b"), ("c",), "pytest", test_cmd="pytest")


def trial(arm: str, outcome: Outcome, f2p: int, p2p: int = 1) -> Trial:
    return Trial("t-1", arm, 1, 0, outcome, "sha256:1", "key", fail_to_pass=(f2p, 2), pass_to_pass=(p2p, 1))


SOUND = Run(
    "r",
    "n",
    "s",
    {"t-1": TASK},
    {"x": Settings(model="m", harness_version="1"), "y": Settings(model="m", harness_version="2")},
    (trial("x", Outcome.NOT_RESOLVED, 1), trial("y", Outcome.RESOLVED, 2)),
)
RESCORED = {("t-1", "x", 1, 0): Outcome.NOT_RESOLVED, ("t-1", "y", 1, 0): Outcome.RESOLVED}


def of(ground: Ground, number: int) -> Invariant:
    return next(one for one in check(ground) if one.number == number)


def test_a_sound_run_keeps_all_of_them() -> None:
    found = check(Ground(SOUND, RESCORED, sets=lambda: "whole", audited=""))
    assert [one.number for one in found] == list(range(1, 9))
    assert {one.holds for one in found} == {True}


def test_what_is_not_there_is_neither_kept_nor_broken() -> None:
    found = {one.number: one.holds for one in check(Ground(replace(SOUND, settings={}, trials=())))}
    assert found == {1: True, 2: None, 3: None, 4: None, 5: None, 6: None, 7: None, 8: True}


def test_a_learned_component_on_the_way_breaks_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        invariants, "offences", lambda denied: ["parsimony.scorer -> torch"] if "torch" in denied else []
    )
    assert of(Ground(SOUND), 1).saw == "parsimony.scorer -> torch"
    assert of(Ground(SOUND), 1).holds is False


def test_a_verdict_that_does_not_follow_from_its_execution_breaks_the_second() -> None:
    told = of(Ground(SOUND, {**RESCORED, ("t-1", "y", 1, 0): Outcome.TAMPERED}), 2)
    assert (told.holds, told.saw) == (False, "t-1, arm y, seed 1 is resolved, its execution says tampered")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (trial("x", Outcome.RESOLVED, 1), "is resolved with (1, 2)"),
        (trial("x", Outcome.RESOLVED, 2, 0), "is resolved with (2, 2) and (0, 1)"),
        (replace(trial("x", Outcome.RESOLVED, 2), pass_to_pass=None), "without both gates"),
        (replace(trial("x", Outcome.RESOLVED, 2), fail_to_pass=(3, 3)), "other gates than the task's"),
    ],
)
def test_half_a_gate_breaks_the_third(wrong: Trial, words: str) -> None:
    told = of(Ground(replace(SOUND, trials=(*SOUND.trials, wrong))), 3)
    assert told.holds is False
    assert words in told.saw


def test_an_unexplained_stage_breaks_the_fourth() -> None:
    told = of(Ground(SOUND, unexplained=("t-1, arm x, seed 1", "t-2")), 4)
    assert (told.holds, told.saw) == (False, "t-1, arm x, seed 1 (and 1 more)")


def test_an_edited_ledger_of_sets_breaks_the_fifth(tmp_path: Path) -> None:
    from parsimony.sets import SetStore

    path = tmp_path / "ledger.jsonl"
    SetStore.open(path).create("dev", Role.DEVELOPMENT, [TASK], "static:mine")
    path.write_text(path.read_text().replace("static:mine", "static:your"))

    def look() -> str:
        SetStore.open(path)
        return "whole"

    told = of(Ground(SOUND, sets=look), 5)
    assert told.holds is False
    assert "line 1" in told.saw or ":1" in told.saw
    with pytest.raises(LedgerCorrupt):
        look()


def test_two_models_in_one_comparison_break_the_sixth() -> None:
    told = of(Ground(replace(SOUND, settings={"x": Settings(model="m"), "y": Settings(model="n")})), 6)
    assert (told.holds, told.saw) == (False, "model differs between arms (x: m, y: n)")


def test_a_late_audit_breaks_the_seventh_and_a_wrong_number_the_eighth() -> None:
    assert of(Ground(SOUND, audited="overdue"), 7).holds is False
    assert of(Ground(SOUND, reported=("summary.json: arms does not follow",)), 8).holds is False
