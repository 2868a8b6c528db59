"""`parsimony audit …` as people use it. Executing is faked, but for one real audit in process sandboxes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from cluster.auditing import Audited
from cluster.dispatch import RunEnding
from cluster.sweep import Sweep
from parsimony.audit import Audit, Check, Group, TaskAudit, Verdict, quarantined, reporting
from parsimony.chain import Chain
from parsimony.cli import auditing_schedule, auditing_work
from parsimony.cli.app import app
from parsimony.errors import InputError, LedgerCorrupt
from parsimony.reference import Reference, TaskReference
from parsimony.tasks import read_tasks

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "configs" / "examples"
START = datetime(2026, 12, 1, 3, tzinfo=UTC)


@dataclass
class Fake:
    """Audits without executing: what each task comes to, and when.

    Attributes:
        checks: verdict and evidence of the one canary.
        calls: the sweeps that were audited, with the folder and the number of mutants.
    """

    verdict: Verdict = Verdict.PASS
    ending: RunEnding = RunEnding.COMPLETED
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    time: datetime = START
    calls: list[tuple[Sweep, Path, int]] = field(default_factory=list)

    def audit(self, sweep: Sweep, folder: Path, observer: Any, *, mutants: int) -> Audited:
        self.calls.append((sweep, folder, mutants))
        folder.mkdir(parents=True, exist_ok=True)
        only = sweep.tasks.only
        tasks = [t for t in read_tasks(sweep.tasks.file).tasks if only is None or t.instance_id in only]
        at = self.time.isoformat(timespec="seconds").replace("+00:00", "Z")
        found = {}
        for task in tasks:
            checks = (
                Check("canary.exit-zero", Group.CANARIES, self.verdict, "[red]told[/red] \x1b[2J\udcff"),
                Check("gold", Group.GOLD, Verdict.PASS, "3 of 3"),
            )
            found[task.instance_id] = TaskAudit(task.instance_id, task.digest, task.gates_digest, "e", at, checks)
        references = tuple(TaskReference(t.instance_id, t.digest, t.gates_digest, "e", {}, {}) for t in tasks)
        audit = Audit(at, at, found, self.missing, reporting(list(found.values())), only or ())
        return Audited(audit, references, self.ending)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fake:
    made = Fake()
    monkeypatch.setattr(auditing_work, "audit_tasks", made.audit)
    for module in (auditing_work, auditing_schedule):
        monkeypatch.setattr(module, "now", lambda: made.time)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARSIMONY_LEDGER", raising=False)
    row = {
        "instance_id": "t-1", "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": ["b"], "test_cmd": "pytest",
        "log_format": "pytest", "image": "img:1", "patch": "x",
    }  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps({**row, "instance_id": f"t-{n}"}) + "\n" for n in (1, 2)))
    return made


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["audit", *words])


def test_a_whole_audit_is_stored_and_told(fake: Fake, tmp_path: Path) -> None:
    done = run(
        "run", "--tasks", "tasks.jsonl", "--sandbox", "process", "--times", "2", "--mutants", "0", "--workers", "1"
    )
    assert done.exit_code == 0, done.output
    ((sweep, folder, mutants),) = fake.calls
    assert (sweep.sandbox.kind, sweep.repeats, sweep.concurrency, mutants) == ("process", 2, 1, 0)
    assert folder == Path("tasks.audit/audits/2026-12-01T030000Z")
    assert (folder / "audit.json").exists()
    assert Reference.read(tmp_path / "tasks.reference.json").tasks.keys() == {"t-1", "t-2"}
    assert Audit.read(tmp_path / "tasks.audit.json").tasks.keys() == {"t-1", "t-2"}
    assert "2 of 2 tasks can be trusted; 0 quarantined, 0 missing" in done.output
    assert all(len(line) <= 100 for line in done.output.splitlines() if "audit.json" not in line)


def test_defaults(fake: Fake) -> None:
    run("run", "--tasks", "tasks.jsonl")
    ((sweep, _, mutants),) = fake.calls
    assert (sweep.sandbox.kind, sweep.repeats, mutants) == ("docker", 3, 6)


def test_a_failure_is_exit_status_1_and_says_why(fake: Fake, tmp_path: Path) -> None:
    fake.verdict = Verdict.FAIL
    done = run("run", "--tasks", "tasks.jsonl")
    assert done.exit_code == 1
    assert "0 of 2 tasks can be trusted; 2 quarantined" in done.output
    assert "✗ canary.exit-zero: [red]told[/red]" in done.output
    assert "\x1b[2J" not in done.output, "evidence cannot steer a terminal"
    assert set(quarantined(tmp_path / "tasks.audit.json")) == {"t-1", "t-2"}


@pytest.mark.parametrize(
    "change",
    [{"missing": {"t-9": ("no image",)}}, {"verdict": Verdict.NOT_MEASURED}, {"ending": RunEnding.DRAINED}],
)
def test_what_is_not_whole_is_exit_status_3(fake: Fake, change: dict[str, Any]) -> None:
    for name, value in change.items():
        setattr(fake, name, value)
    assert run("run", "--tasks", "tasks.jsonl").exit_code == 3


def test_an_audit_that_was_cut_off_stores_nothing_and_goes_on(fake: Fake, tmp_path: Path) -> None:
    fake.ending = RunEnding.DRAINED
    done = run("run", "--tasks", "tasks.jsonl", "--ledger", "l.jsonl")
    assert "not finished (drained)" in done.output
    assert not (tmp_path / "tasks.audit.json").exists()
    assert len(Chain.open(tmp_path / "l.jsonl")) == 0
    fake.ending, fake.time = RunEnding.COMPLETED, START + timedelta(hours=1)
    run("run", "--tasks", "tasks.jsonl")
    fake.time += timedelta(hours=1)
    run("run", "--tasks", "tasks.jsonl")
    assert [folder.name for _, folder, _ in fake.calls] == ["2026-12-01T030000Z"] * 2 + ["2026-12-01T050000Z"]


def test_json_is_for_machines(fake: Fake) -> None:
    fake.verdict = Verdict.FAIL
    done = run("run", "--tasks", "tasks.jsonl", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert told["audited"] is True
    assert set(told["quarantined"]) == {"t-1", "t-2"}
    assert told["tasks"]["t-1"]["checks"][0]["verdict"] == "fail"
    status = json.loads(run("status", "tasks.audit", "--json").stdout)
    assert status["state"] == "unscheduled"
    assert status["audit"]["quarantined"] == told["quarantined"]


def test_findings_go_into_the_chain(fake: Fake, tmp_path: Path) -> None:
    fake.verdict = Verdict.FAIL
    run("run", "--tasks", "tasks.jsonl", "--ledger", "l.jsonl")
    fake.verdict, fake.time = Verdict.PASS, START + timedelta(days=1)
    run("run", "--tasks", "tasks.jsonl", "--ledger", "l.jsonl", "--task", "t-2")
    entries = list(Chain.open(tmp_path / "l.jsonl").entries())
    assert [entry.kind for entry in entries] == [
        "audit.finding", "audit.finding", "audit.finished", "audit.released", "audit.finished",
    ]  # fmt: skip
    assert entries[0].data["task_id"] == "t-1"
    assert entries[0].data["verdict"] == "fail"
    assert set(entries[2].data["quarantined"]) == {"t-1", "t-2"}
    assert entries[3].data["task_id"] == "t-2"
    assert set(quarantined(tmp_path / "tasks.audit.json")) == {"t-1"}, "t-1 was not looked at again"


def test_a_damaged_ledger_is_told_before_the_work(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "l.jsonl").write_text("{}\n")
    done = run("run", "--tasks", "tasks.jsonl", "--ledger", "l.jsonl")
    assert isinstance(done.exception, LedgerCorrupt)
    assert fake.calls == []


# ---- schedules


def test_a_schedule_is_written_read_and_kept(fake: Fake, tmp_path: Path) -> None:
    done = run("schedule", "a/audits", "--tasks", "tasks.jsonl", "--every", "7d", "--workers", "1", "--times", "2")
    assert done.exit_code == 0, done.output
    assert "parsimony audit run --if-due --out" in done.output
    text = yaml.safe_load((tmp_path / "a" / "audits" / "schedule.yaml").read_text())
    assert (text["tasks"], text["every"], text["times"]) == ("../../tasks.jsonl", "7d", 2)
    run("schedule", "a/audits", "--cron", "30 3 * * mon")
    again = yaml.safe_load((tmp_path / "a" / "audits" / "schedule.yaml").read_text())
    assert "every" not in again, "times take the place of an interval"
    assert (again["cron"], again["times"], again["made_at"]) == ("30 3 * * mon", 2, text["made_at"])
    assert "at 30 3 * * mon (UTC)" in run("schedule", "a/audits").output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tasks", "tasks.jsonl"), "an interval or times"),
        (("--tasks", "tasks.jsonl", "--every", "7d", "--cron", "* * * * *"), "an interval or times"),
        (("--tasks", "tasks.jsonl", "--every", "soon"), "a duration"),
        (("--tasks", "tasks.jsonl", "--cron", "61 * * * *"), "field minute"),
        (("--tasks", "none.jsonl", "--every", "7d"), "no such file"),
        (("--every", "7d"), "tasks"),
        ((), "there is no schedule"),
    ],
)
def test_a_bad_schedule_is_refused_and_not_written(
    fake: Fake, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    done = run("schedule", "audits", *words)
    assert isinstance(done.exception, InputError)
    assert told in str(done.exception)
    assert not (tmp_path / "audits").exists()


@pytest.mark.parametrize(
    "text",
    ["tasks: t\nevery: 7d\n", "tasks: t\nevery: 7d\nmade_at: yesterday\n", "tasks: t\nmade_at: 2026-12-01T00:00:00Z\n",
     "tasks: t\nevery: 7d\nmade_at: 2026-12-01T00:00:00Z\nevry: 8d\n", "[", "tasks: [t]\n"],
)  # fmt: skip
def test_a_schedule_that_was_edited_wrongly_names_the_file(fake: Fake, tmp_path: Path, text: str) -> None:
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "schedule.yaml").write_text(text)
    for words in (("schedule", "audits"), ("status", "audits"), ("run", "--if-due", "--out", "audits")):
        done = run(*words)
        assert isinstance(done.exception, InputError), words
        assert "schedule.yaml" in str(done.exception)


def test_it_runs_when_it_is_due_and_only_then(fake: Fake) -> None:
    run(
        "schedule",
        "audits",
        "--tasks",
        "tasks.jsonl",
        "--every",
        "1d",
        "--grace",
        "6h",
        "--sandbox",
        "process",
        "--mutants",
        "2",
    )
    assert run("status", "audits").exit_code == 1, "never audited"
    assert run("run", "--if-due", "--out", "audits").exit_code == 0
    ((sweep, folder, mutants),) = fake.calls
    assert (sweep.sandbox.kind, mutants, folder.parent) == ("process", 2, Path("audits/audits"))
    assert "not due" in run("run", "--if-due", "--out", "audits").output
    assert json.loads(run("run", "--if-due", "--out", "audits", "--json").stdout)["audited"] is False
    assert len(fake.calls) == 1
    assert run("status", "audits").exit_code == 0
    fake.time += timedelta(days=1)
    assert "due" in run("status", "audits").output
    assert run("status", "audits").exit_code == 0
    fake.time += timedelta(hours=7)
    assert run("status", "audits").exit_code == 1
    assert "overdue" in run("status", "audits").output
    run("run", "--if-due", "--out", "audits", "--task", "t-1")
    assert run("status", "audits").exit_code == 1, "an audit of a part is not the audit that is due"
    run("run", "--if-due", "--out", "audits")
    assert run("status", "audits").exit_code == 0
    assert len(fake.calls) == 3


def test_options_win_over_the_schedule(fake: Fake) -> None:
    run("schedule", "audits", "--tasks", "tasks.jsonl", "--every", "1d", "--times", "5", "--mutants", "9")
    run("run", "--out", "audits", "--times", "2", "--mutants", "0")
    ((sweep, _, mutants),) = fake.calls
    assert (sweep.repeats, mutants) == (2, 0)


@pytest.mark.parametrize(
    "words",
    [("run",), ("run", "--out", "empty"), ("run", "--if-due", "--tasks", "tasks.jsonl"), ("status", "empty"),
     ("status", "tasks.jsonl"), ("run", "--tasks", "none.jsonl")],
)  # fmt: skip
def test_what_cannot_run_says_what_is_missing(fake: Fake, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    assert isinstance(run(*words).exception, InputError)


@pytest.mark.parametrize("timer", ["crontab", "systemd", "kubernetes"])
def test_every_ready_text_starts_the_audit(fake: Fake, timer: str) -> None:
    run("schedule", "audits", "--tasks", "tasks.jsonl", "--every", "1d")
    assert "--if-due" in run("schedule", "audits", "--show", timer).output


# ---- the real thing


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "examples" / "tasks.jsonl"


def changed(path: Path, task: str, change: Callable[[dict[str, Any]], None]) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if row["instance_id"] == task:
            change(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.slow
def test_a_real_audit_in_process_sandboxes(examples: Path) -> None:
    """One sound task, and one whose gate is a test that the base passes as well and that sees nothing."""

    def blind(row: dict[str, Any]) -> None:
        row["FAIL_TO_PASS"], row["PASS_TO_PASS"] = ["tests/test_ranges.py::test_satisfies[the same]"], []

    changed(examples, "semver-4", blind)
    words = [
        "run",
        "--tasks",
        str(examples),
        "--sandbox",
        "process",
        "--workers",
        "2",
        "--times",
        "2",
        "--mutants",
        "2",
    ]
    done = run(*words, "--task", "bytesize-10", "--task", "semver-4", "--json")
    assert done.exit_code == 1, done.output
    told = json.loads(done.stdout)
    sound, unsound = told["tasks"]["bytesize-10"], told["tasks"]["semver-4"]
    assert sound["reasons"] == []
    verdicts = {check["id"]: check["verdict"] for check in sound["checks"]}
    canaries = {name: verdict for name, verdict in verdicts.items() if name.startswith("canary.")}
    assert set(canaries.values()) == {"pass", "not_applicable"}
    assert sum(verdict == "pass" for verdict in canaries.values()) >= 12
    assert {verdicts[name] for name in ("gold", "base", "flaky", "image.objects", "image.state", "T.5", "T.10")} == {
        "pass"
    }
    assert verdicts["coverage"] == "pass"
    ids = [check["id"] for check in unsound["checks"] if check["verdict"] == "fail"]
    assert {"base", "canary.trivial", "O.g.3", "T.10"} <= set(ids)
    again = CliRunner().invoke(app, ["show", told["folder"], "semver-4", "--arm", "trivial"])
    assert "resolved" in again.output
    assert set(quarantined(examples.with_name("tasks.audit.json"))) == {"semver-4"}
    assert replace(Audit.read(examples.with_name("tasks.audit.json")), only=()).quarantined
