"""A nightly whose gradings are told instead of done: a table of verdicts a night, and the command line around it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.canarying import CanariesGraded
from parsimony import cli
from parsimony.canonical import digest_bytes
from parsimony.cli import nightly_grading, nightly_work
from parsimony.nightly import ArmNight, Cost, Night, TaskNight
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

SEEDS = (1, 2, 3)
CONFIG = """\
name: demo
sweep: sweep.yaml
nights: nights
arms: [a]
statistics: {alpha: 0.05, window: 5}
owners:
  - {owner: "@parsers", task: "parse-*"}
  - {owner: "@rest", repo: "o/*"}
schedule: {cron: 30 3 * * *, grace: 6h}
"""
SWEEP = """\
tasks: tasks.jsonl
predictions: predictions.jsonl
"""


class KilledHere(BaseException):
    """Stands for a kill: nothing catches it."""


@dataclass
class World:
    """What gradings come to.

    Attributes:
        failing: tasks that no seed of a date resolves, by arm; `missing` the same without verdict.
        canaries: outcome by name of a canary, and round; else as it must be.
        settings: of all arms by date, laid over the others.
        calls: what was graded, in order.
    """

    tasks: tuple[str, ...] = tuple(f"parse-{n}" for n in range(6)) + tuple(f"fmt-{n}" for n in range(6))
    arms: tuple[str, ...] = ("a",)
    seeds: tuple[int, ...] = SEEDS
    failing: dict[str, set[str]] = field(default_factory=dict)
    failing_arms: dict[str, set[str]] = field(default_factory=dict)
    missing: dict[str, set[str]] = field(default_factory=dict)
    canaries: dict[tuple[str, int], str] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    quarantined: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    at: Callable[[str], None] = lambda _: None

    def grade_sweep(self, sweep: Any, root: Path, observer: object) -> None:
        assert sweep.predictions[0].is_file()
        self.calls.append(f"sweep {root.name}")
        rows = []
        for task in self.tasks:
            for arm in self.arms:
                failing = task in self.failing.get(root.name, ()) and arm in self.failing_arms.get(root.name, self.arms)
                outcome = "not_resolved" if failing else "resolved"
                if task in self.missing.get(root.name, ()):
                    outcome = "missing"
                rows += [{"task": task, "arm": arm, "seed": seed, "outcome": outcome} for seed in self.seeds]
        (root / "outcomes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self.at("graded")

    def grade_canaries(self, sweep: Any, root: Path, observer: object, **asked: Any) -> CanariesGraded:
        self.calls.append(f"canaries {root.parent.name} {asked['rounds']}")
        lines = []
        for repeat in range(asked["rounds"]):
            for name in ("gold", *asked["wrong"]):
                outcome = self.canaries.get((name, repeat), "resolved" if name == "gold" else "not_resolved")
                lines.append({"task_id": "fmt-0", "arm": name, "repeat": repeat, "outcome": outcome, "reasons": []})
        self.at(f"canaries {asked['rounds']}")
        return CanariesGraded(lines)

    def read_run(self, root: Path) -> Run:
        rows = [json.loads(line) for line in (root / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()]
        tasks = {name: task(name) for name in self.tasks}
        trials = tuple(
            Trial(
                row["task"],
                row["arm"],
                row["seed"],
                0,
                Outcome(row["outcome"]),
                patch_ref=digest_bytes(row["task"].encode()),
                llm=Spend(10, 0, 5, 1, micro_dollars=20_000),
                compute=Spend(cpu_seconds=1.0, wall_seconds=2.0, micro_dollars=0),
            )
            for row in rows
        )
        frozen = {"model": "m", "task_set": "t", "environment_image": "e", "timeout": 60.0}
        settings = Settings(**{**frozen, **self.settings.get(root.name, {})})
        named = dict.fromkeys(self.arms, settings)
        return Run(f"run-{root.name}", "demo", str(root), tasks, named, trials, self.quarantined)


def task(name: str) -> Task:
    return Task(name, f"o/{name.partition('-')[0]}", None, ("t",), (), "pytest")


class Shell:
    """`parsimony nightly …` in this process, at a time of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.folder, self.patch, self.captured = folder, patch, captured
        self.out = self.err = ""
        self.now = datetime(2026, 12, 1, 4, tzinfo=UTC)
        self.config = folder / "nightly.yaml"
        self.config.write_text(CONFIG, encoding="utf-8")
        (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
        (folder / "predictions.jsonl").write_text("{}\n", encoding="utf-8")
        self.world = World()
        patch.chdir(folder)
        patch.setattr(nightly_work, "now", lambda: self.now)
        patch.setattr(nightly_grading, "grade_sweep", self.world.grade_sweep)
        patch.setattr(nightly_grading, "grade_canaries", self.world.grade_canaries)
        patch.setattr(nightly_grading, "read_priced_run", self.world.read_run)
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    @property
    def nights(self) -> Path:
        return self.folder / "nights"

    def ledger(self) -> list[tuple[str, str]]:
        """(kind, date) of every entry."""
        text = (self.nights / "nights.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        return [(row["kind"], row["data"]["date"]) for row in rows]

    def __call__(self, command: str, *words: object) -> int:
        self.patch.setattr(sys, "argv", ["parsimony", "nightly", command, str(self.config), *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        self.out, self.err = self.captured.readouterr()
        return int(ended.value.code or 0)

    def night(self, day: str, *words: object) -> int:
        """A night on its own date, at four o'clock."""
        self.now = datetime.fromisoformat(f"{day}T04:00:00Z")
        return self("run", "--date", day, *words)

    def json(self, command: str, *words: object, status: int = 0) -> Any:
        assert self(command, *words, "--json") == status, self.err
        return json.loads(self.out)

    def edit(self, before: str, after: str) -> None:
        text = self.config.read_text(encoding="utf-8")
        assert before in text
        self.config.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def day(number: int) -> date:
    return date(2026, 12, number)


def a_task(name: str, resolved: int | None, *, seeds: int = 3, flaky: bool = False, patches: str = "p") -> TaskNight:
    """A task of a night; None: no verdict at all."""
    missing = seeds if resolved is None else 0
    outcomes = {} if resolved is None else {"resolved": resolved}
    return TaskNight(name, "o/r", resolved or 0, missing, seeds, flaky, patches, outcomes, 1.0)


def a_night(number: int, tasks: Mapping[str, int | None], **more: Any) -> Night:
    found = tuple(a_task(name, resolved, **more) for name, resolved in tasks.items())
    arm = ArmNight({}, 0.5, (0.4, 0.6), (0.5, 0.5), Cost(None, None, 1.0), found)
    return Night(day(number), f"run-{number}", {"a": arm})
