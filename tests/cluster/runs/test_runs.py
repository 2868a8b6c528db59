"""Runs from inputs to results, and what a second run of the same folder does.

The benchmark is small and its sandbox is fake: what a patch says is what its tests do.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

from cluster import recorder
from cluster.agent import AgentSpec
from cluster.calibration import Calibration, calibrate_tasks
from cluster.dispatch import RunEnding
from cluster.engines import Engine, ReplyLost
from cluster.engines.local import LocalEngine
from cluster.grading import Graded, grade_sweep, regrade_run
from cluster.ledger import Ledger, LedgerReader
from cluster.measuring import measured
from cluster.plan import Plan, Unit
from cluster.sandboxes.fake import FakeSandbox
from cluster.sweep import Sweep, read_sweep
from parsimony.cli import screen
from parsimony.cli.footprint import Choice, leaderboard
from parsimony.errors import InputError, LedgerLocked, PermanentError, SandboxUnavailable
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
from parsimony.measurements import read_results
from parsimony.records import Score
from parsimony.reference import Reference, TaskReference
from parsimony.runner import GradingOrder
from parsimony.scorer import Verdict
from parsimony.tasks import read_tasks

PATCH = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-old\n+{}\n"


COIN = itertools.cycle((TestStatus.PASSED, TestStatus.FAILED))


def patch(word: str) -> str:
    """A patch whose one new line is `word`: `fixed` makes every test pass, `breaks` all but test b."""
    return PATCH.format(word)


def read(order: GradingOrder, result: SandboxResult, /, *, sandbox: str) -> Execution:
    """What the machine saw: decided by the words of the patch; with `flaky` test b passes every other time."""
    added = order.request.files.get("candidate.0", b"")
    statuses = {"a": TestStatus.FAILED, "b": TestStatus.PASSED}
    if b"+fixed" in added:
        statuses["a"] = TestStatus.PASSED
    if b"+fragile" in added:
        passes_here = "PYTHONHASHSEED" not in order.request.environment
        statuses["a"] = TestStatus.PASSED if passes_here else TestStatus.FAILED
    if b"+breaks" in added:
        statuses = {"a": TestStatus.PASSED, "b": TestStatus.FAILED}
    if b"+flaky" in added:
        statuses = {"a": TestStatus.PASSED, "b": next(COIN)}
    execution = Execution(
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
        applied_patch=added,
        base_files=dict.fromkeys(order.reading.sources, b"old\n"),
    )
    return measured(execution, order.reading.footprint)


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
        sandbox = FakeSandbox(self.script, digests=self.digests)
        self.sandboxes.append(sandbox)

        class Factory:
            async def open(self, slots: int) -> FakeSandbox:
                return sandbox

        return LocalEngine(AgentSpec(Factory(), read, 2))

    def grade(self, **more: Any) -> Graded:
        self.watcher = Watcher()
        return grade_sweep(self.sweep(**more), self.root / "out", self.watcher, engine=self.engine)

    def calibrate(self, **more: Any) -> Calibration:
        self.watcher = Watcher()
        sweep = self.sweep(predictions=["absent.jsonl"], repeats=3, **more)
        return calibrate_tasks(sweep, self.root / "tasks.reference.json", self.watcher, engine=self.engine)

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
def bench(tmp_path: Path) -> Bench:
    """Two tasks, two arms, two seeds."""
    made = Bench(tmp_path)
    made.tasks({}, {})
    made.predictions(
        ("t-1", "x", 1, "fixed"), ("t-1", "x", 2, "wrong"), ("t-1", "y", 1, "fixed"), ("t-1", "y", 2, "breaks"),
        ("t-2", "x", 1, None), ("t-2", "x", 2, "fixed"), ("t-2", "y", 1, "fixed"), ("t-2", "y", 2, "fixed"),
    )  # fmt: skip
    return made


def test_a_run_decides_every_planned_candidate(bench: Bench) -> None:
    """The census holds, and equal work is done once: six candidates say three different things on two tasks."""
    graded = bench.grade()
    assert graded.ending is RunEnding.COMPLETED
    assert bench.outcomes() == {
        ("t-1", "x", 1): "resolved", ("t-1", "x", 2): "not_resolved", ("t-1", "y", 1): "resolved",
        ("t-1", "y", 2): "not_resolved", ("t-2", "x", 1): "empty_patch", ("t-2", "x", 2): "resolved",
        ("t-2", "y", 1): "resolved", ("t-2", "y", 2): "resolved",
    }  # fmt: skip
    assert bench.requests == 4
    assert graded.summary["census"] == {
        "planned": 8, "recorded": 8, "missing": 0, "rejected_rows": 0, "complete": True,
    }  # fmt: skip
    assert graded.summary["arms"]["y"]["rate"] == 0.75
    assert (bench.root / "out" / "report.html").read_text().count("resolved")


def footprints(bench: Bench) -> dict[tuple[str, str, int], dict[str, Any]]:
    lines = (bench.root / "out" / "footprints.jsonl").read_text().splitlines()
    return {(x["task_id"], x["agent"], x["seed"]): x for x in map(json.loads, lines)}


def test_the_footprint_of_every_candidate_stands_beside_its_verdict(bench: Bench) -> None:
    """Measured against the base files of its task, also where one execution decided several candidates."""
    graded = bench.grade()
    found = footprints(bench)
    assert found.keys() == bench.outcomes().keys()
    assert {key: one["analysis_status"] for key, one in found.items() if one["analysis_status"] != "ok"} == {
        ("t-2", "x", 1): "missing_patch"
    }
    assert {one["model_human_ratio"] for one in found.values()} == {None, 1.0}  # `old` became another name
    assert [found["t-1", "x", seed]["resolve_rate"] for seed in (1, 2)] == [0.5, 0.5]
    assert graded.summary["footprint"]["y"]["python"]["measured"] == 3
    assert "Footprint" in (bench.root / "out" / "report.html").read_text()
    records = read_results(bench.root / "out" / "footprints.jsonl").records
    assert {record.agent for record in records} == {"x seed 1", "x seed 2", "y seed 1", "y seed 2"}


def test_another_track_measures_again_without_grading(bench: Bench) -> None:
    bench.grade()
    tracks = {one.get("measurement_track", {}).get("unit_version") for one in footprints(bench).values()}
    bench.grade(footprint="units-v2")
    again = {one.get("measurement_track", {}).get("unit_version") for one in footprints(bench).values()}
    assert (tracks, again, bench.requests) == ({None}, {"units-v2"}, 0)
    assert footprints(bench)["t-1", "x", 1]["metrics"]["churn"] == 2


def test_a_run_without_footprints_has_none(bench: Bench) -> None:
    """And gets them later, from what every grading brings back."""
    graded = bench.grade(footprint="off")
    assert "footprint" not in graded.summary
    assert not (bench.root / "out" / "footprints.jsonl").exists()
    bench.grade()
    assert (footprints(bench)["t-1", "x", 1]["analysis_status"], bench.requests) == ("ok", 0)


def test_what_lacked_its_parser_is_measured_when_the_parser_is_there(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str, *, language: str) -> None:
        raise InputError("not installed", mend="install it")

    with monkeypatch.context() as here:
        here.setattr("parsimony.footprint.graded.load_track", absent)
        bench.grade()
    assert footprints(bench)["t-1", "x", 1]["analysis_error"].startswith("InputError: not installed")
    bench.grade()
    assert (footprints(bench)["t-1", "x", 1]["metrics"]["churn"], bench.requests) == (2, 0)


def test_resolved_candidates_are_graded_under_other_conditions(bench: Bench) -> None:
    """Only those, once per distinct work, and where the own fix fails under a condition it says nothing."""
    bench.tasks({}, {"patch": patch("fragile")}, {"log_format": "mocha-tap"})
    bench.predictions(
        ("t-1", "x", 1, "fixed"), ("t-1", "x", 2, "wrong"), ("t-1", "y", 1, "fragile"), ("t-2", "x", 1, "fixed"),
        ("t-2", "y", 1, "fragile"), ("t-3", "x", 1, "fixed"),
    )  # fmt: skip
    graded = bench.grade(variants=["hash-seed", "timezone"])
    lines = [json.loads(line) for line in (bench.root / "out" / "variants.jsonl").read_text().splitlines()]
    found = {(x["task_id"], x["arm"], x["variant"]): (x["outcome"], x["holds"]) for x in lines}
    assert found == {
        ("t-1", "x", "hash-seed"): ("resolved", True), ("t-1", "x", "timezone"): ("resolved", True),
        ("t-1", "y", "hash-seed"): ("not_resolved", True), ("t-1", "y", "timezone"): ("resolved", True),
        ("t-2", "x", "hash-seed"): ("resolved", False), ("t-2", "x", "timezone"): ("resolved", True),
        ("t-2", "y", "hash-seed"): ("not_resolved", False), ("t-2", "y", "timezone"): ("resolved", True),
        ("t-3", "x", "timezone"): ("resolved", True),
    }  # fmt: skip
    assert graded.summary["robustness"]["y"] == {
        "hash-seed": {"tried": 1, "resolved": 0, "void": 1}, "timezone": {"tried": 2, "resolved": 2, "void": 0},
    }  # fmt: skip
    assert len(bench.lines()) == 6
    assert graded.summary["census"]["complete"]
    assert graded.summary["cost"]["kinds"]["compute_spent"]["rows"] == bench.requests
    assert "Under other conditions" in (bench.root / "out" / "report.html").read_text()
    bench.grade(variants=["hash-seed", "timezone"])
    assert bench.requests == 0


def test_what_other_conditions_cost_has_the_key_of_their_execution_and_usage_counts_once(bench: Bench) -> None:
    bench.tasks({})
    bench.predictions(("t-1", "x", 1, "fixed"), ("t-1", "y", 1, "wrong"), usage={"input_tokens": 7})
    for _ in range(2):
        bench.grade(variants=["hash-seed"])
        reader = LedgerReader(bench.root / "out" / "ledger")
        costs = [(row["kind"], row["execution_key"]) for row in reader.rows("cost")]
        spent = sorted(key for kind, key in costs if kind == "compute_spent")
        assert spent == sorted(row["execution_key"] for row in reader.rows("execution"))
        assert len(spent) == 3
        assert sum(kind == "llm" for kind, _ in costs) == 2


def test_what_a_lost_agent_left_is_gone_at_the_end(bench: Bench) -> None:
    """The attempt is made again, and the sandbox of the one that was lost has no driver any more but this."""
    sandbox = FakeSandbox(passes)

    class Factory:
        async def open(self, slots: int) -> FakeSandbox:
            return sandbox

    class Losing(LocalEngine):
        def _ended(self, job_key: str, attempt: int, task: Any) -> None:
            if sandbox.abandoned or attempt > 1:
                super()._ended(job_key, attempt, task)
                return
            sandbox.abandoned["left"] = dict(sandbox.requests[-1].labels)
            del self._running[job_key, attempt]
            self._post(ReplyLost(job_key, attempt, "the node is gone"))

    bench.predictions(("t-1", "x", 1, "fixed"))
    graded = grade_sweep(
        bench.sweep(), bench.root / "out", Watcher(), engine=lambda _: Losing(AgentSpec(Factory(), read, 2))
    )
    assert graded.ending is RunEnding.COMPLETED
    reader = LedgerReader(bench.root / "out" / "ledger")
    assert [row["ending"] for row in reader.rows("attempt", ["ending"])] == ["lost", "done"]
    assert sandbox.abandoned == {}
    assert [row["name"] for row in reader.rows("event")].count("orphans.removed") == 1


def test_a_leaderboard_of_a_run_pools_the_seeds_of_an_arm(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.grade()
    capsys.readouterr()
    choice = Choice((), shared=False, mode="full_file", ordering="measured-net-mean-v1", draws=50, seed=1)
    leaderboard([bench.root / "out"], choice, as_json=True)
    rows = {row["agent"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["x"]["measured_tasks"], rows["x"]["resolve_rate"]) == (2, 0.5)
    assert (rows["y"]["measured_tasks"], rows["y"]["resolve_rate"]) == (3, 0.75)
    (bench.root / "out" / "footprints.jsonl").unlink()
    with pytest.raises(InputError, match="has no footprints"):
        leaderboard([bench.root / "out"], choice, as_json=True)


def test_the_folder_holds_what_its_document_says(bench: Bench) -> None:
    """docs/run-folder.md names every file, and every line of scores.jsonl is a `Score`."""
    bench.grade()
    out = bench.root / "out"
    document = (Path(__file__).parents[3] / "docs" / "run-folder.md").read_text()
    for path in out.iterdir():
        assert f"`{path.name}" in document, path.name
    scores = [Score.from_json_text(line) for line in (out / "scores.jsonl").read_text().splitlines()]
    assert len(scores) == 8
    assert sum(score.resolved == "resolved" for score in scores) == 5
    for name in bench.lines()[0]:
        assert name in document


def test_spent_and_attributed_cost_reconcile(bench: Bench) -> None:
    """An execution is paid once; each candidate would have cost it alone."""
    kinds = bench.grade().summary["cost"]["kinds"]
    assert kinds["compute_spent"]["wall_seconds"] == 4 * 2.0
    assert kinds["compute_attributed"]["wall_seconds"] == 7 * 2.0


def test_a_second_run_does_no_work(bench: Bench) -> None:
    """Nothing is executed, scored or charged again, and the results are the same."""
    first = bench.grade().summary
    lines = bench.lines()
    second = bench.grade().summary
    assert bench.requests == 0
    assert bench.watcher.verdicts == []
    assert bench.lines() == lines
    assert {k: v for k, v in second.items() if k != "wall_seconds"} == {
        k: v for k, v in first.items() if k != "wall_seconds"
    }


def test_one_changed_patch_byte_runs_just_that_job(bench: Bench) -> None:
    """A stale verdict cannot come back: the new patch has another key."""
    bench.grade()
    text = (bench.root / "predictions.jsonl").read_text()
    (bench.root / "predictions.jsonl").write_text(text.replace("+wrong", "+wring", 1))
    bench.grade()
    assert bench.requests == 1
    assert bench.outcomes()["t-1", "x", 2] == "not_resolved"


def test_another_image_digest_runs_the_jobs_of_that_image(bench: Bench) -> None:
    """A tag that now means another image is another environment."""
    bench.tasks({"image": "one:1"}, {"image": "two:1"})
    bench.grade()
    bench.digests = {"two:1": "sha256:new"}
    bench.grade()
    assert {request.image for request in bench.sandboxes[-1].requests} == {"two:1"}
    assert bench.requests == 1


def test_another_limit_runs_the_jobs_that_it_holds_for(bench: Bench) -> None:
    """A row's own time limit is part of its work's key."""
    bench.grade()
    bench.tasks({}, {"timeout_s": 77})
    bench.grade()
    assert [request.limits.timeout_s for request in bench.sandboxes[-1].requests] == [77]


def test_seeds_added_later_grade_only_what_is_new(bench: Bench) -> None:
    """Seeds, arms and tasks can be added to a finished run."""
    bench.grade(seeds=[1])
    assert len(bench.lines()) == 4
    bench.grade(seeds=[1, 2])
    assert len(bench.lines()) == 8
    assert bench.requests == 2


def test_what_is_planned_and_not_there_is_missing(bench: Bench) -> None:
    """Shown, never counted as a failure, and the rate is given as bounds."""
    graded = bench.grade(seeds=[1, 2, 3])
    arm = graded.summary["arms"]["y"]
    assert graded.summary["census"]["missing"] == 4
    assert arm["rate"] is None
    assert arm["bounds"] == [3 / 6, 5 / 6]
    assert bench.outcomes()["t-1", "y", 3] == "missing"


def test_a_changed_gate_scores_again_without_executing(bench: Bench) -> None:
    """Gates are in the score key, not in the execution key."""
    bench.grade()
    bench.tasks({"PASS_TO_PASS": []}, {})
    bench.grade()
    assert bench.requests == 0
    assert bench.outcomes()["t-1", "y", 2] == "resolved"


def test_repeats_are_executions_of_their_own_and_show_flakes(bench: Bench) -> None:
    """The same patch twice; the sandbox makes the second fail."""
    bench.predictions(("t-1", "x", 1, "fixed"))
    graded = bench.grade(repeats=3)
    assert bench.requests == 3
    assert graded.summary["flaky"] == []
    assert [line["repeat"] for line in bench.lines()] == [0, 1, 2]


def test_infrastructure_faults_are_never_verdicts(bench: Bench) -> None:
    """A permanent fault leaves its units missing, with the reason; the same command tries again."""

    def broken(request: ExecutionRequest) -> SandboxResult | Exception:
        if request.image == "bad:1":
            return PermanentError("no space in the rack")
        return passes(request)

    bench.tasks({}, {"image": "bad:1"})
    bench.script = broken
    graded = bench.grade()
    assert graded.summary["census"]["missing"] == 3
    line = next(x for x in bench.lines() if x["outcome"] == "missing")
    assert "no space in the rack" in line["reasons"][0]
    assert line["score"] is None
    bench.script = passes
    assert bench.grade().summary["census"]["missing"] == 0
    assert bench.requests == 1


def test_every_job_ends_in_one_line_of_the_log(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all there is to know of it, under the names of the ledger."""

    def half(request: ExecutionRequest) -> SandboxResult | Exception:
        return PermanentError("no space in the rack") if request.image == "bad:1" else passes(request)

    bench.tasks({}, {"image": "bad:1"})
    bench.script = half
    heard = LogCapture()
    monkeypatch.setattr(recorder, "log", structlog.wrap_logger(None, [heard], structlog.BoundLogger))
    bench.grade()
    ended = [line for line in heard.entries if line["event"] in ("job.finished", "job.missing")]
    stored = {row["execution_key"]: row for row in LedgerReader(bench.root / "out" / "ledger").rows("execution")}
    finished = {line["execution_key"]: line for line in ended if line["event"] == "job.finished"}
    assert finished.keys() == stored.keys()
    assert len(finished) == 3
    for key, line in finished.items():
        assert {name: line[name] for name in recorder.CANONICAL} == {
            name: stored[key][name] for name in recorder.CANONICAL
        }
        assert line["attempts"] == 1
    (missing,) = (line for line in ended if line["event"] == "job.missing")
    assert "no space in the rack" in missing["reasons"][-1]


