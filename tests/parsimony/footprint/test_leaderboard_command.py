"""`parsimony leaderboard` as a person types it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli

Run = Callable[..., int]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    rows = []
    for agent, nets in (("fast [b]", (1, 2)), ("slow", (40, 50))):
        for at, net in enumerate(nets):
            metrics = {"units_added": net, "units_deleted": 0, "net_units": net, "churn": net, "mode": "full_file"}
            rows.append(
                {
                    "agent": agent, "task_id": f"t{at}", "resolved": True, "analysis_status": "ok",
                    "metrics": metrics, "analyzer_version": "9.9", "python_version": "3.12.1", "provenance": {},
                    "resolve_rate": 0.25,
                }
            )  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["parsimony", "leaderboard", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    return command


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_into_a_pipe_it_writes_json(results: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(results) == cli.DONE
    assert [(row["agent"], row["median_net_units"]) for row in told(capsys)] == [("fast [b]", 1.5), ("slow", 45)]


def test_means_with_rank_intervals(results: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(results, "--ranking", "measured-net-mean-v1", "--draws", 50) == cli.DONE
    assert [(row["rank"], row["rank_interval_95"]) for row in told(capsys)] == [(1, [1, 1]), (2, [2, 2])]
    assert run(results, "--ranking", "all-measured", "--agent", "slow", "--draws", 0) == cli.DONE
    assert [(row["ordering"], row["rank_interval_95"]) for row in told(capsys)] == [("all-measured", None)]


@pytest.mark.parametrize("ranking", ["medians", "measured-net-mean-v1"])
def test_in_a_terminal_it_draws_a_table(
    results: Path, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ranking: str
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(results, "--ranking", ranking) == cli.DONE
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    for part in ("agent", "net units", "fast [b]", "slow", "25.0 %"):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert run(results, "--ranking", ranking, "--json") == cli.DONE
    assert len(told(capsys)) == 2


def test_pooled_analyzers_are_named(results: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    results.write_text(results.read_text().replace('"9.9"', '"9.8"', 1))
    assert run(results) == cli.DONE
    assert "of analyzers 9.8 and 9.9" in capsys.readouterr().err
    assert run(results, "--ranking", "all-measured") == cli.CANNOT


def test_a_bad_line_is_named(results: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    results.write_text("{}\n")
    assert run(results) == cli.CANNOT
    assert capsys.readouterr().err.startswith(f"parsimony: {results}:1: resolved: is missing")
