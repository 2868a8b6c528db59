"""The seventh invariant on files: no audit, an audit of all tasks, of some, of tasks that changed, and a late one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parsimony.audit import Audit, TaskAudit
from parsimony.cli.invariants_audit import audit_faults
from parsimony.errors import InputError
from parsimony.tasks import Task

NOW = datetime(2026, 12, 1, tzinfo=UTC)
TASKS = {
    name: Task(name, "o/r", "0" * 40, ("a",), ("b",), test_cmd="true", log_format="pytest") for name in ("t-1", "t-2")
}


def of(task: Task) -> TaskAudit:
    return TaskAudit(task.instance_id, task.digest, task.gates_digest, "e", "2026-11-30T00:00:00Z", ())


def audited(folder: Path, *tasks: Task) -> None:
    found = {task.instance_id: of(task) for task in tasks}
    Audit("2026-11-30T00:00:00Z", "2026-11-30T01:00:00Z", found).write(folder / "tasks.audit.json")


def faults(folder: Path) -> str | None:
    sweep: Any = SimpleNamespace(
        reference=folder / "tasks.reference.json", tasks=SimpleNamespace(file=folder / "tasks.jsonl")
    )
    return audit_faults(sweep, TASKS, NOW)


def test_without_an_audit_there_is_nothing_to_check(tmp_path: Path) -> None:
    assert faults(tmp_path) is None


def test_an_audit_of_every_task_as_it_is_now(tmp_path: Path) -> None:
    audited(tmp_path, *TASKS.values())
    assert faults(tmp_path) == ""


@pytest.mark.parametrize("second", [None, replace(TASKS["t-2"], test_cmd="false")])
def test_a_task_that_was_not_audited_or_changed_since_is_named(tmp_path: Path, second: Task | None) -> None:
    audited(tmp_path, TASKS["t-1"], *([second] if second else []))
    assert faults(tmp_path) == "tasks.audit.json: 1 of 2 tasks were not audited as they are now (t-2)"


@pytest.mark.parametrize(("every", "late"), [("7d", False), ("1h", True)])
def test_an_audit_that_is_overdue(tmp_path: Path, every: str, late: bool) -> None:
    audited(tmp_path, *TASKS.values())
    folder = tmp_path / "tasks.audit" / "audits" / "2026-11-30"
    folder.mkdir(parents=True)
    (tmp_path / "tasks.audit.json").rename(folder / "audit.json")
    audited(tmp_path, *TASKS.values())
    text = f"tasks: ../tasks.jsonl\nevery: {every}\ngrace: 1h\nmade_at: '2026-11-29T00:00:00Z'\n"
    (tmp_path / "tasks.audit" / "schedule.yaml").write_text(text)
    told = faults(tmp_path)
    assert told is not None
    assert ("overdue" in told) is late


def test_an_audit_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "tasks.audit.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        faults(tmp_path)
