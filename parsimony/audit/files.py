"""The file of an audit: `NAME.audit.json` beside `NAME.reference.json`, and who is quarantined by it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from parsimony.audit.model import Check, TaskAudit
from parsimony.errors import InputError
from parsimony.tasks import Task

SCHEMA: Final = 1
_MEND: Final = "run `parsimony audit run` to write it anew"


@dataclass(frozen=True, slots=True)
class Audit:
    """What is known of the tasks of a file.

    Attributes:
        tasks: the newest audit of each task.
        started_at, finished_at: of the newest audit, ISO 8601 in UTC.
        missing: tasks that the newest audit could not look at, with the reasons.
        reporting: checks on how results are reported, which hold for the file as a whole.
        only: the tasks that the newest audit was asked for; empty for all of the file.
    """

    started_at: str = ""
    finished_at: str = ""
    tasks: Mapping[str, TaskAudit] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reporting: tuple[Check, ...] = ()
    only: tuple[str, ...] = ()

    @property
    def quarantined(self) -> dict[str, tuple[str, ...]]:
        """Tasks that failed, with the reasons."""
        return {name: task.reasons for name, task in self.tasks.items() if task.reasons}

    def following(self, earlier: Audit) -> Self:
        """This audit, with what an earlier one says of tasks that this one did not look at."""
        return replace(self, tasks={**earlier.tasks, **self.tasks})

    def to_json(self) -> dict[str, Any]:
        """As a JSON object with a schema version."""
        return {
            "schema": SCHEMA,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "only": list(self.only),
            "quarantined": {name: list(reasons) for name, reasons in sorted(self.quarantined.items())},
            "missing": {name: list(reasons) for name, reasons in sorted(self.missing.items())},
            "reporting": [check.to_json() for check in self.reporting],
            "tasks": {name: task.to_json() for name, task in sorted(self.tasks.items())},
        }

    def write(self, path: Path) -> None:
        """Write to `path`, by rename."""
        fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
        text = (
            json.dumps(self.to_json(), indent=1, ensure_ascii=True) + "\n"
        )  # lone surrogates of test ids stay escaped
        fresh.write_text(text, encoding="ascii")
        fresh.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote.

        Raises:
            InputError: not there, not JSON, or of another shape or version.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", mend=_MEND, file=str(path)) from None
        except ValueError as error:
            raise InputError(f"is not JSON ({error})", mend=_MEND, file=str(path)) from None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise InputError(f"is not an audit of schema {SCHEMA}", mend=_MEND, file=str(path))
        try:
            return cls(
                str(data["started_at"]),
                str(data["finished_at"]),
                {name: TaskAudit.from_json(name, one) for name, one in data["tasks"].items()},
                {name: tuple(reasons) for name, reasons in data["missing"].items()},
                tuple(Check.from_json(one) for one in data["reporting"]),
                tuple(data["only"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"has a damaged entry ({error!r})", mend=_MEND, file=str(path)) from None


def audit_file(reference: Path) -> Path:
    """The audit that stands beside a reference: `tasks.reference.json` -> `tasks.audit.json`."""
    name = reference.name.removesuffix(".json").removesuffix(".reference")
    return reference.with_name(f"{name}.audit.json")


def quarantined(path: Path, tasks: Iterable[Task] | None = None) -> Mapping[str, tuple[str, ...]]:
    """Which tasks an audit takes out of denominators, and why; nothing where there is no audit.

    Args:
        path: the file of the audit (`audit_file`).
        tasks: as they are now. A task that changed since it was audited is another task, and is not quarantined by
            what the audit says of the old one. Without them, every entry counts.

    Raises:
        InputError: the file is there and cannot be read.
    """
    if not path.exists():
        return {}
    audit = Audit.read(path)
    if tasks is None:
        return audit.quarantined
    found = {}
    for task in tasks:
        one = audit.tasks.get(task.instance_id)
        if one and one.reasons and (one.task_digest, one.gates_digest) == (task.digest, task.gates_digest):
            found[task.instance_id] = one.reasons
    return found