def test_temporary_faults_are_retried_and_kept(bench: Bench) -> None:
    """The first attempt's evidence stays in the ledger; numbers are never used twice."""
    seen: set[str] = set()

    def once(request: ExecutionRequest) -> SandboxResult | Exception:
        if request.execution_key not in seen:
            seen.add(request.execution_key)
            return SandboxUnavailable("the daemon blinked")
        return passes(request)

    bench.predictions(("t-1", "x", 1, "fixed"))
    bench.script = once
    assert bench.grade().summary["census"]["complete"]
    assert bench.lines()[0]["attempts"] == 2
    rows = list(LedgerReader(bench.root / "out" / "ledger").rows("attempt"))
    assert [(row["attempt"], row["ending"]) for row in rows] == [(1, "temporary"), (2, "done")]


def test_bad_rows_are_rejected_and_the_rest_runs(bench: Bench) -> None:
    """Listed with their place, and the census says so."""
    with (bench.root / "predictions.jsonl").open("a") as out:
        out.write('{"instance_id": "unknown-1", "arm": "x", "model_patch": ""}\nnot json\n')
    graded = bench.grade()
    assert graded.summary["census"]["rejected_rows"] == 2
    rejects = [json.loads(line) for line in (bench.root / "out" / "rejects.jsonl").read_text().splitlines()]
    assert all("predictions.jsonl:" in row["problem"] for row in rejects)
    assert len(bench.lines()) == 8


