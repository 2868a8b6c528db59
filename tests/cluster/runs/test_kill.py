"""SIGKILL of the driver at random moments: the same command then gives the same verdicts, and does nothing twice."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from cluster.ledger import LedgerReader
from cluster.sandboxes import labels

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples"
QUICK = ("csvsniff-2", "ratelimit-6", "bytesize-10")
COMMAND = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade"]


def grading(out: Path, *, tasks: Path, predictions: Path, options: list[str]) -> list[str]:
    return [*COMMAND, "--tasks", str(tasks), "--predictions", str(predictions), "--out", str(out), *options]


def kill_and_finish(command: list[str], kills: int, within: float, chance: random.Random) -> list[float]:
    """Start the command `kills` times and kill its driver (only that process) at some moment; then let it finish."""
    moments = []
    for _ in range(kills):
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        moments.append(chance.uniform(0.3, within))
        try:
            driver.wait(moments[-1])
        except subprocess.TimeoutExpired:
            driver.send_signal(signal.SIGKILL)
            driver.wait()
    last = subprocess.run(command, capture_output=True, text=True, check=False)
    assert last.returncode == 0, (moments, last.stderr[-2000:])
    return moments


def check(out: Path, expected: dict[tuple[str, str, int], set[str]], moments: list[float]) -> None:
    """Every candidate as expected; every execution durable once."""
    lines = [json.loads(line) for line in (out / "outcomes.jsonl").read_text().splitlines()]
    found = {(x["task_id"], x["arm"], x["seed"]): x["outcome"] for x in lines}
    assert found.keys() == expected.keys()
    wrong = {key: outcome for key, outcome in found.items() if outcome not in expected[key]}
    assert not wrong, moments
    keys = Counter(row["execution_key"] for row in LedgerReader(out / "ledger").rows("execution", ["execution_key"]))
    assert max(keys.values()) == 1, moments
    spent = [r for r in LedgerReader(out / "ledger").rows("cost", ["kind"]) if r["kind"] == "compute_spent"]
    assert len(spent) == len(keys), moments


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_killed_driver_loses_nothing_that_was_durable(tmp_path: Path) -> None:
    """Three kills over the first seconds of a run in the process sandbox."""
    out = tmp_path / "run"
    options = ["--sandbox", "process", "--workers", "2"]
    for task in QUICK:
        options += ["--task", task]
    command = grading(out, tasks=EXAMPLES / "tasks.jsonl", predictions=EXAMPLES / "predictions.jsonl", options=options)
    moments = kill_and_finish(command, 3, 6.0, random.Random())
    rows = [json.loads(line) for line in (EXAMPLES / "expected.jsonl").read_text().splitlines()]
    expected = {
        (r["instance_id"], r["arm"], r["seed"]): set(r["accepted_outcomes"]) for r in rows if r["instance_id"] in QUICK
    }
    check(out, expected, moments)


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.shared
def test_a_killed_driver_leaves_no_container(tmp_path: Path) -> None:
    """The same over Docker: what the dead drivers left is gone when the run is over."""
    folder = os.environ.get("PARSIMONY_TASKS")
    if not folder:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    task = "fastify__secure-json-parse-142"
    if (
        shutil.which("docker") is None
        or subprocess.run(
            ["docker", "image", "inspect", "given/secure-json-parse-142:1"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("no Docker Engine here that has the image of the task")
    rows = [json.loads(line) for line in (Path(folder) / "expected.jsonl").read_text().splitlines()]
    wanted = {
        r["model_name_or_path"]: r for r in rows if r["instance_id"] == task and "ab-" not in r["model_name_or_path"]
    }
    predictions = tmp_path / "predictions.jsonl"
    with predictions.open("w") as lines:
        for path in sorted((Path(folder) / "predictions").glob("*.jsonl")):
            for row in map(json.loads, path.read_text().splitlines()):
                if row["instance_id"] == task and row["model_name_or_path"] in wanted:
                    lines.write(json.dumps({**row, "seed": 0}) + "\n")
    out = tmp_path / "run"
    command = grading(out, tasks=Path(folder) / "tasks.jsonl", predictions=predictions, options=["--workers", "3"])
    moments = kill_and_finish(command, 3, 5.0, random.Random())
    expected = {
        (task, name, 0): {"tampered", "not_resolved"}
        if row["expected_outcome"] == "tampered_or_not_resolved"
        else {row["expected_outcome"]}
        for name, row in wanted.items()
    }
    check(out, expected, moments)
    run_id = next(
        json.loads(row["data"])["run_id"]
        for row in LedgerReader(out / "ledger").rows("event")
        if row["name"] == "run.started"
    )
    time.sleep(0.5)
    left = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label={labels.RUN}={run_id}"], capture_output=True, text=True, check=True
    )
    assert left.stdout == "", moments
