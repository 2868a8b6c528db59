"""A small benchmark whose sandbox is fake: what a patch says is what its tests do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cluster.agent import AgentSpec
from cluster.engines import Engine
from cluster.engines.local import LocalEngine
from cluster.grading import Graded, grade_sweep
from cluster.plan import Plan, Unit
from cluster.sandboxes.fake import FakeSandbox
from cluster.sweep import Sweep
from parsimony.execution import (
    ApplyRecord,
    CapturedOutput,
    Ending,
    Evidence,
    Execution,
    ExecutionOutcome,
    ExecutionRequest,
    ResourceUsage,
    SandboxResult,
    TestResult,
    TestStatus,
)
from parsimony.runner import GradingOrder
from parsimony.scorer import Verdict

PATCH = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-old\n+{}\n"


def patch(word: str) -> str:
    """A patch whose one new line is `word`: `fixed` makes every test pass, `breaks` all but test b."""
    return PATCH.format(word)


def read(order: GradingOrder, result: SandboxResult, /, *, sandbox: str) -> Execution:
    """What the machine saw: decided by the words of the patch."""
    added = order.request.files.get("candidate.0", b"")
    statuses = {"a": TestStatus.FAILED, "b": TestStatus.PASSED}
    if b"+fixed" in added:
        statuses["a"] = TestStatus.PASSED
    if b"+breaks" in added:
        statuses = {"a": TestStatus.PASSED, "b": TestStatus.FAILED}
    return Execution(
        execution_key=order.request.execution_key,
        outcome=ExecutionOutcome.COMPLETED,
        exit_status=0,
        tests={name: TestResult(status, 0.1) for name, status in statuses.items()},
        evidence=Evidence.REPORT,
        reasons=(),
        apply=ApplyRecord("git-apply"),
        usage=result.usage,
        phases=result.phases,
        log=result.log,
        sandbox=sandbox,
        runner_version="1",
        started_at=1.0,
    )


class Watcher:
    """An observer that keeps what it was told."""

    def __init__(self) -> None:
        self.pending = -1
        self.verdicts: list[tuple[str, str]] = []
        self.messages: list[str] = []

    def planned(self, plan: Plan, pending: int, rejected: int) -> None:
        self.pending = pending

    def verdict(self, unit: Unit, verdict: Verdict) -> None:
        self.verdicts.append((unit.task.instance_id, verdict.outcome.value))

    def progress(self, counts: Any) -> None:
        pass

    def message(self, text: str) -> None:
        self.messages.append(text)


Script = Callable[[ExecutionRequest], SandboxResult | Exception]


def passes(request: ExecutionRequest) -> SandboxResult:
    """A sandbox without faults."""
    log = CapturedOutput(b"hello\n", b"", 6)
    return SandboxResult(Ending.EXITED, 0, {}, log, ResourceUsage(2.0, 1.0, 1 << 20), {"run": 2.0})


@dataclass
class Bench:
    """A folder with inputs, and runs on it."""

    root: Path
    script: Script = passes
    digests: dict[str | None, str] = field(default_factory=dict)
    watcher: Watcher = field(default_factory=Watcher)
    sandboxes: list[FakeSandbox] = field(default_factory=list)

    def tasks(self, *rows: dict[str, Any]) -> None:
        self._write("tasks.jsonl", [{**self.row(f"t-{n}"), **row} for n, row in enumerate(rows, 1)])

    def row(self, name: str) -> dict[str, Any]:
        return {
            "instance_id": name, "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": ["b"], "test_cmd": "pytest",
            "log_format": "pytest", "image": "img:1", "patch": patch("fixed"), "test_patch": "",
        }  # fmt: skip

    def predictions(self, *rows: tuple[str, str, int, str | None], **more: Any) -> None:
        made = [
            {"instance_id": task, "arm": arm, "seed": seed, "model_patch": patch(word) if word else "", **more}
            for task, arm, seed, word in rows
        ]
        self._write("predictions.jsonl", made)

    def _write(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        (self.root / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def sweep(self, **more: Any) -> Sweep:
        data = {"name": "bench", "tasks": "tasks.jsonl", "predictions": ["predictions.jsonl"], "concurrency": 2, **more}
        return Sweep.model_validate(data).resolved(self.root)

    def engine(self, _: Sweep) -> Engine:
        sandbox = FakeSandbox(lambda request: self.script(request), digests=self.digests)
        self.sandboxes.append(sandbox)

        class Factory:
            async def open(self, slots: int) -> FakeSandbox:
                return sandbox

        return LocalEngine(AgentSpec(Factory(), read, 2))

    def grade(self, **more: Any) -> Graded:
        self.watcher = Watcher()
        return grade_sweep(self.sweep(**more), self.root / "out", self.watcher, engine=self.engine)

    @property
    def requests(self) -> int:
        """How many executions the last run asked for."""
        return len(self.sandboxes[-1].requests)

    def lines(self) -> list[dict[str, Any]]:
        text = (self.root / "out" / "outcomes.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def outcomes(self) -> dict[tuple[str, str, int], str]:
        return {(x["task_id"], x["arm"], x["seed"]): x["outcome"] for x in self.lines()}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Two tasks, two arms, two seeds."""
    made = Bench(tmp_path)
    made.tasks({}, {})
    made.predictions(
        ("t-1", "x", 1, "fixed"), ("t-1", "x", 2, "wrong"), ("t-1", "y", 1, "fixed"), ("t-1", "y", 2, "breaks"),
        ("t-2", "x", 1, None), ("t-2", "x", 2, "fixed"), ("t-2", "y", 1, "fixed"), ("t-2", "y", 2, "fixed"),
    )  # fmt: skip
    yield made
