"""Budgets: nothing starts at the cap, what runs finishes, the end says which cap, and raising it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.agent import AgentSpec
from cluster.budget import Meter, wall_seconds
from cluster.dispatch import RunEnding
from cluster.engines import Engine
from cluster.engines.local import LocalEngine
from cluster.grading import Graded, grade_sweep, regrade_run
from cluster.ledger import Ledger, LedgerReader
from cluster.sandboxes.fake import FakeSandbox
from cluster.sweep import Budget, Sweep, Team
from cluster.teams import TeamAccount, Totals
from cluster.yamlfile import parse_yaml
from parsimony.chain import Chain
from parsimony.errors import InputError
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

PATCH = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-old\n+{}\n"
USAGE = {"input_tokens": 90, "output_tokens": 10, "dollars": 0.25}
PRICES = """version: 1
currency: USD
compute:
  - {valid_from: 2020-01-01, source: a test, cpu_hour: 3600}
"""


class Quiet:
    """An observer that only remembers messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def planned(self, *told: Any) -> None:
        pass

    verdict = progress = planned

    def message(self, text: str) -> None:
        self.messages.append(text)


def read(order: GradingOrder, result: SandboxResult, /, *, sandbox: str) -> Execution:
    return Execution(
        execution_key=order.request.execution_key, outcome=ExecutionOutcome.COMPLETED, exit_status=0,
        tests={"a": TestResult(TestStatus.PASSED, 0.1)}, evidence=Evidence.REPORT, reasons=(),
        apply=ApplyRecord("git-apply"), usage=result.usage, phases=result.phases, log=result.log, sandbox=sandbox,
        runner_version="1", started_at=1.0,
    )  # fmt: skip


def second(request: ExecutionRequest) -> SandboxResult:
    """An execution of one second of processor time: one dollar."""
    return SandboxResult(Ending.EXITED, 0, {}, CapturedOutput(b"", b"", 0), ResourceUsage(1.0, 1.0, 1), {"run": 1.0})


class Bench:
    """Eight candidates of one task that all say something else."""

    def __init__(self, root: Path, usage: dict[str, Any] | None = None) -> None:
        self.root = root
        self.requests: list[list[ExecutionRequest]] = []
        self.script: Callable[[ExecutionRequest], SandboxResult] = second
        self.observer = Quiet()
        task = {
            "instance_id": "t", "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": [], "test_cmd": "pytest",
            "log_format": "pytest", "image": "img:1", "patch": PATCH.format("fix"), "test_patch": "",
        }  # fmt: skip
        more = {} if usage is None else {"usage": usage}
        said = [
            {"instance_id": "t", "arm": "x", "seed": n, "model_patch": PATCH.format(f"v{n}"), **more} for n in range(8)
        ]
        (root / "tasks.jsonl").write_text(json.dumps(task) + "\n")
        (root / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
        (root / "prices.yaml").write_text(PRICES)

    def sweep(self, budget: dict[str, Any] | None, **more: Any) -> Sweep:
        data = {
            "tasks": "tasks.jsonl", "predictions": "predictions.jsonl", "prices": "prices.yaml", "footprint": "off",
            "budget": budget, **more,
        }  # fmt: skip
        return Sweep.model_validate(data).resolved(self.root)

    def engine(self, _: Sweep) -> Engine:
        sandbox = FakeSandbox(self.script)
        self.requests.append(sandbox.requests)

        class Factory:
            async def open(self, slots: int) -> FakeSandbox:
                return sandbox

        return LocalEngine(AgentSpec(Factory(), read, 1))

    def grade(self, budget: dict[str, Any] | None, out: str = "out", **more: Any) -> Graded:
        return grade_sweep(self.sweep(budget, **more), self.root / out, self.observer, engine=self.engine)


def test_a_cap_of_dollars_stops_what_is_not_started_and_raising_it_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, USAGE)
    graded = bench.grade({"dollars": 3.5})
    assert graded.ending is RunEnding.EXHAUSTED
    assert "dollars $3.7500 of $3.50" in graded.reason
    assert "budget.dollars" in graded.reason
    assert bench.observer.messages == [f"Exhausted: {graded.reason}."]
    assert len(bench.requests[-1]) == 3, "three at $1.25 pass $3.50; nothing is started after"
    assert graded.summary["census"]["missing"] == 5
    assert graded.summary["budget"]["spent"]["micro_dollars"] == 3_750_000
    again = bench.grade({"dollars": 3.5})
    assert (again.ending, bench.requests[-1]) == (RunEnding.EXHAUSTED, []), "the same cap has nothing left"
    more = bench.grade({"dollars": 100})
    assert more.ending is RunEnding.COMPLETED
    assert len(bench.requests[-1]) == 5
    assert more.summary["census"]["complete"]
    assert more.summary["budget"]["spent"]["micro_dollars"] == 10_000_000
    assert regrade_run(bench.sweep({"dollars": 1}), tmp_path / "out", Quiet()).summary["budget"]["exhausted"] is None