def test_a_patch_that_reaches_outside_is_refused_before_anything_starts(bench: Bench) -> None:
    """No sandbox sees it."""
    evil = "diff --git a/../x b/../x\n--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n"
    row = {"instance_id": "t-1", "arm": "x", "seed": 1, "model_patch": evil}
    (bench.root / "predictions.jsonl").write_text(json.dumps(row) + "\n")
    bench.grade()
    assert bench.requests == 0
    assert bench.lines()[0]["outcome"] == "does_not_apply"
    assert "refused" in bench.lines()[0]["reasons"][0]


def test_a_reference_is_used_and_can_be_demanded(bench: Bench) -> None:
    """Unstable tests are quarantined; without a reference a demanding sweep decides nothing."""
    bench.predictions(("t-1", "x", 1, "breaks"))
    assert bench.grade(policy={"reference": "use"}).summary["outcomes"]["not_resolved"] == 1
    with pytest.raises(InputError, match="calibrate"):
        bench.grade(policy={"reference": "require"})
    task = read_tasks(bench.root / "tasks.jsonl").tasks[0]
    gold = {"a": (TestStatus.PASSED,) * 2, "b": (TestStatus.PASSED, TestStatus.FAILED)}
    one = TaskReference("t-1", task.digest, task.gates_digest, "sha256:fake:img:1", gold, {})
    Reference({"t-1": one}).write(bench.root / "tasks.reference.json")
    assert bench.grade(policy={"reference": "require"}).summary["outcomes"]["resolved"] == 1
    assert bench.requests == 0


