"""Whether the tasks of a run are under audit: what the seventh invariant is checked on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from cluster.sweep import Sweep
from parsimony.audit import Audit, audit_file
from parsimony.cli.auditing_schedule import due_line, read_schedule, stand
from parsimony.schedules import State
from parsimony.tasks import Task


def audit_faults(sweep: Sweep, tasks: Mapping[str, Task], at: datetime) -> str | None:
    """What is wrong with the audit beside the sweep's reference: "" for nothing, None where there is no audit.

    A task that failed its audit is no fault of the instrument: that it left the rates is what audits are for. A task
    that was not looked at as it is now is one, and so is an audit that is overdue by its schedule.

    Raises:
        InputError: the audit or its schedule cannot be read.
    """
    if sweep.reference is None or not (path := audit_file(sweep.reference)).exists():
        return None
    audit = Audit.read(path)
    unseen = [name for name, task in tasks.items() if not _is_of(audit, task)]
    if unseen:
        return f"{path.name}: {len(unseen)} of {len(tasks)} tasks were not audited as they are now ({_some(unseen)})"
    folder = _folder(sweep.tasks.file)
    standing = stand(folder, read_schedule(folder), at)
    return f"{folder.name}: {due_line(standing)}" if standing.state is State.OVERDUE else ""


def _is_of(audit: Audit, task: Task) -> bool:
    one = audit.tasks.get(task.instance_id)
    return one is not None and (one.task_digest, one.gates_digest) == (task.digest, task.gates_digest)


def _folder(tasks: Path) -> Path:
    """Where `parsimony audit run --tasks FILE` keeps its audits unless told otherwise."""
    return tasks.with_suffix(".audit")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
