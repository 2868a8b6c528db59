"""The example tasks: what is in the files is what the folders say, and what the folders say is true."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parsimony.tasks import read_predictions, read_tasks

Script = Callable[[str], ModuleType]
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "configs" / "examples"
SUFFIXES = ("", "-js")


@pytest.fixture(scope="module")
def build(script: Script) -> ModuleType:
    return script("build_examples")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()]


def examples(build: ModuleType, suffix: str) -> list[Any]:
    return [build.load(EXAMPLES / "tasks" / row["instance_id"]) for row in rows(f"tasks{suffix}.jsonl")]


def test_enough_of_both_languages() -> None:
    languages = [row["language"] for suffix in SUFFIXES for row in rows(f"tasks{suffix}.jsonl")]
    assert languages.count("python") >= 8
    assert languages.count("javascript") >= 2
    assert len(list(EXAMPLES.glob("tasks/*/task.toml"))) == len(languages)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_row_can_be_used(suffix: str) -> None:
    tasks = read_tasks(EXAMPLES / f"tasks{suffix}.jsonl")
    known = {task.instance_id for task in tasks.tasks}
    candidates = read_predictions([EXAMPLES / f"predictions{suffix}.jsonl"], known=known)
    assert tasks.rejected == ()
    assert candidates.rejected == ()
    assert len(candidates.candidates) == 6 * len(known)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_files_are_made_of_the_folders(build: ModuleType, suffix: str) -> None:
    found = examples(build, suffix)
    tasks = rows(f"tasks{suffix}.jsonl")
    made = [build.task_row(e, row["FAIL_TO_PASS"], row["PASS_TO_PASS"]) for e, row in zip(found, tasks, strict=True)]
    assert made == tasks
    entries = list(build.handed_in(found))
    assert [build.prediction_row(*entry) for entry in entries] == rows(f"predictions{suffix}.jsonl")
    assert [build.expected_row(*entry) for entry in entries] == rows(f"expected{suffix}.jsonl")


def test_the_candidate_arm_is_better_but_not_everywhere() -> None:
    resolved: dict[str, dict[str, int]] = {"baseline": {}, "candidate": {}}
    for row in rows("expected.jsonl"):
        per_task = resolved[row["arm"]]
        per_task[row["instance_id"]] = per_task.get(row["instance_id"], 0) + row["resolved"]
    baseline, candidate = resolved["baseline"], resolved["candidate"]
    assert sum(candidate.values()) > sum(baseline.values())
    assert any(candidate[task] < baseline[task] for task in baseline)
    assert any(candidate[task] == baseline[task] for task in baseline)


def test_the_readme_counts_the_gates() -> None:
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for suffix in SUFFIXES:
        for row in rows(f"tasks{suffix}.jsonl"):
            counts = f"{len(row['FAIL_TO_PASS'])} / {len(row['PASS_TO_PASS'])}"
            line = rf"^\| {row['instance_id']} \|.*\| {counts} \|$"
            assert re.search(line, table, re.MULTILINE), line


def test_every_kind_of_candidate_is_there() -> None:
    kinds = {row["kind"] for row in rows("expected.jsonl")}
    assert kinds == {"gold", "alternative", "own_tests", "wrong", "breaks", "does_not_apply", "empty", "hangs", "cheat"}


@pytest.mark.slow
@pytest.mark.parametrize("task", ["bytesize-10", "duration-js-2"])
def test_what_a_folder_says_is_true(build: ModuleType, task: str) -> None:
    if "-js-" in task and shutil.which("node") is None:
        pytest.skip("there is no node on this machine")
    example = build.load(EXAMPLES / "tasks" / task)
    row = next(row for suffix in SUFFIXES for row in rows(f"tasks{suffix}.jsonl") if row["instance_id"] == task)
    assert build.gates(example) == (row["FAIL_TO_PASS"], row["PASS_TO_PASS"])
    for candidate in example.candidates:
        build.confirm(example, candidate, row["FAIL_TO_PASS"] + row["PASS_TO_PASS"])


@pytest.fixture
def small(build: ModuleType, tmp_path: Path) -> Any:
    """A copy of an example whose candidates can be spoiled."""
    shutil.copytree(EXAMPLES / "tasks" / "semver-4", tmp_path / "semver-4")
    return build.load(tmp_path / "semver-4")


@pytest.mark.slow
def test_a_false_statement_is_found(build: ModuleType, small: Any) -> None:
    gold = small.candidates[0]
    wrong = build.Candidate("gold", "wrong", "not_resolved", "said to be wrong", gold.by, None, gold.patch)
    with pytest.raises(build.Problem, match="semver-4: gold: resolved, not not_resolved"):
        build.confirm(small, wrong, ["tests/test_version.py::test_sorted"])
    cheat = build.Candidate("gold", "cheat", "resolved", "fails on its own", gold.by, None, b"--- a/README.md\n")
    with pytest.raises(build.Problem, match="does_not_apply"):
        build.confirm(small, cheat, [])


def test_tap_of_node(build: ModuleType) -> None:
    text = """TAP version 13
# Subtest: alone # 1
ok 1 - alone \\# 1
  ---
  type: 'test'
  ...
# Subtest: suite
    # Subtest: inner > one
    ok 1 - inner > one
    # Subtest: two
    not ok 2 - two
    1..2
not ok 2 - suite
1..2
"""
    assert build.read_tap(text) == {"alone # 1": "passed", "suite > inner > one": "passed", "suite > two": "failed"}