def test_regrade_gives_the_same_verdicts_from_the_ledger_alone(bench: Bench) -> None:
    """Results that were lost come back, byte for byte but for times, without an engine."""
    bench.grade()
    out = bench.root / "out"
    before = (out / "outcomes.jsonl").read_bytes()
    (out / "outcomes.jsonl").unlink()
    regraded = regrade_run(read_sweep(out / "sweep.yaml"), out, Watcher())
    assert (out / "outcomes.jsonl").read_bytes() == before
    assert regraded.summary["census"]["complete"]


def test_two_processes_never_write_one_folder(bench: Bench) -> None:
    """The second is told who holds it."""
    bench.grade()
    with Ledger.open(bench.root / "out" / "ledger"), pytest.raises(LedgerLocked):
        bench.grade()


def test_logs_are_kept_by_execution(bench: Bench) -> None:
    """What the tests printed is where the ledger says."""
    bench.grade()
    row = next(iter(LedgerReader(bench.root / "out" / "ledger").rows("execution")))
    assert (bench.root / "out" / row["log_file"]).read_bytes() == b"hello\n"


def test_calibrating_tells_sound_tasks_from_unsound_ones(bench: Bench) -> None:
    """Gold and base are run three times each; what is wrong is named, and a row without gold is not forgotten."""
    bench.tasks({}, {"patch": patch("breaks")}, {"patch": ""}, {"FAIL_TO_PASS": ["b"], "PASS_TO_PASS": ["a"]})
    found = bench.calibrate()
    assert bench.requests == 2 * 3 * 3
    assert {one.instance_id: one.problems for one in found.tasks} == {
        "t-1": (),
        "t-2": ("gold does not pass b",),
        "t-4": ("the base tree already passes b of FAIL_TO_PASS",),
    }
    assert [one.instance_id for one in found.unsound] == ["t-2", "t-4"]
    assert found.missing == {"t-3": ("the row has no gold patch",)}


