"""The reference: what each test does under the gold patch and on the base tree, seen n times each.

Made by `parsimony calibrate`, stored as JSON beside the task file, keyed by task and environment digest: a task or an
image that changed has no reference until it is calibrated again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from parsimony.canonical import digest_json
from parsimony.errors import InputError
from parsimony.execution import TestStatus
from parsimony.tasks.model import Task

SCHEMA: Final = 1
_SUCCESS: Final = frozenset({TestStatus.PASSED, TestStatus.XPASS, TestStatus.XFAIL})
MEND: Final = "run `parsimony calibrate` again to write it anew"

Statuses = tuple[TestStatus | None, ...]
"""A test's status in each run; None = not seen in that run."""


@dataclass(frozen=True, slots=True)
class TaskReference:
    """Outcomes of one task by test id.

    Attributes:
        task_digest, gates_digest, environment_digest: what it holds for.
        gold, base: test id -> status per run. Only ids of the gates are kept.
        problems: why this task is unsound here (gold fails, base passes), in plain words; empty = sound.
    """

    instance_id: str
    task_digest: str
    gates_digest: str
    environment_digest: str
    gold: Mapping[str, Statuses]
    base: Mapping[str, Statuses]
    problems: tuple[str, ...] = ()
    peak_memory_bytes: int | None = None
    seconds: float | None = None

    @property
    def unstable(self) -> frozenset[str]:
        """Tests of the gates whose status is not the same in every gold run, or in every base run."""
        return frozenset(
            test for runs in (self.gold, self.base) for test, statuses in runs.items() if len(set(statuses)) > 1
        )

    @property
    def digest(self) -> str:
        """Identity of what a verdict takes from a reference."""
        return digest_json({"gold": {test: [s and s.value for s in runs] for test, runs in sorted(self.gold.items())},
                            "unstable": sorted(self.unstable)})  # fmt: skip

    def holds_for(self, task: Task, environment_digest: str) -> bool:
        """Whether this was made for just this task in just this environment."""
        return (
            self.task_digest == task.digest
            and self.gates_digest == task.gates_digest
            and self.environment_digest == environment_digest
        )


def judge(task: Task, gold: Mapping[str, Statuses], base: Mapping[str, Statuses]) -> tuple[str, ...]:
    """What is unsound about a task, given its gold and base runs; empty when all is as its gates say."""
    problems = []
    stable = [t for t in (*task.fail_to_pass, *task.pass_to_pass) if len(set(gold.get(t, ()))) <= 1]
    failing = [t for t in stable if not gold.get(t) or gold[t][0] not in _SUCCESS | {TestStatus.SKIPPED}]
    if failing:
        problems.append(f"gold does not pass {_some(failing)}")
    skipped = [t for t in task.fail_to_pass if t in stable and gold.get(t) and gold[t][0] is TestStatus.SKIPPED]
    if skipped:
        problems.append(f"gold skips {_some(skipped)} of FAIL_TO_PASS")
    passing = [t for t in task.fail_to_pass if base.get(t) and all(s in _SUCCESS for s in base[t])]
    if passing:
        problems.append(f"the base tree already passes {_some(passing)} of FAIL_TO_PASS")
    if not [t for t in task.fail_to_pass if t in stable]:
        problems.append("no test of FAIL_TO_PASS is stable")
    return tuple(problems)


def _some(tests: Sequence[str]) -> str:
    more = f" and {len(tests) - 2} more" if len(tests) > 2 else ""
    return ", ".join(tests[:2]) + more


@dataclass(frozen=True, slots=True)
class Reference:
    """The references of a task file."""

    tasks: Mapping[str, TaskReference] = field(default_factory=dict)

    def for_task(self, task: Task, environment_digest: str) -> TaskReference | None:
        """The reference that holds for `task` in this environment; None when there is none."""
        found = self.tasks.get(task.instance_id)
        return found if found is not None and found.holds_for(task, environment_digest) else None

    def merged(self, others: Iterable[TaskReference]) -> Self:
        """With the references of `others` in place of older ones of the same tasks."""
        return type(self)({**self.tasks, **{one.instance_id: one for one in others}})

    def to_json(self) -> dict[str, Any]:
        """As a JSON object with a schema version."""
        return {"schema": SCHEMA, "tasks": {name: _task_to_json(one) for name, one in sorted(self.tasks.items())}}

    def write(self, path: Path) -> None:
        """Write to `path`, by rename."""
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
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
            raise InputError(
                f"cannot be read ({error.strerror})", mend="run `parsimony calibrate` first", file=str(path)
            ) from None
        except ValueError as error:
            raise InputError(f"is not JSON ({error})", mend=MEND, file=str(path)) from None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("tasks"), dict):
            raise InputError(f"is not a reference of schema {SCHEMA}", mend=MEND, file=str(path))
        try:
            return cls({name: _task_from_json(name, one) for name, one in data["tasks"].items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"has a damaged entry ({error!r})", mend=MEND, file=str(path)) from None


def _task_to_json(one: TaskReference) -> dict[str, Any]:
    return {
        "task_digest": one.task_digest,
        "gates_digest": one.gates_digest,
        "environment_digest": one.environment_digest,
        "problems": list(one.problems),
        "unstable": sorted(one.unstable),
        "peak_memory_bytes": one.peak_memory_bytes,
        "seconds": one.seconds,
        "gold": {test: [s and s.value for s in runs] for test, runs in one.gold.items()},
        "base": {test: [s and s.value for s in runs] for test, runs in one.base.items()},
    }


def _task_from_json(name: str, data: Mapping[str, Any]) -> TaskReference:
    def statuses(runs: Mapping[str, list[str | None]]) -> dict[str, Statuses]:
        return {test: tuple(s if s is None else TestStatus(s) for s in found) for test, found in runs.items()}

    return TaskReference(
        instance_id=name,
        task_digest=data["task_digest"],
        gates_digest=data["gates_digest"],
        environment_digest=data["environment_digest"],
        gold=statuses(data["gold"]),
        base=statuses(data["base"]),
        problems=tuple(data["problems"]),
        peak_memory_bytes=data["peak_memory_bytes"],
        seconds=data["seconds"],
    )