def test_a_budget_of_grading_leaves_out_what_producing_cost(tmp_path: Path) -> None:
    bench = Bench(tmp_path, USAGE)
    graded = bench.grade({"dollars": 3.5, "counts": "grading"})
    assert len(bench.requests[-1]) == 4
    assert graded.summary["budget"]["spent"]["micro_dollars"] == 4_000_000


def test_a_cap_of_tokens(tmp_path: Path) -> None:
    bench = Bench(tmp_path, USAGE)
    graded = bench.grade({"tokens": 200})
    assert len(bench.requests[-1]) == 2
    assert "tokens 200 of 200" in graded.reason


def test_a_cap_of_wall_time_counts_every_command(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.grade({"wall_time": "2h"}).ending is RunEnding.COMPLETED
    reader = LedgerReader(tmp_path / "out" / "ledger")
    assert wall_seconds(reader) > 0
    (tmp_path / "predictions.jsonl").write_text(
        json.dumps({"instance_id": "t", "arm": "x", "seed": 0, "model_patch": PATCH.format("new")}) + "\n"
    )
    late = bench.grade({"wall_time": wall_seconds(reader)})
    assert late.ending is RunEnding.EXHAUSTED
    assert "wall_time" in late.reason
    assert bench.requests[-1] == []


def test_a_killed_command_counts_to_its_last_attempt(tmp_path: Path) -> None:
    def event(at: float, name: str, **data: float) -> tuple[str, dict[str, Any]]:
        return "event", {"at": at, "name": name, "data": json.dumps(data)}

    def attempt(end: float) -> tuple[str, dict[str, Any]]:
        return "attempt", {"job_key": f"k{end}", "attempt": 1, "started_at": end - 1, "ended_at": end}

    with Ledger.open(tmp_path) as ledger:
        for kind, row in (
            event(100, "run.started"), attempt(105), attempt(107),
            event(200, "run.resumed"), attempt(205), event(212, "run.ended", wall_seconds=12),
            event(300, "run.resumed"),
        ):  # fmt: skip
            ledger.append(kind, row)
    assert wall_seconds(LedgerReader(tmp_path)) == pytest.approx(7 + 12 + 0)


@pytest.mark.parametrize(
    ("usage", "budget", "more", "field"),
    [
        (USAGE, {"dollars": 1}, {"prices": []}, "budget.dollars"),
        (None, {"dollars": 1}, {}, "budget.dollars"),
        (None, {"tokens": 1}, {}, "budget.tokens"),
        ({"dollars": 1.0}, {"tokens": 1}, {}, "budget.tokens"),
    ],
)
def test_a_cap_on_the_unknown_is_refused_before_anything_starts(
    tmp_path: Path, usage: dict[str, Any] | None, budget: dict[str, Any], more: dict[str, Any], field: str
) -> None:
    bench = Bench(tmp_path, usage)
    with pytest.raises(InputError) as caught:
        bench.grade(budget, **more)
    assert caught.value.place.field == field
    assert caught.value.mend
    assert not (tmp_path / "out").exists()


def test_a_candidate_without_usage_is_no_matter_to_a_budget_of_grading(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.grade({"dollars": 2, "counts": "grading"})
    assert len(bench.requests[-1]) == 2


def test_what_the_sandbox_cannot_measure_counts_as_what_was_reserved(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    usage = ResourceUsage(2.0, None, None)
    bench.script = lambda request: SandboxResult(Ending.EXITED, 0, {}, CapturedOutput(b"", b"", 0), usage, {})
    graded = bench.grade({"dollars": 3, "counts": "grading"})
    assert len(bench.requests[-1]) == 2, "two seconds on one processor are two dollars each"
    assert graded.summary["budget"]["spent"]["micro_dollars"] == 4_000_000


def team(root: Path, text: str) -> dict[str, Any]:
    folder = root / "team"
    folder.mkdir(exist_ok=True)
    (folder / "team.yaml").write_text(text)
    return {"team": {"label": "search", "folder": "team"}, "counts": "grading"}


def test_runs_of_a_team_share_its_caps(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    budget = team(tmp_path, "label: search\ndollars: 11\n")
    assert bench.grade(budget, "one").ending is RunEnding.COMPLETED
    second_run = bench.grade(budget, "two")
    assert second_run.ending is RunEnding.EXHAUSTED
    assert "of the team search" in second_run.reason
    assert "team.yaml: dollars" in second_run.reason
    assert len(bench.requests[-1]) == 3, "8 + 3 dollars"
    rows = Chain.open(tmp_path / "team" / "spending.jsonl").entries("budget.spent")
    newest = {entry.data["run"]: entry.data["micro_dollars"] for entry in rows}
    assert sorted(newest.values()) == [3_000_000, 8_000_000]
    team(tmp_path, "label: search\ndollars: 100\n")
    assert bench.grade(budget, "two").ending is RunEnding.COMPLETED
    assert len(bench.requests[-1]) == 5


def test_a_run_that_goes_on_is_not_counted_twice(tmp_path: Path) -> None:
    team(tmp_path, "label: search\n")
    named = Team(label="search", folder=tmp_path / "team")
    mine = TeamAccount.open(named, "mine")
    mine.post(Totals(5, 1, 1.0))
    mine.post(Totals(7, 2, 2.0))
    mine.post(Totals(7, 2, 2.0))
    other = TeamAccount.open(named, "other")
    assert other.others == Totals(7, 2, 2.0)
    other.post(Totals(1, 0, 0.0))
    mine.post(Totals(7, 2, 2.0))
    assert mine.others == Totals(1, 0, 0.0)
    assert len(list(mine.chain.entries("budget.spent"))) == 3, "what has not changed is not written again"


@pytest.mark.parametrize(
    "text",
    [
        "label: other\n",
        "label: search\nspeed: 3\n",
        "label: search\ndollars: -1\n",
        "",
        "label: search\ndollars: .nan\n",
    ],
)
def test_a_wrong_team_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(InputError, match=r"team\.yaml"):
        bench.grade(team(tmp_path, text))


@pytest.mark.parametrize(
    "budget",
    [
        "{dollars: 0}", "{dollars: .inf}", "{dollars: .nan}", "{tokens: -1}", "{wall_time: 3 weeks}", "{wall_time: 0}",
        "{euros: 3}", "{tokens: 5, counts: grading}", "{team: {label: x}}", "3",
    ],
)  # fmt: skip
def test_a_budget_that_makes_no_sense_is_refused_with_its_line(budget: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(f"tasks: t\npredictions: p\nbudget: {budget}\n", Sweep, file="s.yaml")
    assert caught.value.place.row == 3


def test_times_are_written_as_people_do() -> None:
    for text, seconds in (("90", 90), ("90s", 90), ("45m", 2700), ("1.5 h", 5400), ("2d", 172800)):
        assert Budget.model_validate({"wall_time": text}).wall_time == seconds


def test_a_sweep_without_a_budget_has_no_meter(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    graded = bench.grade(None)
    assert "budget" not in graded.summary
    assert Meter.open(bench.sweep(None), "r", LedgerReader(tmp_path / "out" / "ledger"), {}, 0.0) is None
