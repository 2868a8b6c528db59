"""The file of an audit: what is read back, and who is quarantined by it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from parsimony.audit import Audit, Check, Group, TaskAudit, Verdict, audit_file, quarantined
from parsimony.errors import InputError
from parsimony.tasks import Task

WITH_A_DAMAGED_TASK = (
    '{"schema": 1, "tasks": {"a": {}}, "started_at": "", "finished_at": "", "missing": {}, "reporting": [], "only": []}'
)


def audited(task: Task, verdict: Verdict = Verdict.FAIL) -> TaskAudit:
    checks = (
        Check("canary.exit-zero", Group.CANARIES, verdict, "a patch is resolved", {"outcome": "resolved"}),
        Check("T.10", Group.CHECKLIST, verdict, "canary.exit-zero"),
    )
    unstable = {"t::\udcff": {"gold": ["passed", None], "base": []}}
    return TaskAudit(
        task.instance_id, task.digest, task.gates_digest, "sha256:env", "2026-12-01T03:00:00Z", checks, unstable
    )


def test_it_reads_back_as_it_was_written(task: Task, tmp_path: Path) -> None:
    audit = Audit(
        "2026-12-01T03:00:00Z", "2026-12-01T04:00:00Z", {"demo-1": audited(task)}, {"x": ("gone",)}, (), ("x",)
    )
    audit.write(tmp_path / "a.audit.json")
    assert Audit.read(tmp_path / "a.audit.json") == audit
    assert json.loads((tmp_path / "a.audit.json").read_text())["schema"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.audit.json"]


def test_it_stands_beside_the_reference() -> None:
    assert audit_file(Path("d/tasks.reference.json")) == Path("d/tasks.audit.json")
    assert audit_file(Path("d/other.json")) == Path("d/other.audit.json")


def test_who_is_quarantined(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "a.audit.json"
    assert quarantined(path) == {}
    Audit(tasks={"demo-1": audited(task), "demo-2": audited(task, Verdict.FINDING)}).write(path)
    reasons = {"demo-1": ("canary.exit-zero: a patch is resolved",)}
    assert quarantined(path) == reasons
    assert quarantined(path, [task]) == reasons


def test_a_task_that_changed_is_another_task(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "a.audit.json"
    Audit(tasks={"demo-1": audited(task)}).write(path)
    assert quarantined(path, [replace(task, test_cmd="other")]) == {}
    assert quarantined(path, [replace(task, pass_to_pass=())]) == {}


def test_a_later_audit_replaces_only_what_it_looked_at(task: Task) -> None:
    first = Audit("a", "b", {"demo-1": audited(task), "demo-2": audited(task)}, {"old": ("x",)})
    second = Audit("c", "d", {"demo-1": audited(task, Verdict.PASS)})
    both = second.following(first)
    assert set(both.quarantined) == {"demo-2"}
    assert (both.started_at, both.missing) == ("c", {})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1}', WITH_A_DAMAGED_TASK])
def test_a_damaged_file_is_an_input_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.audit.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a\.audit\.json"):
        quarantined(path)
