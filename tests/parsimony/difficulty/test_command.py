"""`parsimony difficulty` as a person types it: over a real small run, and over files of responses."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples"
TASKS = ("csvsniff-2", "semver-4")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two tasks' candidates in the process sandbox."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    out = tmp_path_factory.mktemp("difficulty") / "run"
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--sandbox", "process"]
    command += ["--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl")]
    for task in TASKS:
        command += ["--task", task]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(graded, tmp_path / "run"))


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    """Twelve models on thirty tasks that get harder, three trials each."""
    chance = random.Random(1)
    lines = ["respondent,task_id,successes,trials"]
    for model in range(12):
        for task in range(30):
            hits = sum(chance.random() < 0.5 + 0.06 * (model - 5.5) + 0.03 * (15 - task) for _ in range(3))
            lines.append(f"model-{model},task-{task:02},{hits},3")
    path = tmp_path / "responses.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command in this process: its exit status, standard output and standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["parsimony", "difficulty", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_a_run_is_a_bank(folder: Path, parsimony: Any) -> None:
    status, out, _ = parsimony(folder, "--respondent", "arm-seed", "--draws", 50)
    assert status in {cli.DONE, cli.NO}
    assert "6" in out
    assert "2 tasks" in out
    assert "2 historical agents" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    status, out, _ = parsimony(folder, "--respondent", "arm-seed", "--draws", 50, "--json")
    found = json.loads(out)
    assert [task["task_id"] for task in found["tasks"]] == sorted(TASKS)
    assert len(found["respondents"]) == 6
    solved = sum(
        line["outcome"] == "resolved"
        for line in map(json.loads, (folder / "outcomes.jsonl").read_text().splitlines())
        if line["task_id"] == TASKS[0]
    )
    assert found["tasks"][0]["rate"] == pytest.approx(solved / 6)


def test_runs_and_files_are_one_bank(folder: Path, responses: Path, parsimony: Any) -> None:
    _, out, _ = parsimony(folder, "--responses", responses, "--draws", 20, "--json")
    found = json.loads(out)
    assert len(found["tasks"]) == 32
    assert len(found["respondents"]) == 14
    assert found["agents"] == 14
    status, _, err = parsimony(folder, folder)
    assert (status, "named twice" in err) == (cli.CANNOT, True)


def test_a_set_and_a_page_are_written(responses: Path, parsimony: Any, tmp_path: Path) -> None:
    chosen, page = tmp_path / "set.txt", tmp_path / "page.html"
    status, out, _ = parsimony("--responses", responses, "--write-set", chosen, "--page", page, "--draws", 50)
    assert status == cli.DONE
    assert str(page) in out.replace("\n", "")
    names = chosen.read_text().splitlines()
    status, out, _ = parsimony("--responses", responses, "--draws", 50, "--json")
    found = json.loads(out)
    assert names == found["mid_range"]["tasks"]
    assert len(names) + found["mid_range"]["saved"] == 30
    low, high = found["mid_range"]["kendall"]["interval"]
    assert low <= found["mid_range"]["kendall"]["value"] + 0.1
    assert high <= 1
    text = page.read_text()
    assert "no score of the benchmark" in text
    assert text.count("<svg") == 4
    assert "task-07" in text
    assert not re.search(r'\bsrc=|href="(?!#)|<script|@import|url\((?!#)', text)


def test_names_do_not_break_the_page(tmp_path: Path, parsimony: Any) -> None:
    path, page = tmp_path / "r.jsonl", tmp_path / "p.html"
    rows = [
        {
            "respondent": f"<b>{i}$\\frac$&",
            "task_id": f"_<script>{j}$\u6c49",
            "successes": int((i + j) % 3 > 0),
            "trials": 1,
        }
        for i in range(5)
        for j in range(8)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    status, _, _ = parsimony("--responses", path, "--page", page, "--draws", 10)
    assert status == cli.DONE
    text = page.read_text()
    assert "<script" not in text
    assert "<b>0$" not in text
    assert text.count("&lt;b&gt;0$\\frac$&amp;") >= 3  # in the table, and at both ends of a line of the plot


def test_the_band_and_the_one_under_test(responses: Path, parsimony: Any) -> None:
    def found(*words: object) -> dict[str, Any]:
        return dict(json.loads(parsimony("--responses", responses, "--draws", 0, "--json", *words)[1]))

    narrow, wide = found("--band", "0.4:0.6"), found("--band", "0.1:0.9")
    assert set(narrow["mid_range"]["tasks"]) < set(wide["mid_range"]["tasks"])
    held = found("--under-test", "model-3")
    assert held["agents"] == 11
    assert [one["ability"] for one in held["respondents"] if one["name"] == "model-3"] == [None]


def test_nothing_in_the_band_is_a_no(tmp_path: Path, parsimony: Any) -> None:
    path = tmp_path / "r.csv"
    path.write_text("respondent,task_id,successes,trials\na,t,1,1\nb,t,1,1\na,u,0,1\nb,u,0,1\n")
    status, out, _ = parsimony("--responses", path, "--page", tmp_path / "p.html")
    assert status == cli.NO
    assert "nothing to select" in out
    assert "nothing can be fitted" in (tmp_path / "p.html").read_text()


def test_rejected_rows_and_missing_verdicts_make_it_partial(folder: Path, responses: Path, parsimony: Any) -> None:
    with responses.open("a") as file:
        file.write("model-1,task-99,5,3\n")
    status, _, err = parsimony("--responses", responses, "--draws", 10)
    assert status == cli.PARTIAL
    assert "successes" in err
    assert ":362" in err
    lines = [json.loads(line) for line in (folder / "outcomes.jsonl").read_text().splitlines()]
    lines[0]["outcome"], lines[0]["score"] = "missing", None
    (folder / "outcomes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, _ = parsimony(folder, "--respondent", "arm-seed", "--draws", 10, "--band", "0.01:0.99")
    assert status == cli.PARTIAL
    assert "1 candidates have no verdict" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing to read"),
        (["--responses", "no.csv"], "does not exist"),
        (["no-such-run"], "no-such-run"),
        (["--responses", "{file}", "--band", "0.7:0.3"], "--band"),
        (["--responses", "{file}", "--under-test", "x"], "--under-test"),
        (["--responses", "{file}", "--draws", "-1"], "--draws"),
        (["--responses", "{file}", "--responses", "{file}"], "named twice"),
        (["--responses", "{file}", "--page", "no/such/page.html"], "no/such/page.html"),
        (["--responses", "{file}", "--write-set", "."], "is a folder"),
    ],
)
def test_what_cannot_be_is_one_line(words: list[str], says: str, responses: Path, parsimony: Any) -> None:
    status, _, err = parsimony(*(word.format(file=responses) for word in words))
    assert status == cli.CANNOT
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_respondent_of_two_files_is_refused(responses: Path, parsimony: Any, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("respondent,task_id,successes,trials\nmodel-1,task-01,1,1\n")
    status, _, err = parsimony("--responses", responses, "--responses", other)
    assert status == cli.CANNOT
    assert "model-1" in err
