"""`parsimony matrix` as a person types it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parsimony import cli
from tests.parsimony.matrix.conftest import Command

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples"
PUBLISHED = [
    {"model": "large", "benchmark": "bench", "scaffold": "s", "accuracy": 0.54, "dollars": 110.5, "n": 50},
    {"model": "small", "benchmark": "bench", "scaffold": "s", "accuracy": 0.34, "dollars": 12, "n": 50},
    {"model": "old", "benchmark": "bench", "scaffold": "s", "accuracy": 0.3, "dollars": 60, "n": 50},
    {"model": "large", "benchmark": "other", "scaffold": "s", "accuracy": 0.7, "n": 100},
]


def jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one task's candidates in the process sandbox."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    out = tmp_path_factory.mktemp("matrix") / "run"
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--sandbox", "process"]
    command += ["--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl")]
    done = subprocess.run(
        [*command, "--task", "csvsniff-2", "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out


def test_published_rows(tmp_path: Path, parsimony: Command) -> None:
    path = jsonl(tmp_path / "m.jsonl", *PUBLISHED)
    status, out, _ = parsimony("matrix", path, "--json")
    told = json.loads(out)
    assert status == cli.DONE
    first = told["benchmarks"][0]
    assert [(one["model"], one["on_frontier"], one["on_convex_frontier"]) for one in first["results"]] == [
        ("large", True, True), ("small", True, True), ("old", False, False),
    ]  # fmt: skip
    assert first["results"][1]["dollars_per_task"] == 0.24
    assert first["results"][2]["dominated_by"]["model"] == "small"
    assert {(one["model"], one["benchmark"]) for one in told["gaps"]} == {("small", "other"), ("old", "other")}
    assert told["ranking"][0] == {
        "model": "large", "mean_rank": 1.0, "complete": True, "ranked_on": 1, "rankable": 1, "frontiers": 1,
        "convex_frontiers": 1, "priced_on": 1,
    }  # fmt: skip


def test_the_terminal_fits_and_the_page_is_one_file(tmp_path: Path, parsimony: Command) -> None:
    nasty = {**PUBLISHED[0], "model": "<script>alert(1)</script>[red]" + "x" * 80}
    path, page = jsonl(tmp_path / "m.jsonl", *PUBLISHED, nasty), tmp_path / "m.html"
    status, out, _ = parsimony("matrix", path, "--page", page)
    assert status == cli.DONE
    assert all(len(line) <= 100 for line in out.splitlines())
    assert "2 of 8 cells" not in out
    html = page.read_text(encoding="utf-8")
    assert "<script" not in html
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)
    assert html.count('class="v e"') == 3  # what was not run has no number
    assert "54.0" in html


def test_runs_and_published_rows_side_by_side(graded: Path, tmp_path: Path, parsimony: Command) -> None:
    shutil.copytree(graded, tmp_path / "run")
    path = tmp_path / "m.yaml"
    path.write_text(
        "version: 1\nrows:\n"
        "  - {model: m, benchmark: demo, scaffold: before, run: run, arm: baseline}\n"
        "  - {model: m, benchmark: demo, scaffold: after, run: run, arm: candidate}\n"
        "  - {model: n, benchmark: demo, scaffold: after, accuracy: 0.25, dollars: 0.04, n: 4}\n"
    )
    status, out, _ = parsimony("matrix", path, "--json")
    told = json.loads(out)
    assert status == cli.DONE
    results = {(one["model"], one["scaffold"]): one for one in told["benchmarks"][0]["results"]}
    lines = [json.loads(line) for line in (graded / "outcomes.jsonl").read_text().splitlines()]
    for scaffold, arm in (("before", "baseline"), ("after", "candidate")):
        mine = [line["outcome"] == "resolved" for line in lines if line["arm"] == arm]
        assert results["m", scaffold]["accuracy"] == pytest.approx(sum(mine) / len(mine))
        assert (results["m", scaffold]["n"], results["m", scaffold]["seeds"]) == (1, 3)
        assert results["m", scaffold]["dollars_per_task"] > 0
    assert told["scaffolds"][0]["scaffold"] == "after"
    assert any("says that its model is" in line for line in told["notes"])
    assert any("tasks: not all of the same" in line for line in told["notes"])


def test_bad_rows_are_rejected_with_their_lines(graded: Path, tmp_path: Path, parsimony: Command) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(
        "version: 1\nrows:\n"
        "  - {model: m, benchmark: b, scaffold: s, accuracy: 0.5, n: 10}\n"
        "  - {model: m, benchmark: b, scaffold: s, accuracy: 0.6, n: 10}\n"
        "  - {model: m, benchmark: b, scaffold: t, accuracy: .nan, n: 10}\n"
        "  - {model: m, benchmark: b, scaffold: u, accuracy: 0.5, n: 10, tokens: 5}\n"
        f"  - {{model: m, benchmark: b, scaffold: v, run: {graded}}}\n"
        f"  - {{model: m, benchmark: b, scaffold: w, run: {graded}, arm: nobody}}\n"
        "  - {model: m, benchmark: b, scaffold: x, run: nowhere, arm: a}\n"
    )
    status, out, err = parsimony("matrix", path, "--json")
    told = json.loads(out)
    assert status == cli.PARTIAL
    assert [len(one["results"]) for one in told["benchmarks"]] == [1]
    assert [int(re.findall(r"m\.yaml:(\d+)", text)[0]) for text in told["rejected"]] == [4, 5, 6, 7, 8, 9]
    for words in ("is in line 3 already", "accuracy", "tokens", "says no arm", "no arm 'nobody'", "nowhere"):
        assert words in err.replace("\n", " ")


def test_missing_verdicts_are_bounds_and_status_3(graded: Path, tmp_path: Path, parsimony: Command) -> None:
    run = Path(shutil.copytree(graded, tmp_path / "run"))
    lines = [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]
    lines[0] |= {"outcome": "missing", "score": None}
    (run / "outcomes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = jsonl(
        tmp_path / "m.jsonl", {"model": "m", "benchmark": "b", "scaffold": "s", "run": "run", "arm": lines[0]["arm"]}
    )
    status, out, _ = parsimony("matrix", path, "--json")
    (result,) = json.loads(out)["benchmarks"][0]["results"]
    assert (status, result["accuracy"], result["missing"]) == (cli.PARTIAL, None, 1)
    assert result["bounds"][0] < result["bounds"][1]
    status, out, _ = parsimony("matrix", path, "--page", tmp_path / "p.html")
    assert status == cli.PARTIAL
    assert "verdicts missing" in out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.yaml", "", "mapping"),
        ("m.yaml", "version: 1\nrows: []\n", "rows"),
        ("m.yaml", "version: 2\nrows: [{}]\n", "version"),
        ("m.yaml", "version: 1\nrows: [{}]\nnotes: x\n", "notes"),
        ("m.yaml", "version: 1\nrows: [7]\n", "rows"),
        ("m.yaml", "version: 1\nrows: [{}]\n", "no row that can be used"),
        ("m.yaml", "version: [\n", "YAML"),
        ("m.yaml", "version: 1\nrows: [&a {model: *a}]\n", "refers to itself"),
        ("m.jsonl", "", "empty"),
        ("m.jsonl", "7\n", "no row that can be used"),
        ("m.jsonl", '{"model": "m"}\n', "no row that can be used"),
        ("m.csv", "model,benchmark\n", "no table"),
    ],
)
def test_files_that_are_no_matrix(tmp_path: Path, parsimony: Command, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    status, _, err = parsimony("matrix", path)
    assert status == cli.CANNOT
    assert message in err.strip().splitlines()[-1]


def test_an_unwritable_page_is_refused_before_work(tmp_path: Path, parsimony: Command) -> None:
    path = jsonl(tmp_path / "m.jsonl", *PUBLISHED)
    status, _, err = parsimony("matrix", path, "--page", tmp_path / "nowhere" / "p.html")
    assert status == cli.CANNOT
    assert "folder that is not there" in err
