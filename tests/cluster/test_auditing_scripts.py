"""Real audits of tasks in JavaScript: an example in processes of this machine, and real tasks in their images."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cluster.auditing import audit_tasks
from cluster.sweep import Sweep
from parsimony.audit import Check, Group, TaskAudit, Verdict
from parsimony.cli.progress import Quiet

pytest.importorskip("tree_sitter_javascript", reason="the extra `languages` is not installed")

EXAMPLES = Path(__file__).parents[2] / "configs" / "examples"
IMAGES = {
    "micromatch__picomatch-126": "given/picomatch-126:1",
    "delvedor__find-my-way-442": "given/find-my-way-442:1",
    "fastify__secure-json-parse-142": "given/secure-json-parse-142:1",
}


def audit(row: dict[str, Any], root: Path, mutants: int, **settings: Any) -> TaskAudit:
    (root / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    data = {"tasks": "tasks.jsonl", "predictions": ["none.jsonl"], "repeats": 1, "concurrency": 1, **settings}
    sweep = Sweep.model_validate(data).resolved(root)
    return audit_tasks(sweep, root / "audit", Quiet(), mutants=mutants).audit.tasks[row["instance_id"]]


def check(task: TaskAudit, group: Group) -> Check:
    (found,) = task.of(group)
    return found


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["instance_id"]: row for row in map(json.loads, path.read_text().splitlines())}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_example_on_this_machine(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    row = rows(EXAMPLES / "tasks-js.jsonl")["routes-js-1"]
    task = audit({**row, "tree": str(EXAMPLES / row["tree"])}, tmp_path, 4, sandbox={"kind": "process"})
    assert task.reasons == ()
    mutants, coverage = check(task, Group.MUTANTS), check(task, Group.COVERAGE)
    assert mutants.verdict is Verdict.PASS
    assert mutants.data["judged"] == 4
    assert coverage.verdict is Verdict.PASS
    assert coverage.data["covered"] == coverage.data["executable"] == 7


@pytest.mark.docker
@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", IMAGES)
def test_real_tasks_in_their_images(name: str, tmp_path: Path) -> None:
    folder = os.environ.get("PARSIMONY_TASKS")
    if not folder:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    if subprocess.run(["docker", "image", "inspect", IMAGES[name]], capture_output=True, check=False).returncode:
        pytest.skip(f"no Docker Engine here that has the image {IMAGES[name]}")
    task = audit(rows(Path(folder) / "tasks.jsonl")[name], tmp_path, 3)
    assert check(task, Group.MUTANTS).verdict in {Verdict.PASS, Verdict.FINDING}
    assert check(task, Group.MUTANTS).data["judged"] == 3
    coverage = check(task, Group.COVERAGE)
    assert coverage.verdict is Verdict.PASS, coverage.evidence
    assert coverage.data["executable"] > 0
