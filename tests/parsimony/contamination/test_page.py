"""Pages of contamination for runs of every shape. That nothing in them is undefined is what StrictUndefined sees to."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from parsimony import cli
from parsimony.cli import contamination_work as work
from parsimony.cli.contamination_work import difference_text, named
from parsimony.contamination import Cutoff, Moment, decay
from parsimony.errors import InputError
from parsimony.report.contamination_page import decay_page, list_page
from parsimony.runs import Run, Settings, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

CUTOFF = Cutoff("model-1", Moment.parse("2024-06"), "its card")
OUTCOMES = {None: Outcome.MISSING, True: Outcome.RESOLVED, False: Outcome.NOT_RESOLVED}


def run_of(rows: Sequence[tuple[str | None, bool | None]], arms: Sequence[str] = ("agent",)) -> Run:
    """A run of one trial a task and arm: (created_at, verdict)."""
    tasks, trials = {}, []
    for number, (created, verdict) in enumerate(rows):
        name = f"t{number}"
        tasks[name] = Task(name, "o/r", None, ("a",), (), "pytest", test_cmd="x", image="i", created_at=created)
        trials += [Trial(name, arm, 0, 0, OUTCOMES[verdict]) for arm in arms]
    return Run("run-1", "<made>", "runs/one", tasks, dict.fromkeys(arms, Settings()), tuple(trials))


def page_of(run: Run, cutoff: Cutoff = CUTOFF) -> str:
    found = decay(run, cutoff)
    return decay_page(found, run.name, named(cutoff), {arm.arm: difference_text(arm) for arm in found.arms})


def dropping() -> Run:
    """Two years in which 80 % are resolved before the cutoff and 30 % after it."""
    chance = random.Random(4)
    rows = []
    for month in range(24):
        for _ in range(chance.randint(2, 9)):
            late = month > 5
            rows.append((f"{2024 + month // 12}-{month % 12 + 1:02d}-10", chance.random() < (0.3 if late else 0.8)))
    return run_of(rows, ("agent", "other"))


SHAPES: dict[str, Run] = {
    "one task": run_of([("2024-01-01", True)]),
    "only after": run_of([("2025-01-01", True), ("2025-02-01", False)]),
    "no dates": run_of([(None, True), ("soon", False)]),
    "all missing": run_of([("2024-01-01", None), ("2025-01-01", None)]),
    "a month with both sides": run_of([("2024-06-30", True), ("2024-07", True), ("2024-07-20", False)]),
    "far from the cutoff": run_of([("1999-01-01", True), ("1999-02-01", False)]),
    "a century": run_of([("1950-01-01", True), ("2049-12-01", False)]),
    "a drop": dropping(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_any_run_has_a_page(shape: str) -> None:
    page = page_of(SHAPES[shape])
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "&lt;made&gt;" in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    assert "nan" not in re.sub(r"<[^>]*>", "", page)


def test_it_shows_the_cutoff_the_difference_and_both_sides() -> None:
    run = dropping()
    page = page_of(run)
    (arm, _) = decay(run, CUTOFF).arms
    assert arm.difference is not None
    assert arm.difference.interval[1] < 0
    assert "cutoff 2024-06" in page
    assert difference_text(arm) in page
    assert page.count("Pass rate by month of") == 2
    for side in (arm.before, arm.after):
        assert side.rate is not None
        assert f"{100 * side.rate:.1f} %" in page


def test_a_side_without_tasks_is_said() -> None:
    assert "no task with a verdict before the cutoff" in page_of(SHAPES["only after"])
    assert "2 without a date" in page_of(SHAPES["no dates"])


def test_a_list_shows_what_it_is_given_and_runs_none_of_it() -> None:
    page = list_page("t", "s", [("1", "leaked")], (("task", "ratio"), [("<b>x</b>", "50.0 %")]), ("ratio",))
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert '<td class="num">50.0 %</td>' in page


def test_gate_and_leak_write_pages(tmp_path: Path) -> None:
    rows = Path(__file__).parents[3] / "configs" / "examples" / "tasks.jsonl"
    asked = work.Asked("2030-01-01", None, tmp_path / "models.yaml")
    page = tmp_path / "gate.html"
    assert work.gate(rows, (), asked, work.Finding(None, as_json=True, page=page)) == cli.NO
    assert "not eligible" in page.read_text(encoding="utf-8")
    work.leak(rows, (), 0.5, work.Finding(None, as_json=True, page=tmp_path / "leak.html"))
    assert "intervals-1" in (tmp_path / "leak.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="folder that is not there"):
        work.leak(rows, (), 0.5, work.Finding(None, as_json=True, page=tmp_path / "no" / "leak.html"))