def test_a_calibration_is_what_the_next_grading_uses(bench: Bench) -> None:
    """A test that is unstable under gold takes no part in the verdicts that follow."""
    bench.tasks({"patch": patch("flaky")})
    bench.predictions(("t-1", "x", 1, "breaks"))
    assert bench.grade().summary["outcomes"]["not_resolved"] == 1
    (one,) = bench.calibrate().tasks
    assert one.unstable == {"b"}
    assert not one.problems
    assert bench.grade(policy={"reference": "require"}).summary["outcomes"]["resolved"] == 1


def test_calibrating_again_replaces_only_what_was_calibrated(bench: Bench) -> None:
    """The reference file holds what it held for other tasks."""
    bench.calibrate()
    before = Reference.read(bench.root / "tasks.reference.json")
    bench.tasks({"patch": patch("breaks")}, {})
    bench.calibrate(tasks={"file": "tasks.jsonl", "only": ["t-1"]})
    after = Reference.read(bench.root / "tasks.reference.json")
    assert after.tasks["t-2"] == before.tasks["t-2"]
    assert after.tasks["t-1"].problems == ("gold does not pass b",)


def test_an_interrupted_calibration_goes_on_where_it_stopped(bench: Bench) -> None:
    """What was run is kept beside the reference until every task has one."""
    broken = True

    def sometimes(request: ExecutionRequest) -> SandboxResult | Exception:
        return (
            PermanentError("no such image")
            if broken and b"+fixed" in b"".join(request.files.values())
            else passes(request)
        )

    bench.script = sometimes
    first = bench.calibrate()
    assert (first.tasks, list(first.missing)) == ((), ["t-1", "t-2"])
    broken = False
    second = bench.calibrate()
    assert bench.requests == 2 * 3, "base was done"
    assert not second.missing
    assert not list(bench.root.glob("*.calibration"))


