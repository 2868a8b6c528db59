"""`parsimony nightly …` as people and CI systems call it, with gradings that are told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from parsimony import cli
from parsimony.cli import nightly_grading, nightly_work
from parsimony.errors import InputError
from tests.parsimony.nightly.conftest import KilledHere, Shell

BROKEN = {f"parse-{n}" for n in range(6)} | {"fmt-1"}


def test_first_night_is_the_baseline_and_a_regression_fails(shell: Shell) -> None:
    assert shell.night("2026-12-01") == cli.DONE
    assert shell.ledger() == [("night.passed", "2026-12-01"), ("night.accepted", "2026-12-01")]
    shell.world.failing["2026-12-02"] = BROKEN
    assert shell.night("2026-12-02") == cli.NO
    assert "regression" in shell.out
    assert "@parsers" in shell.out
    assert all(len(line) <= 100 for line in shell.out.splitlines() if not line.startswith("page:"))
    assert shell.ledger()[-1] == ("night.regression", "2026-12-02")
    found = shell.json("run", "--date", "2026-12-02", status=cli.NO)
    assert found["already_over"] is True
    assert found["baseline"] == "2026-12-01"
    assert {one["task_id"] for one in found["newly_broken"]} == BROKEN
    assert found["newly_broken"][0]["changed"] == "2026-12-02"
    assert found["newly_broken"][0]["same_patches"] is True
    assert found["suspects"] == [{"date": "2026-12-02", "state": "regression"}]
    assert len(shell.ledger()) == 3


def test_the_same_date_again_grades_nothing(shell: Shell) -> None:
    shell.night("2026-12-01")
    calls = list(shell.world.calls)
    assert calls == ["canaries 2026-12-01 1", "sweep 2026-12-01", "canaries 2026-12-01 2"]
    assert shell.night("2026-12-01") == cli.DONE
    assert "was over already" in shell.out
    assert shell.world.calls == calls
    assert len(shell.ledger()) == 2


@pytest.mark.parametrize(("name", "outcome"), [("gold", "not_resolved"), ("exit-zero", "resolved")])
def test_a_canary_before_the_sweep_voids_the_night_before_it_costs(shell: Shell, name: str, outcome: str) -> None:
    shell.world.canaries[name, 0] = outcome
    assert shell.night("2026-12-01") == cli.CANNOT
    assert f"canary '{name}' of fmt-0, before the sweep, is {outcome}" in " ".join(shell.out.split())
    assert shell.world.calls == ["canaries 2026-12-01 1"]
    assert shell.ledger() == [("night.void", "2026-12-01")]
    assert (shell.nights / "2026-12-01" / "trend.html").is_file()
    assert shell.night("2026-12-01") == cli.CANNOT
    assert len(shell.ledger()) == 1


def test_a_canary_after_the_sweep_voids_a_night_that_is_kept_and_never_compared(shell: Shell) -> None:
    shell.night("2026-12-01")
    shell.world.canaries["gold", 1] = "timed_out"
    shell.world.failing["2026-12-02"] = BROKEN
    assert shell.night("2026-12-02", "--json") == cli.CANNOT
    found = json.loads(shell.out)
    assert (found["state"], found["comparisons"], found["newly_broken"]) == ("void", [], [])
    assert (shell.nights / "2026-12-02" / "night.json").is_file()
    shell.world.canaries.clear()
    assert shell.night("2026-12-03") == cli.DONE
    found = shell.json("run", "--date", "2026-12-03")
    assert not found["newly_broken"]
    assert not found["mended"], "a void night is in no history"
    assert shell("accept", "2026-12-02", "--why", "x") == cli.CANNOT
    assert "void" in shell.err


def test_canaries_without_a_verdict_prove_nothing(shell: Shell) -> None:
    shell.world.canaries["gold", 0] = "missing"
    assert shell.night("2026-12-01") == cli.PARTIAL
    assert shell.ledger() == [("night.incomplete", "2026-12-01")]
    shell.world.canaries.clear()
    assert shell.night("2026-12-01") == cli.DONE
    assert [kind for kind, _ in shell.ledger()] == ["night.incomplete", "night.passed", "night.accepted"]


def test_missing_verdicts_are_partial_and_the_same_date_goes_on(shell: Shell) -> None:
    shell.night("2026-12-01")
    shell.world.missing["2026-12-02"] = {"fmt-0"}
    assert shell.night("2026-12-02") == cli.PARTIAL
    assert shell.night("2026-12-02") == cli.PARTIAL
    assert shell.ledger()[2:] == [("night.incomplete", "2026-12-02")], "the very same again adds nothing"
    assert shell("accept", "2026-12-02", "--why", "x") == cli.CANNOT
    del shell.world.missing["2026-12-02"]
    assert shell.night("2026-12-02") == cli.DONE
    assert shell.ledger()[3:] == [("night.passed", "2026-12-02")]


def test_unequal_frozen_configs_are_refused_by_name_until_accepted(shell: Shell) -> None:
    shell.night("2026-12-01")
    shell.world.settings["2026-12-02"] = {"environment_image": "other"}
    assert shell.night("2026-12-02") == cli.CANNOT
    assert "frozen.environment_image" in shell.out
    assert shell.ledger()[-1] == ("night.refused", "2026-12-02")
    assert shell("accept", "2026-12-02", "--why", "Python was updated") == cli.DONE
    assert shell.night("2026-12-02") == cli.DONE, "who is asked again finds an accepted night"
    shell.world.settings["2026-12-03"] = {"environment_image": "other"}
    assert shell.night("2026-12-03") == cli.DONE
    assert shell.json("run", "--date", "2026-12-03")["baseline"] == "2026-12-02"


def test_accept_and_rollback_move_the_baseline(shell: Shell) -> None:
    for number in (1, 2, 3):
        assert shell.night(f"2026-12-0{number}") == cli.DONE
    assert shell.json("status")["baseline"] == "2026-12-01", "the rule is `first`"
    assert shell("accept", "2026-12-03", "--why", " ") == cli.CANNOT
    assert shell.json("accept", "2026-12-03", "--why", "new planner")["baseline"] == "2026-12-03"
    assert shell.json("accept", "2026-12-03", "--why", "again")["entry"] is None
    assert shell.json("rollback", "--why", "planner is out") == {"baseline": "2026-12-01", "rolled_back": "2026-12-03"}
    assert shell("rollback", "--why", "further") == cli.CANNOT
    assert "no accepted night before" in shell.err
    assert shell("accept", "2026-12-09", "--why", "x") == cli.CANNOT
    assert shell("accept", "yesterday", "--why", "x") == cli.CANNOT


def test_rules_of_acceptance(shell: Shell) -> None:
    shell.edit("owners:", "accept: passed\nowners:")
    for number in (1, 2):
        shell.night(f"2026-12-0{number}")
    assert shell.json("status")["accepted"] == ["2026-12-01", "2026-12-02"]
    shell.edit("accept: passed", "accept: manual")
    shell.night("2026-12-03")
    assert shell.json("status")["baseline"] == "2026-12-02"


def test_a_baseline_that_changed_is_not_compared_with(shell: Shell) -> None:
    shell.night("2026-12-01")
    path = shell.nights / "2026-12-01" / "outcomes.jsonl"
    path.write_text(path.read_text().replace("not_resolved", "resolved") + "\n", encoding="utf-8")
    assert shell.night("2026-12-02") == cli.CANNOT
    assert "its outcomes changed" in shell.out


def test_several_arms_are_one_family(shell: Shell) -> None:
    shell.edit("arms: [a]", "arms: [a, b]")
    shell.world.arms = ("a", "b")
    shell.night("2026-12-01")
    # Five of twelve tasks: p = 2/32 = 0.0625 alone is over 0.05; six: 0.03 alone, 0.06 after Holm over two arms.
    shell.world.failing["2026-12-02"] = {f"parse-{n}" for n in range(6)}
    shell.world.failing_arms["2026-12-02"] = {"b"}
    assert shell.night("2026-12-02") == cli.DONE
    found = {one["arm"]: one for one in shell.json("run", "--date", "2026-12-02")["comparisons"]}
    assert found["b"]["p_value"] == pytest.approx(2 * 2 / 2**6)
    shell.world.failing["2026-12-03"] = {f"parse-{n}" for n in range(6)} | {"fmt-0"}
    shell.world.failing_arms["2026-12-03"] = {"b"}
    assert shell.night("2026-12-03") == cli.NO


def test_one_seed_is_said_to_be_blind(shell: Shell) -> None:
    shell.world.seeds = (1,)
    shell.night("2026-12-01")
    shell.world.failing["2026-12-02"] = set(shell.world.tasks)
    assert shell.night("2026-12-02") == cli.DONE
    assert "this gate cannot fail" in shell.out


def test_missed_and_void_nights_widen_the_range_of_suspects(shell: Shell) -> None:
    shell.night("2026-12-01")
    shell.world.canaries["gold", 0] = "not_resolved"
    shell.night("2026-12-03")
    shell.world.canaries.clear()
    shell.world.failing["2026-12-04"] = BROKEN
    assert shell.night("2026-12-04") == cli.NO
    found = shell.json("run", "--date", "2026-12-04", status=cli.NO)
    assert found["last_good"] == "2026-12-01"
    assert [(one["date"], one["state"]) for one in found["suspects"]] == [
        ("2026-12-02", "missed"),
        ("2026-12-03", "void"),
        ("2026-12-04", "regression"),
    ]
    assert "2026-12-02 (missed)" in (shell.nights / "2026-12-04" / "summary.md").read_text()
    assert "2026-12-02 (missed)" in (shell.nights / "2026-12-04" / "trend.html").read_text()
    assert shell.json("status")["suspects"] == found["suspects"]


def test_status_says_what_is_due_and_overdue(shell: Shell) -> None:
    assert shell.json("status")["state"] == "due"
    shell.night("2026-12-01")
    assert shell.json("status")["state"] == "current"
    shell.now = datetime(2026, 12, 2, 4, tzinfo=UTC)
    assert shell.json("status")["state"] == "due"
    shell.now = datetime(2026, 12, 2, 10, tzinfo=UTC)
    found = shell.json("status", status=cli.NO)
    assert (found["state"], found["missed"]) == ("overdue", ["2026-12-02"])
    assert shell("status") == cli.NO
    assert "A missed night loses no verdict" in shell.out
    assert all(len(line) <= 100 for line in shell.out.splitlines())


def test_if_due_takes_the_date_of_the_schedule_and_resumes(shell: Shell) -> None:
    shell.night("2026-12-01")
    assert shell("run", "--if-due") == cli.DONE
    assert "not due before 2026-12-02T03:30:00Z" in shell.out
    shell.now = datetime(2026, 12, 3, 0, 10, tzinfo=UTC)  # late: of the second of December all the same
    shell.world.missing["2026-12-02"] = {"fmt-0"}
    assert shell.json("run", "--if-due", status=cli.PARTIAL)["date"] == "2026-12-02"
    shell.world.missing.clear()
    assert shell.json("run", "--if-due")["date"] == "2026-12-02"
    assert shell.json("run", "--if-due")["date"] is None


def test_predictions_of_the_night_are_frozen(shell: Shell) -> None:
    shell.edit("arms: [a]", 'arms: [a]\npredictions: "out/{date}.jsonl"')
    assert shell.night("2026-12-01") == cli.CANNOT
    assert "2026-12-01.jsonl" in shell.err
    assert not (shell.nights / "2026-12-01" / "inputs").exists()
    source = shell.folder / "out" / "2026-12-01.jsonl"
    source.parent.mkdir()
    source.write_text("one\n")
    shell.world.at = lambda where: _raise() if where == "graded" else None
    with pytest.raises(KilledHere):
        shell.night("2026-12-01")
    source.write_text("of the next night\n")
    shell.world.at = lambda _: None
    shell.world.missing["2026-12-01"] = {"fmt-0"}
    assert shell.night("2026-12-01") == cli.PARTIAL
    inputs = shell.nights / "2026-12-01" / "inputs"
    assert [path.read_text() for path in inputs.glob("*/1-*")] == ["one\n"], "an interrupted night keeps its copies"
    shell.world.missing.clear()
    assert shell.night("2026-12-01") == cli.DONE
    assert (inputs / "2" / "1-2026-12-01.jsonl").read_text() == "of the next night\n", "an incomplete one takes new"


def _raise() -> None:
    raise KilledHere


POINTS = ("canaries 1", "graded", "canaries 2", "recorded", "compared", "before the ledger", "after the ledger", "page")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("failing", [set(), BROKEN])
def test_a_kill_anywhere_is_finished_by_the_same_command(
    shell: Shell, point: str, failing: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.night("2026-12-01")
    shell.world.failing["2026-12-02"] = failing
    killed: list[str] = []

    def at(where: str) -> None:
        if where == point and not killed:
            killed.append(where)
            raise KilledHere

    def then(module: object, name: str, where: str, *, before: bool = False) -> None:
        real = getattr(module, name)

        def wrapped(*given: object, **named: object) -> object:
            if before:
                at(where)
            result = real(*given, **named)
            if not before:
                at(where)
            return result

        monkeypatch.setattr(module, name, wrapped)

    shell.world.at = at
    then(nightly_grading, "_record", "recorded")
    then(nightly_grading, "_compared", "compared")
    then(nightly_grading, "_conclude", "before the ledger", before=True)
    then(nightly_grading, "_conclude", "after the ledger")
    then(nightly_work, "markdown", "page", before=True)
    with pytest.raises(KilledHere):
        shell.night("2026-12-02")
    assert killed == [point]
    expected = cli.NO if failing else cli.DONE
    assert shell.night("2026-12-02") == expected
    assert shell.night("2026-12-02") == expected
    kind = "night.regression" if failing else "night.passed"
    assert shell.ledger()[2:] == [(kind, "2026-12-02")]
    for name in ("trend.html", "junit.xml", "summary.md", "night.json"):
        assert (shell.nights / "2026-12-02" / name).is_file()


def test_files_for_ci_systems(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    step = shell.folder / "step.md"
    step.write_text("before", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    shell.world.quarantined = {"fmt-5": ("its tests are unstable",)}
    shell.night("2026-12-01")
    shell.world.failing["2026-12-02"] = {"parse-1"}
    assert shell.night("2026-12-02") == cli.DONE
    shell.night("2026-12-02")
    text = (shell.nights / "2026-12-02" / "summary.md").read_text(encoding="utf-8")
    assert "| `parse-1` | a | @parsers | 2026-12-02 | the same patches | +- |" in text
    assert "| `fmt-5` | @rest | its tests are unstable |" in text
    assert step.read_text(encoding="utf-8").startswith("before\n## demo 2026-12-01")
    assert step.read_text(encoding="utf-8").count(text) == 1
    suites = {one.get("name"): one for one in ET.parse(shell.nights / "2026-12-02" / "junit.xml").getroot()}
    assert set(suites) == {"gate", "a"}
    cases = {case.get("name"): case for case in suites["a"]}
    assert len(cases) == 12
    owners = {name: case.find("properties/property[@name='owner']") for name, case in cases.items()}
    assert all(one is not None for one in owners.values())
    failure = cases["parse-1"].find("failure")
    assert failure is not None
    assert "first failed on 2026-12-02" in str(failure.get("message"))
    skipped = cases["fmt-5"].find("skipped")
    assert skipped is not None
    assert "quarantined" in str(skipped.get("message"))
    assert (suites["a"].get("failures"), suites["a"].get("skipped"), suites["a"].get("tests")) == ("1", "1", "12")


def test_schedule_gives_ready_texts(shell: Shell) -> None:
    assert shell("schedule") == cli.DONE
    assert "30 3 * * * parsimony nightly run" in shell.out
    assert "--if-due" in shell.out
    assert "kind: CronJob" in shell.json("schedule", "--show", "kubernetes")["kubernetes"]
    shell.edit("schedule: {cron: 30 3 * * *, grace: 6h}\n", "")
    assert shell("schedule") == cli.CANNOT
    assert shell("run", "--if-due") == cli.CANNOT
    assert "schedule" in shell.err


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("schedule:", "schedul:", "did you mean `schedule`?"),
        ("name: demo", "name: ../x", "name"),
        ("arms: [a]", "arms: []", "arms"),
        ("arms: [a]", "arms: [a, a]", "names an arm twice"),
        ("alpha: 0.05", "alpha: 2", "alpha"),
        ("alpha: 0.05", "alpha: .nan", "alpha"),
        ("window: 5", "window: 1", "window"),
        ("cron: 30 3 * * *", "every: 5h", "is no number of days"),
        ("cron: 30 3 * * *", "cron: 30 3", "five fields"),
        ('task: "parse-*"', "x: 1", "x"),
        ("arms: [a]", "arms: [a]\ncanaries: {wrong: [nothing]}", "which is no canary"),
        ("arms: [a]", "arms: [a]\ncanaries: {tasks: -1}", "0 to 1000"),
        ("sweep: sweep.yaml", "sweep: nowhere.yaml", "nowhere.yaml"),
        ("sweep: sweep.yaml", "sweep: nightly.yaml", "nightly.yaml"),
        ("arms: [a]", "arms: [z]", "which has no candidate"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(shell: Shell, before: str, after: str, told: str) -> None:
    shell.edit(before, after)
    assert shell.night("2026-12-01") == cli.CANNOT
    assert told in shell.err
    assert "Traceback" not in shell.err


@pytest.mark.parametrize("word", ["2026-13-01", "20261201", "tomorrow", "", "2026-12-31"])
def test_a_wrong_date_is_refused(shell: Shell, word: str) -> None:
    assert shell("run", "--date", word) == cli.CANNOT
    assert "--date" in shell.err
    assert not list(shell.nights.glob("????-??-??"))


def test_nights_of_another_name_are_not_mixed(shell: Shell) -> None:
    shell.night("2026-12-01")
    shell.edit("name: demo", "name: other")
    assert shell.night("2026-12-02") == cli.CANNOT
    assert "ledger of nights of 'demo'" in shell.err


def test_a_damaged_record_is_in_no_history_and_said(shell: Shell) -> None:
    shell.night("2026-12-01")
    (shell.nights / "2026-12-01" / "night.json").write_text("{}", encoding="utf-8")
    assert shell.night("2026-12-02") == cli.CANNOT, "it is the baseline"
    assert "is not the record of a night" in " ".join(shell.out.split())
    assert any("2026-12-01 is in no history" in note for note in shell.json("run", status=cli.CANNOT)["notes"])


def test_an_edited_ledger_is_refused(shell: Shell) -> None:
    shell.night("2026-12-01")
    path = shell.nights / "nights.jsonl"
    path.write_text(path.read_text().replace("night.passed", "night.void"), encoding="utf-8")
    assert shell("status") == cli.CANNOT
    assert "nights.jsonl:1" in shell.err


def test_config_reads_the_shipped_example() -> None:
    from pathlib import Path

    from parsimony.cli.nightly_config import read

    found = read(Path(__file__).parents[3] / "configs" / "nightly.example.yaml")
    assert found.sweep(datetime(2026, 12, 1, tzinfo=UTC).date()).name == "demo"
    assert found.owners.of("csvsniff-2", "x/y") == "@parsers"
    with pytest.raises(InputError, match="nowhere"):
        read(Path("nowhere.yaml"))
