"""`parsimony cost` as a person types it, over a real small run."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.finished import read_run
from parsimony import cli
from parsimony.chain import Chain

PRICES = Path(__file__).parents[3] / "configs" / "prices" / "example.yaml"


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A copy of the graded run."""
    return Path(shutil.copytree(graded, tmp_path / "run"))


class Command:
    """The command line in this process."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.patch, self.captured = patch, captured
        self.out = self.err = ""

    def __call__(self, *words: object) -> int:
        self.patch.setattr(sys, "argv", ["parsimony", "cost", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        self.out, self.err = self.captured.readouterr()
        return int(ended.value.code or 0)

    def json(self, *words: object) -> Any:
        assert self(*words, "--json") == cli.DONE, self.err
        return json.loads(self.out)


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


def change_outcomes(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the outcomes, line by line."""
    path = folder / "outcomes.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        change(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_a_run_is_priced_and_reconciled(folder: Path, cost: Command) -> None:
    assert cost(folder, "--prices", PRICES, "--reconcile") == cli.DONE
    assert "reconciled: candidates and ledger agree to the last micro-dollar, token and call" in cost.out
    assert "producing and grading once" in cost.out
    assert max(map(len, cost.out.splitlines())) <= 100
    assert (folder / "cost.html").read_text(encoding="utf-8").count("<svg") == 3


def test_its_sums_are_those_of_its_rows(folder: Path, cost: Command, tmp_path: Path) -> None:
    """Six candidates, each graded twice: 6 rows of producing, 12 of grading, which share executions."""
    rows = tmp_path / "deep" / "rows.jsonl"
    told = cost.json(folder, "--prices", PRICES, "--reconcile", "--rows", rows)
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [sum(line["kind"] == kind for line in lines) for kind in ("llm", "compute")] == [6, 12]
    for kind in ("llm", "compute"):
        whole = sum(line["micro_dollars"] for line in lines if line["kind"] == kind)
        assert whole == sum(arm[kind]["micro_dollars"] for arm in told["arms"])
    found = told["reconciliation"]
    assert found["differences"] == []
    assert found["attributed"]["micro_dollars"] == found["spent"]["micro_dollars"] + found["shared"]["micro_dollars"]
    assert all(line["peak_memory_bytes"] > 0 for line in lines if line["kind"] == "compute")
    assert all(arm["dollars"] > 0 and arm["micro_dollars_per_candidate"]["median"] > 0 for arm in told["arms"])


def test_without_prices_dollars_are_those_of_producing_as_told(folder: Path, cost: Command) -> None:
    told = cost.json(folder)
    assert all(arm["dollars"] > 0 and not arm["with_grading"] and arm["prices_of"] is None for arm in told["arms"])


def test_a_day_before_the_first_price_is_an_error(folder: Path, cost: Command) -> None:
    assert cost(folder, "--prices", PRICES, "--as-of", "2020-01-01") == cli.CANNOT
    assert "no price of computing on 2020-01-01 (there is one from 2026-01-01 to now)" in cost.err
    assert "csvsniff-2, arm baseline, seed 1" in cost.err
    assert cost(folder, "--as-of", "yesterday") == cli.CANNOT
    assert "write a day as 2026-11-30" in cost.err


def test_a_missing_verdict_is_no_failure(folder: Path, cost: Command) -> None:
    def lose(line: dict[str, Any]) -> None:
        if line["arm"] == "candidate" and line["seed"] == 1:
            line["outcome"] = "missing"

    change_outcomes(folder, lose)
    assert cost(folder, "--prices", PRICES) == cli.PARTIAL
    assert "candidate: 1 of 3 verdicts are missing: bounds, no rate, rank or ratio" in re.sub(r"\s+", " ", cost.out)


def test_the_ledger_of_costs_only_grows(folder: Path, cost: Command, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    assert cost(folder, "--prices", PRICES, "--ledger", ledger) == cli.DONE
    assert "2 entries added" in " ".join(cost.out.split())
    assert cost(folder, "--prices", PRICES, "--ledger", ledger) == cli.DONE
    assert "0 entries added" in " ".join(cost.out.split())
    before = ledger.read_bytes()
    assert cost(folder, "--ledger", ledger) == cli.DONE
    assert ledger.read_bytes().startswith(before)
    entries = list(Chain.open(ledger).entries("cost.recorded"))
    assert [one.data["arm"] for one in entries] == ["baseline", "candidate"] * 2
    ledger.write_bytes(ledger.read_bytes().replace(b'"resolved":', b'"resolvec":', 1))
    assert cost(folder, "--ledger", ledger) == cli.CANNOT


def test_a_folder_that_is_no_run(tmp_path: Path, cost: Command) -> None:
    assert cost(tmp_path) == cli.CANNOT
    assert "is not the folder of a run" in cost.err
    assert cost(tmp_path / "nothing", "--prices", tmp_path / "none.yaml") == cli.CANNOT


def test_a_unit_has_the_cost_of_the_execution_that_decided_it(graded: Path) -> None:
    """Also when the ledger has rows of others for it; each has the day on which it was executed."""
    run = read_run(graded)
    spends = [trial.compute for trial in run.trials]
    assert all(spend is not None and spend.day is not None and spend.peak_memory_bytes for spend in spends)
    by_key: dict[str | None, set[float]] = {}
    for trial in run.trials:
        by_key.setdefault(trial.execution_key, set()).add(trial.compute.cpu_seconds if trial.compute else -1.0)
    assert all(len(found) == 1 for found in by_key.values())
