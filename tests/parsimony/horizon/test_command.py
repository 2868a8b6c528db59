"""`parsimony horizon` as a person types it, over a real small run whose outcomes are rewritten."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples"
TASKS = ("csvsniff-2", "semver-4", "toposort-7")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

Line = dict[str, Any]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of three tasks' candidates in the process sandbox."""
    out = tmp_path_factory.mktemp("horizon") / "run"
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--sandbox", "process"]
    command += ["--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl")]
    for task in TASKS:
        command += ["--task", task]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A copy of it: the candidate solves 3, 2 and 1 of three seeds as tasks get longer; the baseline nothing."""
    copy = Path(shutil.copytree(graded, tmp_path / "run"))
    solved = dict(zip(TASKS, (3, 2, 1), strict=True))
    rewrite(copy, lambda line: verdict(line, line["arm"] == "candidate" and line["seed"] <= solved[line["task_id"]]))
    return copy


def verdict(line: Line, resolved: bool) -> None:
    line["outcome"] = "resolved" if resolved else "not_resolved"


def rewrite(folder: Path, change: Callable[[Line], None]) -> None:
    path = folder / "outcomes.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        change(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def minutes(tmp_path: Path) -> Path:
    path = tmp_path / "minutes.csv"
    path.write_text("task_id,minutes\n" + "".join(f"{task},{4**place}\n" for place, task in enumerate(TASKS)))
    return path


@pytest.fixture
def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command in this process: its exit status, standard output and standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["parsimony", "horizon", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_each_arm_has_a_horizon_or_a_reason(folder: Path, minutes: Path, parsimony: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    status, out, _ = parsimony(folder, "--minutes", minutes, "--page", page, "--bootstrap", 100)
    assert status == cli.PARTIAL
    assert "baseline: nothing succeeds" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    status, out, _ = parsimony(folder, "--minutes", minutes, "--bootstrap", 100, "--json")
    baseline, candidate = json.loads(out)["arms"]
    assert (baseline["arm"], baseline["state"], baseline["h50"]) == ("baseline", "all fail", None)
    assert candidate["state"] == "estimated"
    assert 4 < candidate["h50"] < 16
    assert candidate["h80"] < candidate["h50"]
    text = page.read_text()
    assert text.count("<svg") == 3
    assert "nothing succeeds" in text
    assert not re.search(r'\bsrc=|href="(?!#)|<script|@import|url\((?!#)', text)


def test_one_arm_alone_is_done(folder: Path, minutes: Path, parsimony: Any) -> None:
    words = (folder, "--minutes", minutes, "--bootstrap", 50)
    status, out, _ = parsimony(*words, "--arm", "candidate")
    assert status == cli.DONE
    assert "baseline" not in out
    status, out, _ = parsimony(*words, "--arm", "baseline")
    assert status == cli.NO


def test_weights_penalty_and_draws_are_options(folder: Path, minutes: Path, parsimony: Any) -> None:
    def slope(*words: object) -> float:
        given = (folder, "--minutes", minutes, "--arm", "candidate", "--bootstrap", 0, "--json", *words)
        return float(json.loads(parsimony(*given)[1])["arms"][0]["slope"])

    assert slope() == slope("--weights", "equal-task")  # families of one task
    assert slope("--regularization", "0.5") > slope()


def test_missing_verdicts_give_bounds_and_no_failures(folder: Path, minutes: Path, parsimony: Any) -> None:
    def lose(line: Line) -> None:
        if (line["task_id"], line["arm"], line["seed"]) == (TASKS[2], "candidate", 3):
            line["outcome"], line["score"] = "missing", None

    rewrite(folder, lose)
    status, out, _ = parsimony(folder, "--minutes", minutes, "--arm", "candidate", "--bootstrap", 20, "--json")
    (one,) = json.loads(out)["arms"]
    assert status == cli.PARTIAL
    assert one["missing_runs"] == 1
    low, high = one["missing_bounds_h50"]
    assert low < one["h50"] < high
    _, out, _ = parsimony(folder, "--minutes", minutes, "--arm", "candidate", "--bootstrap", 20)
    assert "1 runs have no verdict" in out


def test_tasks_without_a_time_and_bad_rows_are_told(folder: Path, tmp_path: Path, parsimony: Any) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"task_id,minutes\n{TASKS[0]},1\n{TASKS[1]},0\n{TASKS[2]},16\nother,3\n")
    status, out, err = parsimony(folder, "--minutes", path, "--arm", "candidate", "--bootstrap", 20)
    assert status == cli.PARTIAL
    assert ":3: minutes: is '0'" in " ".join(err.split())
    assert f"1 tasks have no time and take no part: {TASKS[1]}" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--arm", "nobody"], "has no arm 'nobody'"),
        (["--regularization", "0"], "--regularization"),
        (["--regularization", "nan"], "--regularization"),
        (["--bootstrap", "-5"], "--bootstrap"),
        (["--seed", "-1"], "--seed"),
        (["--page", "no/such/page.html"], "no/such/page.html"),
    ],
)
def test_what_cannot_be_is_one_line(words: list[str], says: str, folder: Path, minutes: Path, parsimony: Any) -> None:
    status, _, err = parsimony(folder, "--minutes", minutes, *words)
    assert status == cli.CANNOT
    assert says in err
    assert len(err.splitlines()) == 1


def test_files_that_tell_nothing(folder: Path, tmp_path: Path, parsimony: Any) -> None:
    status, _, err = parsimony(folder, "--minutes", tmp_path / "no.csv")
    assert (status, "does not exist" in err) == (cli.CANNOT, True)
    other = tmp_path / "other.csv"
    other.write_text("task_id,minutes\nother,3\n")
    status, _, err = parsimony(folder, "--minutes", other)
    assert status == cli.CANNOT
    assert f"called like {TASKS[0]}" in err
