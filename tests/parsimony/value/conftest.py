"""Runs made by hand, a graded run, and the command line in this process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from parsimony import cli
from parsimony.cost_ledger import ArmCost, PriceTable, by_arm
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples"
OUTCOMES = {None: Outcome.MISSING, True: Outcome.RESOLVED, False: Outcome.NOT_RESOLVED}


def task(name: str, repo: str | None = None, **row: object) -> Task:
    return Task(name, repo or name, "c", ("a",), (), "pytest", test_cmd="pytest", image="i:1", row=row)


def make_run(
    tables: Mapping[str, Sequence[Sequence[bool | None]]], *, micro: int | None = 1_000_000, repos: int | None = None
) -> Run:
    """A run of tables of verdicts (tasks, seeds) by arm, each candidate at `micro`; tasks t0, t1, ...; seeds from 1."""
    tasks, trials = {}, []
    for arm, table in tables.items():
        for row, verdicts in enumerate(table):
            name = f"t{row}"
            tasks[name] = task(name, None if repos is None else f"r{row % repos}")
            for seed, verdict in enumerate(verdicts, 1):
                spend = None if micro is None else Spend(output_tokens=1, micro_dollars=micro)
                trials.append(Trial(name, arm, seed, 0, OUTCOMES[verdict], "sha256:1", llm=spend))
    return Run("r", "made", "runs/made", tasks, dict.fromkeys(tables, Settings()), tuple(trials))


def point(ends: tuple[Fraction, Fraction] | None) -> Fraction:
    """The number that two equal ends are."""
    assert ends is not None
    assert ends[0] == ends[1]
    return ends[0]


def costs_of(run: Run) -> list[ArmCost]:
    return by_arm(run, PriceTable())


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command as a person types it: exit status, output, errors."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["parsimony", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two tasks' candidates in the process sandbox."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    out = tmp_path_factory.mktemp("value") / "run"
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--sandbox", "process"]
    command += ["--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl")]
    command += ["--task", "csvsniff-2", "--task", "ttlcache-3", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out
