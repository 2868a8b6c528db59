"""The real tasks and candidates (PARSIMONY_TASKS names their folder)."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from parsimony.tasks import read_predictions, read_tasks

pytestmark = pytest.mark.shared


@pytest.fixture
def folder() -> Path:
    named = os.environ.get("PARSIMONY_TASKS")
    if not named:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    return Path(named)


def test_every_task_is_taken(folder: Path) -> None:
    found = read_tasks(folder / "tasks.jsonl")
    rows = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    assert found.rejected == ()
    assert len(found.tasks) == len(rows) == 12
    for task, row in zip(found.tasks, rows, strict=True):
        assert list(task.fail_to_pass) == json.loads(row["FAIL_TO_PASS"])
        assert list(task.pass_to_pass) == json.loads(row["PASS_TO_PASS"])
        assert task.limits.timeout_s == row["timeout_s"]
        assert set(row["test_files_new"]) <= set(task.test_files) == set(row["test_files"])
        assert task.patch
        assert task.test_patch
        assert (task.image, task.log_format) == (row["image"], row["log_format"])
    assert max(len(task.pass_to_pass) for task in found.tasks) == 7588


def test_every_candidate_is_taken(folder: Path) -> None:
    known = {task.instance_id for task in read_tasks(folder / "tasks.jsonl").tasks}
    expected = [json.loads(line) for line in (folder / "expected.jsonl").read_text().splitlines()]
    files = [
        path for path in sorted((folder / "predictions").glob("*.jsonl")) if "-seed" not in path.name
    ]  # those with -seed hold rows of predictions-ab.jsonl once more
    found = read_predictions(files, known=known)
    assert found.rejected == ()
    assert sorted((c.instance_id, str(c.model)) for c in found.candidates) == sorted(
        (row["instance_id"], row["model_name_or_path"]) for row in expected
    )


def test_the_ab_example_is_two_arms_of_five_seeds(folder: Path) -> None:
    candidates = read_predictions(folder / "predictions" / "predictions-ab.jsonl").candidates
    assert {(c.arm, c.seed) for c in candidates} == {
        (arm, seed) for arm in ("baseline", "candidate") for seed in range(1, 6)
    }
    assert all(c.usage is not None and c.usage.tokens and c.trace is not None for c in candidates)


def test_a_latin_1_patch_keeps_its_bytes(folder: Path) -> None:
    path = folder / "predictions" / "predictions-edge_latin1.jsonl"
    (candidate,) = read_predictions(path).candidates
    assert candidate.patch == base64.b64decode(json.loads(path.read_text())["model_patch_base64"])
    assert b"Caf\xe9" in candidate.patch