PRICES = """\
version: 1
currency: USD
models:
  - {name: m, input: 1, cached: 0.1, output: 10, valid_from: 2026-01-01, valid_until: 2026-01-31, source: made up}
  - {name: m, input: 2, cached: 0.2, output: 20, valid_from: 2026-02-01, valid_until: 2026-12-31, source: made up}
compute:
  - {cpu_hour: 3.6, valid_from: 2020-01-01, source: made up}
"""
USAGE = {"model": "m", "input_tokens": 1000, "output_tokens": 100, "day": "2026-01-31"}


def test_a_run_without_prices_does_not_know_its_dollars(bench: Bench) -> None:
    bench.predictions(("t-1", "x", 1, "fixed"), usage=USAGE)
    found = bench.grade().summary["cost"]
    assert {kind: one["micro_dollars"] for kind, one in found["kinds"].items()} == dict.fromkeys(found["kinds"])
    assert (found["llm_rows_without_dollars"], found["prices"]) == (1, [])
    assert "dollars are not known" in " ".join(screen.spent_lines({"cost": found}))


@pytest.mark.parametrize(("day", "micro"), [("2026-01-31", 2000), ("2026-02-01", 4000)])
def test_a_run_is_priced_by_the_day_of_each_candidate(bench: Bench, day: str, micro: int) -> None:
    """Also from its ledger alone, later; grading: a second of CPU at 3.60 an hour is a thousand micro-dollars."""
    (bench.root / "prices.yaml").write_text(PRICES)
    bench.predictions(("t-1", "x", 1, "fixed"), ("t-1", "y", 1, "fixed"), usage={**USAGE, "day": day})
    found = bench.grade(prices="prices.yaml").summary["cost"]
    dollars = {kind: (one["micro_dollars"], one["unpriced"]) for kind, one in found["kinds"].items()}
    assert dollars == {"llm": (2 * micro, 0), "compute_spent": (1000, 0), "compute_attributed": (2000, 0)}
    assert found["prices"] == ["prices.yaml"]
    again = regrade_run(read_sweep(bench.root / "out" / "sweep.yaml"), bench.root / "out", Watcher())
    assert again.summary["cost"] == found


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ({**USAGE, "model": "other"}, r"t-1, arm x, seed 1 .*no price of the model 'other' on 2026-01-31; add it"),
        ({**USAGE, "day": "2025-12-31"}, r"no price of the model 'm' on 2025-12-31 \(there is one from 2026-01-01"),
        ({"input_tokens": 5, "day": "2026-01-31"}, "tells neither dollars nor a model"),
    ],
)
def test_what_has_no_price_is_an_error_before_anything_starts(bench: Bench, usage: dict[str, Any], words: str) -> None:
    (bench.root / "prices.yaml").write_text(PRICES)
    bench.predictions(("t-1", "x", 1, "fixed"), usage=usage)
    with pytest.raises(InputError, match=words) as caught:
        bench.grade(prices=["prices.yaml"])
    assert "--prices" in caught.value.mend or "usage" in caught.value.mend
    assert not (bench.root / "out").exists()


def test_dollars_as_told_need_no_price(bench: Bench) -> None:
    (bench.root / "prices.yaml").write_text(PRICES)
    bench.predictions(("t-1", "x", 1, "fixed"), usage={"model": "other", "dollars": 0.5})
    assert bench.grade(prices="prices.yaml").summary["cost"]["kinds"]["llm"]["micro_dollars"] == 500_000


def test_a_day_that_is_none_rejects_its_row(bench: Bench) -> None:
    bench.predictions(("t-1", "x", 1, "fixed"), usage={**USAGE, "day": "soon"})
    with pytest.raises(InputError, match=r"usage\.day: is 'soon'"):
        bench.grade()
