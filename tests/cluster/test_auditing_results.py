"""A quarantined task is in the census and in no rate, in the summary, on the page and in the terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.results import summarise
from parsimony.cli import comparing, screen
from parsimony.errors import InputError
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

REASONS = {"t-2": ("canary.exit-zero: a patch that <ends> the process is resolved",)}


def line(task: str, outcome: str, arm: str = "x") -> dict[str, Any]:
    return {
        "task_id": task, "arm": arm, "seed": 1, "repeat": 0, "execution_key": None, "patch_ref": None,
        "outcome": outcome, "evidence": "none", "reasons": ["because"], "attempts": 1, "wall_seconds": None,
        "cpu_seconds": None, "peak_memory_bytes": None, "apply_strategy": None, "score": None,
    }  # fmt: skip


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    more: dict[str, Any] = {"name": "n", "rejected": 0, "costs": (), "executions": (), "wall_seconds": 1.0}
    return summarise(lines, **more, quarantined=REASONS)


LINES = [line("t-1", "resolved"), line("t-2", "resolved"), line("t-3", "not_resolved"), line("t-2", "missing", "y")]


def test_rates_leave_it_out_and_the_census_does_not() -> None:
    found = summary(LINES)
    assert found["census"]["planned"] == 4
    assert found["outcomes"]["resolved"] == 2
    assert (found["arms"]["x"]["resolved"], found["arms"]["x"]["planned"], found["arms"]["x"]["rate"]) == (1, 2, 0.5)
    assert found["arms"]["x"]["tasks"] == 2
    assert found["quarantined"] == [{"task_id": "t-2", "planned": 2, "reasons": list(REASONS["t-2"])}]


def test_an_arm_of_nothing_else_has_no_rate() -> None:
    arm = summary(LINES)["arms"]["y"]
    assert (arm["planned"], arm["rate"], arm["bounds"]) == (0, None, None)
    assert "y" in str(screen.scoreboard(summary(LINES)).columns[0]._cells)


def test_a_task_that_the_run_does_not_have_is_not_listed() -> None:
    assert summary([line("t-1", "resolved")])["quarantined"] == []


def test_it_is_listed_in_the_terminal() -> None:
    (told,) = screen.quarantine_lines(summary(LINES))
    assert told.startswith("quarantined, in no rate: t-2 (2 planned): canary.exit-zero")
    assert screen.quarantine_lines({}) == [], "summaries of older versions have no such list"


def test_it_is_listed_on_the_page(tmp_path: Path) -> None:
    report = pytest.importorskip("parsimony.report")
    report.write_report(tmp_path / "r.html", summary(LINES), LINES)
    page = (tmp_path / "r.html").read_text()
    assert "<h2>Quarantined</h2>" in page
    assert "1 of 3 tasks failed their audit" in page
    assert "a patch that &lt;ends&gt; the process is resolved" in page
    report.write_report(tmp_path / "s.html", summary(LINES[:1]), LINES[:1])
    assert "Quarantined" not in (tmp_path / "s.html").read_text()


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of two tasks, of which one fails its audit; `compare` reads it wherever it looks."""

    def trial(task: str, arm: str, outcome: Outcome) -> Trial:
        return Trial(task, arm, 1, 0, outcome, compute=Spend(cpu_seconds=1.0))

    names = ("t-1", "t-2")
    row = {"repo": "r", "base_commit": None, "fail_to_pass": ("a",), "pass_to_pass": (), "log_format": "pytest"}
    tasks = {name: Task(name, **row) for name in names}  # type: ignore[arg-type]
    trials = [trial(name, arm, Outcome.RESOLVED) for name in names for arm in ("x", "y")]
    run = Run("r1", "n", "run", tasks, {"x": Settings(), "y": Settings()}, tuple(trials), REASONS)
    monkeypatch.setattr(comparing, "read_priced_run", lambda folder: run)
    monkeypatch.setattr(comparing, "_images", lambda folder: {})
    return run


def test_a_comparison_leaves_it_out_and_says_so(finished: Run, tmp_path: Path) -> None:
    (found,), _ = comparing._compared(comparing.Request((tmp_path,)))
    source, notes = comparing._source(tmp_path)
    assert source.run.tasks.keys() == {"t-1"}
    assert {trial.task_id for trial in source.run.trials} == {"t-1"}
    assert notes == (f"1 of 2 tasks of {tmp_path} are quarantined and take no part: t-2 ({REASONS['t-2'][0]})",)
    assert any("t-2" in note for note in found.notes)


def test_a_run_of_nothing_else_cannot_be_compared(
    finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = replace(finished, quarantined=dict.fromkeys(finished.tasks, ("why",)))
    monkeypatch.setattr(comparing, "read_priced_run", lambda folder: nothing)
    with pytest.raises(InputError, match="every task is quarantined"):
        comparing._source(tmp_path)


def test_without_leaves_everything_else(finished: Run) -> None:
    less = finished.without({"t-1"})
    assert less.tasks.keys() == {"t-2"}
    assert (less.arms, less.run_id, less.quarantined) == (finished.arms, finished.run_id, finished.quarantined)
    assert finished.without(()) == finished
