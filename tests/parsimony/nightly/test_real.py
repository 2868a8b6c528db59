"""Nights on the shipped examples, graded for real in the process sandbox."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli
from parsimony.cli import nightly_work

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples"
TASKS = ("semver-4",)


def run(config: Path, day: str, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    patch.setattr(nightly_work, "now", lambda: datetime(2026, 12, 5, tzinfo=UTC))
    patch.setattr(sys, "argv", ["parsimony", "nightly", "run", str(config), "--date", day, "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = captured.readouterr()
    assert "Traceback" not in err
    return int(ended.value.code or 0), json.loads(out) if out else err


def nightly(folder: Path, rows: list[dict[str, Any]]) -> Path:
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    every = (EXAMPLES / "predictions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    ours = [line for line in every if json.loads(line)["instance_id"] in TASKS]
    (folder / "predictions.jsonl").write_text("".join(ours), encoding="utf-8")
    (folder / "sweep.yaml").write_text(
        "tasks: tasks.jsonl\npredictions: predictions.jsonl\narms: [candidate]\nseeds: [1, 2]\n"
        "sandbox: {kind: process}\nconcurrency: 2\nfootprint: 'off'\n",
        encoding="utf-8",
    )
    config = folder / "nightly.yaml"
    canaries = "canaries: {tasks: 1, wrong: [empty, exit-zero]}"
    text = f"name: real\nsweep: sweep.yaml\nnights: nights\narms: [candidate]\n{canaries}\n"
    config.write_text(text, encoding="utf-8")
    return config


def rows(folder: Path) -> list[dict[str, Any]]:
    for name in TASKS:
        shutil.copytree(EXAMPLES / "tasks" / name / "tree", folder / "tasks" / name / "tree", dirs_exist_ok=True)
    found = [json.loads(line) for line in (EXAMPLES / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in found if row["instance_id"] in TASKS]


@pytest.mark.slow
def test_two_nights_pass_and_a_broken_gold_voids_the_third(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = nightly(tmp_path, rows(tmp_path))
    status, found = run(config, "2026-12-01", monkeypatch, capsys)
    assert status == cli.DONE, found
    assert found["state"] == "passed"
    text = (tmp_path / "nights" / "nights.jsonl").read_text(encoding="utf-8")
    canaries = json.loads(text.splitlines()[0])["data"]["canaries"]
    assert {one["name"]: one["outcome"] for one in canaries if one["when"] == "after"}["gold"] == "resolved"
    assert len(canaries) == 6
    assert not [one for one in canaries if one["name"] != "gold" and one["outcome"] in {"resolved", "missing"}]
    status, found = run(config, "2026-12-02", monkeypatch, capsys)
    assert (status, found["state"], found["baseline"]) == (cli.DONE, "passed", "2026-12-01")
    assert found["comparisons"][0]["delta"] == 0
    broken = [{**row, "patch": "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n"}
              for row in rows(tmp_path)]  # fmt: skip
    config = nightly(tmp_path, broken)
    status, found = run(config, "2026-12-03", monkeypatch, capsys)
    assert (status, found["state"]) == (cli.CANNOT, "void")
    assert "'gold'" in found["reasons"][0]
    assert not (tmp_path / "nights" / "2026-12-03" / "outcomes.jsonl").exists(), "nothing else was graded"
