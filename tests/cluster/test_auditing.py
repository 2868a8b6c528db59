"""Audits from tasks to what is stored. The sandbox is fake: a patch's words decide what its tests do, and the probe's
script is answered with a base tree."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.agent import AgentSpec
from cluster.auditing import PROBES, Audited, audit_tasks
from cluster.dispatch import RunEnding
from cluster.engines import Engine
from cluster.engines.local import LocalEngine
from cluster.ledger import LedgerReader
from cluster.plan import Plan, Unit, load
from cluster.sandboxes.fake import FakeSandbox, ended
from cluster.sweep import Sweep
from parsimony.audit import Audit, Group, Verdict, audit_file, script_source
from parsimony.audit.layout import wanted
from parsimony.errors import PermanentError
from parsimony.execution import (
    ApplyRecord,
    Evidence,
    Execution,
    ExecutionOutcome,
    ExecutionRequest,
    SandboxResult,
    TestResult,
    TestStatus,
)
from parsimony.runner import GradingOrder
from parsimony.scorer import Verdict as Scored
from parsimony.tasks import read_tasks

BASE = b"def add(a, b):\n    return a - b\n"
FIX = (
    "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,4 @@\n def add(a, b):\n"
    "-    return a - b\n+    if a is None:\n+        return b\n+    return a + b\n"
)
SCRIPT_BASE = b"module.exports = (a, b) => a - b\n"
SCRIPT_FIX = (
    "diff --git a/m.js b/m.js\n--- a/m.js\n+++ b/m.js\n@@ -1,1 +1,4 @@\n-module.exports = (a, b) => a - b\n"
    "+module.exports = (a, b) => {\n+  if (a === null) return b\n+  return a + b\n+}\n"
)
PASSED, FAILED = TestStatus.PASSED, TestStatus.FAILED


@dataclass
class World:
    """How the fake tests behave.

    Attributes:
        resolves: words; a patch that holds one of them makes every test pass.
        flaky: whether the second test of the gates passes every other time.
        base: the file that the fix changes.
        hits: what the tracer says.
        probe: further lines of the probe.
        broken: whether executions fail for good.
    """

    resolves: tuple[bytes, ...] = (b"+    return a + b\n",)
    flaky: bool = False
    base: bytes = BASE
    hits: tuple[str, ...] = ("lines 0 2,3,4", "hit 0 2 gate", "hit 0 4 gate", "hit 0 3 other", "done")
    probe: tuple[str, ...] = ()
    broken: Callable[[ExecutionRequest], bool] = lambda request: False
    coin: Iterator[TestStatus] = field(default_factory=lambda: itertools.cycle((PASSED, FAILED)))

    def run(self, request: ExecutionRequest) -> SandboxResult | Exception:
        if self.broken(request):
            return PermanentError("no such image")
        script = request.files["tests.sh"]
        if b"look_at_tree" in script:
            return ended(log="\n".join(("noise", *self._looked(), *self.probe)).encode() + b"\n")
        if b"AUDIT_HITS" in script:
            return ended(log="\n".join(f"parsimony-coverage {hit}" for hit in self.hits).encode() + b"\n")
        return ended(log=b"tests\n")

    def _looked(self) -> list[str]:
        number = 0  # the fix's own file is the first that is asked for
        file = base64.b64encode(self.base).decode()
        facts = ["head abc", "tree same", "commits 0", "later_count 0", "blobs 0", "lines 2", "blob_lines 0"]
        return [f"parsimony-probe {fact}" for fact in (*facts, f"file {number} {file}", "fix 0 absent", "done")]

    def read(self, order: GradingOrder, result: SandboxResult, /, *, sandbox: str) -> Execution:
        patch = order.request.files.get("candidate.0", b"")
        passes = any(word in patch for word in self.resolves)
        other = next(self.coin) if self.flaky else PASSED
        tests = {"a": PASSED if passes else FAILED, "b": other}
        return Execution(
            execution_key=order.request.execution_key,
            outcome=ExecutionOutcome.COMPLETED,
            exit_status=0,
            tests={name: TestResult(status, 0.1) for name, status in tests.items()},
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


class Silent:
    """An observer that keeps what was planned."""

    def __init__(self) -> None:
        self.pending: list[int] = []

    def planned(self, plan: Plan, pending: int, rejected: int) -> None:
        self.pending.append(pending)

    def verdict(self, unit: Unit, verdict: Scored) -> None:
        pass

    def progress(self, counts: Any) -> None:
        pass

    def message(self, text: str) -> None:
        pass


@dataclass
class Bench:
    """A task file and audits of it."""

    root: Path
    world: World = field(default_factory=World)
    observer: Silent = field(default_factory=Silent)
    time: datetime = datetime(2026, 12, 1, 3, tzinfo=UTC)

    def tasks(self, *rows: dict[str, Any]) -> None:
        made = [{**self.row(f"t-{n}"), **row} for n, row in enumerate(rows, 1)]
        (self.root / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))

    def row(self, name: str) -> dict[str, Any]:
        return {
            "instance_id": name, "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": ["b"], "test_cmd": "pytest",
            "log_format": "pytest", "image": "img:1", "patch": FIX, "test_patch": "", "language": "python",
        }  # fmt: skip

    @property
    def sweep(self) -> Sweep:
        data = {"tasks": "tasks.jsonl", "predictions": ["none.jsonl"], "repeats": 2, "concurrency": 2}
        return Sweep.model_validate(data).resolved(self.root)

    def engine(self, _: Sweep) -> Engine:
        sandbox = FakeSandbox(self.world.run)

        class Factory:
            async def open(self, slots: int) -> FakeSandbox:
                return sandbox

        return LocalEngine(AgentSpec(Factory(), self.world.read, 2))

    def clock(self) -> datetime:
        self.time += timedelta(minutes=1)
        return self.time

    def audit(self, mutants: int = 3, folder: str = "audit") -> Audited:
        self.observer = Silent()
        return audit_tasks(
            self.sweep, self.root / folder, self.observer, mutants=mutants, engine=self.engine, clock=self.clock
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.tasks({})
    return made


def states(found: Audited, name: str = "t-1") -> dict[Group, Verdict]:
    task = found.audit.tasks[name]
    return {group: task.state(group) for group in Group}


def test_a_sound_task_is_trusted(bench: Bench) -> None:
    found = bench.audit()
    assert found.ending is RunEnding.COMPLETED
    assert found.audit.quarantined == {}
    assert states(found) == {
        Group.CANARIES: Verdict.PASS,
        Group.GOLD: Verdict.PASS,
        Group.BASE: Verdict.PASS,
        Group.FLAKY: Verdict.PASS,
        Group.IMAGE: Verdict.PASS,
        Group.MUTANTS: states(found)[Group.MUTANTS],
        Group.COVERAGE: Verdict.FINDING,
        Group.STATEMENT: Verdict.NOT_APPLICABLE,
        Group.CHECKLIST: Verdict.FINDING,
    }
    task = found.audit.tasks["t-1"]
    (coverage,) = task.of(Group.COVERAGE)
    assert coverage.data["missed"] == ["m.py:3"]
    (mutants,) = task.of(Group.MUTANTS)
    assert mutants.data["judged"] == 3
    assert (found.audit.started_at, found.audit.finished_at) == ("2026-12-01T03:01:00Z", "2026-12-01T03:02:00Z")


def test_the_first_file_that_is_wanted_is_the_fix(bench: Bench) -> None:
    """What the fake probe rests on."""
    (task,) = read_tasks(bench.root / "tasks.jsonl").tasks
    assert wanted(task)[0] == "m.py"


def test_everything_is_executed_once(bench: Bench) -> None:
    bench.audit()
    first, second = bench.observer.pending
    assert first == 2 + 2 + PROBES
    units = len((bench.root / "audit" / "outcomes.jsonl").read_text().splitlines())
    blank = 2
    assert second == units - blank + 1, "canaries and mutants, and one traced run"
    attempts = list(LedgerReader(bench.root / "audit" / "ledger").rows("attempt"))
    assert len(attempts) == first + second


def test_a_canary_that_is_resolved_quarantines_the_task(bench: Bench) -> None:
    bench.world.resolves += (b"_exit(0)",)
    found = bench.audit()
    failed = {check.id for check in found.audit.tasks["t-1"].failed}
    assert failed == {"canary.exit-zero", "canary.forge-log", "canary.forge-report", "canary.forge-session"}
    assert found.audit.quarantined["t-1"][0].startswith("canary.exit-zero: a patch that ends the process")


def test_weak_tests_are_a_finding(bench: Bench) -> None:
    bench.world.resolves = (b"-    return a - b\n",)  # whatever stands there instead
    found = bench.audit(mutants=5)
    assert states(found)[Group.MUTANTS] is Verdict.FINDING
    assert "t-1" not in found.audit.quarantined


@pytest.fixture
def script_bench(bench: Bench) -> Bench:
    """The same in JavaScript."""
    pytest.importorskip("tree_sitter_javascript", reason="the extra `languages` is not installed")
    bench.tasks({"patch": SCRIPT_FIX, "language": "javascript", "log_format": "node-tap", "test_cmd": "node --test"})
    bench.world = World(
        resolves=(b"+  return a + b\n",),
        base=SCRIPT_BASE,
        hits=("ready", "began", "lines 0 1,2,3", "hit 0 1 load", "hit 0 2 gate", "hit 0 3 other", "done"),
    )
    return bench


def test_a_task_in_javascript_is_audited_as_well(script_bench: Bench) -> None:
    found = script_bench.audit(mutants=100)
    assert found.audit.quarantined == {}
    (mutants,) = found.audit.tasks["t-1"].of(Group.MUTANTS)
    assert mutants.data["judged"] == mutants.data["possible"] == 5
    operators = {one["operator"] for one in mutants.data["survived"]}
    assert operators == {"comparison", "return-none"}, "those that leave the word of the fake tests"
    (coverage,) = found.audit.tasks["t-1"].of(Group.COVERAGE)
    assert coverage.data["missed"] == ["m.js:3"]
    assert coverage.data["only_by_other_tests"] == {"m.js": [3]}


def test_what_the_tracer_cannot_see_is_not_measured(script_bench: Bench) -> None:
    script_bench.world.hits = ("blind Node.js 8.17.0 is older than 10", "done")
    (check,) = script_bench.audit(mutants=0).audit.tasks["t-1"].of(Group.COVERAGE)
    assert check.verdict is Verdict.NOT_MEASURED
    assert check.evidence == "Node.js 8.17.0 is older than 10"


def test_without_the_grammar_javascript_is_not_measured(script_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    script_source._parser.cache_clear()
    monkeypatch.setattr(script_source, "import_module", missing)
    task = script_bench.audit().audit.tasks["t-1"]
    for group in (Group.MUTANTS, Group.COVERAGE):
        (check,) = task.of(group)
        assert check.verdict is Verdict.NOT_MEASURED
        assert "tree-sitter-javascript is not installed" in check.evidence
    assert task.state(Group.GOLD) is Verdict.PASS


def test_flakes_take_no_part_and_are_remembered(bench: Bench) -> None:
    bench.world.flaky = True
    found = bench.audit()
    assert states(found)[Group.FLAKY] is Verdict.FINDING
    assert states(found)[Group.GOLD] is Verdict.PASS
    (reference,) = found.references
    assert reference.unstable == {"b"}
    assert set(found.audit.tasks["t-1"].unstable) == {"b"}


@pytest.mark.parametrize(
    ("line", "check"),
    [("later_count 2", "image.objects"), ("fix 0 stray", "image.objects"), ("tree other", None)],
)
def test_what_the_probe_sees_decides(bench: Bench, line: str, check: str | None) -> None:
    bench.world.probe = (f"parsimony-probe {line}",)
    failed = {one.id for one in bench.audit().audit.tasks["t-1"].failed}
    assert failed == ({check} if check else set())


def test_gold_that_fails_and_a_base_that_passes(bench: Bench) -> None:
    bench.tasks({"patch": FIX.replace("a + b", "a * b")}, {"FAIL_TO_PASS": ["b"], "PASS_TO_PASS": []})
    found = bench.audit()
    assert {check.id for check in found.audit.tasks["t-1"].failed} == {"gold"}
    assert "base" in {check.id for check in found.audit.tasks["t-2"].failed}


def test_a_task_that_cannot_run_is_missing_and_not_failed(bench: Bench) -> None:
    bench.tasks({}, {"patch": ""})
    bench.world.broken = lambda request: b"look_at_tree" not in request.files["tests.sh"]
    found = bench.audit()
    assert found.audit.tasks == {}
    assert found.audit.missing["t-1"][0].endswith("no such image")
    assert found.audit.missing["t-2"] == ("the row has no gold patch",)


def test_a_canary_that_cannot_run_is_not_measured(bench: Bench) -> None:
    bench.world.broken = lambda request: b"_exit(0)" in request.files.get("candidate.0", b"")
    found = bench.audit()
    check = next(c for c in found.audit.tasks["t-1"].checks if c.id == "canary.exit-zero")
    assert check.verdict is Verdict.NOT_MEASURED
    assert "no such image" in check.evidence


def test_without_a_probe_the_image_is_not_measured(bench: Bench) -> None:
    bench.world.broken = lambda request: b"look_at_tree" in request.files["tests.sh"]
    found = bench.audit()
    assert states(found)[Group.IMAGE] is Verdict.NOT_MEASURED
    assert states(found)[Group.CANARIES] is Verdict.PASS, "those that need no source"
    assert {c.verdict for c in found.audit.tasks["t-1"].of(Group.MUTANTS)} == {Verdict.NOT_MEASURED}


def test_the_same_folder_goes_on_and_another_starts_anew(bench: Bench) -> None:
    first = bench.audit()
    again = bench.audit()
    assert bench.observer.pending == [0, 0]
    assert [c.verdict for c in again.audit.tasks["t-1"].checks] == [c.verdict for c in first.audit.tasks["t-1"].checks]
    bench.audit(folder="another")
    assert all(bench.observer.pending)


def test_an_audit_is_what_the_next_run_leaves_out(bench: Bench) -> None:
    bench.world.resolves += (b"_exit(0)",)
    found = bench.audit()
    reference = bench.sweep.reference
    assert reference is not None
    found.audit.write(audit_file(reference))
    assert list(load(bench.sweep, with_candidates=False).quarantined) == ["t-1"]
    ignoring = bench.sweep.model_copy(update={"policy": bench.sweep.policy.model_copy(update={"reference": "ignore"})})
    assert load(ignoring, with_candidates=False).quarantined == {}
    bench.tasks({"test_cmd": "pytest -x"})
    assert load(bench.sweep, with_candidates=False).quarantined == {}, "a changed task was not audited"
    assert Audit.read(audit_file(reference)).quarantined
