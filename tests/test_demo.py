"""The example sweep, graded by the product itself: every candidate gets the verdict that a plain grading gave it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "configs" / "examples"

pytestmark = pytest.mark.slow


def parsimony(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def rows(path: Path, arm: str = "arm") -> dict[tuple[str, str, int], dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row.get("instance_id") or row["task_id"], row[arm], row["seed"]): row for row in found}


def assert_true_verdicts(run: Path, expected: Path) -> None:
    wanted, outcomes = rows(expected), rows(run / "outcomes.jsonl")
    assert outcomes.keys() == wanted.keys()
    wrong = {
        key: (outcomes[key]["outcome"], row["candidate"], outcomes[key]["reasons"])
        for key, row in wanted.items()
        if outcomes[key]["outcome"] not in row["accepted_outcomes"]
    }
    assert wrong == {}
    assert all(outcomes[key]["reasons"] for key, row in wanted.items() if row["kind"] == "cheat")


def test_demo(tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = parsimony("run", "configs/demo.yaml", "--out", str(run))
    assert first.returncode == 0, first.stderr
    assert_true_verdicts(run, EXAMPLES / "expected.jsonl")
    assert "60 planned = 60 with a verdict + 0 missing" in first.stdout
    assert (run / "report.html").stat().st_size > 0
    footprints = rows(run / "footprints.jsonl", "agent")
    own = {key for key, row in rows(EXAMPLES / "expected.jsonl").items() if row["kind"] == "gold"}
    assert own
    assert {footprints[key]["model_human_ratio"] for key in own} == {1.0}

    before = (run / "outcomes.jsonl").read_bytes()
    executed = json.loads((run / "summary.json").read_text())["cost"]["kinds"]["compute_spent"]
    second = parsimony("run", "configs/demo.yaml", "--out", str(run))
    assert second.returncode == 0, second.stderr
    assert (run / "outcomes.jsonl").read_bytes() == before
    assert json.loads((run / "summary.json").read_text())["cost"]["kinds"]["compute_spent"] == executed


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")
def test_javascript(tmp_path: Path) -> None:
    run = tmp_path / "run"
    files = ("--tasks", str(EXAMPLES / "tasks-js.jsonl"), "--predictions", str(EXAMPLES / "predictions-js.jsonl"))
    graded = parsimony("grade", *files, "--sandbox", "process", "--workers", "2", "--out", str(run))
    assert graded.returncode == 0, graded.stderr
    assert_true_verdicts(run, EXAMPLES / "expected-js.jsonl")
