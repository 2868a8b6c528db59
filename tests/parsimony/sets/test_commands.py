"""The commands end to end, as people give them; one of them on a run that was graded."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from parsimony.cli import main

EXAMPLES = Path(__file__).resolve().parents[3] / "configs" / "examples"
TASKS = str(EXAMPLES / "tasks.jsonl")


class Shell:
    """`parsimony` in a folder of its own, in this process; `apart` starts another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str | Path, status: int = 0) -> str:
        """Standard output; standard error where the status is 2."""
        out, err = io.StringIO(), io.StringIO()
        arguments = ["parsimony", *map(str, words)]
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "argv", arguments),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        assert (ended.value.code or 0) == status, out.getvalue() + err.getvalue()
        return err.getvalue() if status == 2 else out.getvalue()

    def apart(self, *words: str | Path) -> None:
        """In a process of its own."""
        subprocess.run([sys.executable, "-m", "parsimony", *map(str, words)], cwd=self.folder, check=True)

    def json(self, *words: str | Path, status: int = 0) -> Any:
        return json.loads(self(*words, "--json", status=status))


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in ("PARSIMONY_LEDGER", "PARSIMONY_MODELS"):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path)


def create(shell: Shell, name: str, role: str, source: str, *tasks: str, status: int = 0) -> str:
    named = [word for task in tasks for word in ("--task", task)]
    return shell("sets", "create", name, "--role", role, "--source", source, "--tasks", TASKS, *named, status=status)


def test_a_burned_task_stays_burned_whatever_is_tried(shell: Shell) -> None:
    create(shell, "dev", "development", "static:examples", "intervals-1", "csvsniff-2")
    shell("sets", "burn", "dev", "--task", "intervals-1", "--decision", "the prompt was tuned on it")
    assert "burned (entry 2" in create(shell, "hold", "holdout_live", "live:x", "intervals-1", status=2)
    shell("sets", "retire", "dev", "--task", "intervals-1", "--reason", "too easy")
    assert "burned (entry 2" in create(shell, "hold", "holdout_live", "live:x", "intervals-1", status=2)
    (record,) = shell.json("sets", "list")
    assert record["task_ids"] == ["csvsniff-2"]
    shown = shell.json("sets", "show", "dev")["tasks"]
    assert [(row["task"], row["in_it"], row["status"]) for row in shown] == [
        ("intervals-1", False, "known"),
        ("csvsniff-2", True, "known"),
    ]
    assert [entry["kind"] for entry in shell.json("sets", "log")] == ["set.created", "set.burned", "set.retired"]
    assert len(shell.json("sets", "log", "dev")) == 3


def test_an_edited_ledger_is_named_by_its_line(shell: Shell) -> None:
    create(shell, "dev", "development", "static:examples", "intervals-1")
    shell("sets", "burn", "dev", "--all", "--decision", "looked")
    head = shell.json("sets", "verify")["head"]
    assert shell.json("sets", "verify", "--expect", head)["holds_expected"] is True
    assert shell.json("sets", "verify", "--expect", "sha256:0", status=1)["holds_expected"] is False
    ledger = shell.folder / "parsimony-ledger.jsonl"
    original = ledger.read_bytes()
    ledger.write_bytes(original.replace(b"looked", b"looket"))
    assert "parsimony-ledger.jsonl:2: the line was changed" in shell("sets", "verify", status=2)
    ledger.write_bytes(original.splitlines(keepends=True)[0])
    assert "ends here and had 2 lines" in shell("sets", "list", status=2)
    ledger.write_bytes(original)
    (shell.folder / "parsimony-ledger.jsonl.head").unlink()
    assert "--adopt" in shell("sets", "list", status=2)
    shell("sets", "verify", "--adopt")
    assert [entry["kind"] for entry in shell.json("sets", "log")][2:] == ["chain.adopted"]


def test_words_that_do_not_fit_are_answered(shell: Shell) -> None:
    assert "no ledger" in shell("sets", "list", status=2)
    create(shell, "dev", "development", "static:examples", "intervals-1")
    assert "no set 'x'" in shell("sets", "show", "x", status=2)
    assert "has no task 'zzz'" in create(shell, "two", "regression", "live:x", "zzz", status=2)
    assert "one of --task and --all" in shell("sets", "burn", "dev", "--decision", "x", status=2)
    assert "does not exist" in shell(
        "sets", "create", "n", "--role", "development", "--source", "live:x", "--tasks", "no.jsonl", status=2
    )


def test_what_a_row_says_of_itself_is_ignored_aloud(shell: Shell) -> None:
    row = json.loads((EXAMPLES / "tasks.jsonl").read_text().splitlines()[0])
    row |= {"contamination_status": "unseen", "tree": None, "image": "x"}
    (shell.folder / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    told = shell("sets", "create", "dev", "--role", "development", "--source", "static:x", "--tasks", "tasks.jsonl")
    assert "ignored: the row of intervals-1 says contamination_status = unseen" in told
    assert shell.json("sets", "show", "dev")["tasks"][0]["status"] == "known"


def test_contamination_commands_write_their_findings_down(shell: Shell) -> None:
    models = shell.folder / "models.yaml"
    models.write_text("models:\n  m-1: {cutoff: 2026-04, source: its card}\n  m-2: {}\n")
    found = shell.json("contamination", "gate", "--tasks", TASKS, "--model", "m-1", "--models", models, status=1)
    assert len(found["eligible"]) == 6
    assert len(found["refused"]) == 4
    assert found["cutoff"]["source"] == "its card"
    assert "unknown cutoff is not guessed" in shell(
        "contamination", "gate", "--tasks", TASKS, "--model", "m-2", "--models", models, status=2
    )
    assert "give --cutoff" in shell("contamination", "gate", "--tasks", TASKS, status=2)
    leak = shell.json("contamination", "leak", "--tasks", TASKS)
    assert (leak["leaked"], leak["entry"]) == ([], 2)
    shell("contamination", "leak", "--tasks", TASKS, "--no-record")
    assert [entry["data"]["what"] for entry in shell.json("sets", "log")] == ["gate", "leak"]


def test_a_statement_that_tells_the_fix_is_the_answer_no(shell: Shell) -> None:
    row = json.loads((EXAMPLES / "tasks.jsonl").read_text().splitlines()[0])
    row |= {"tree": None, "image": "x", "problem_statement": "Do this:\n" + row["patch"]}
    (shell.folder / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    assert "leaked" in shell("contamination", "leak", "--tasks", "tasks.jsonl", status=1)


@pytest.mark.slow
def test_a_graded_run_is_called_generalization_only_while_it_is(shell: Shell) -> None:
    pytest.importorskip("jinja2", reason="the page needs the extra `report`")
    predictions = shell.folder / "predictions.jsonl"
    rows = [json.loads(line) for line in (EXAMPLES / "predictions.jsonl").read_text().splitlines()]
    chosen = [row for row in rows if row["instance_id"] in {"intervals-1", "semver-4"}]
    predictions.write_text("".join(json.dumps(row) + "\n" for row in chosen))
    words = ["--task", "intervals-1", "--task", "semver-4", "--sandbox", "process", "--out", "run"]
    shell.apart("grade", "--tasks", TASKS, "--predictions", predictions, *words)
    page = shell.folder / "run" / "report.html"
    assert "Not a generalization score: no ledger" in page.read_text()
    create(shell, "hold", "holdout_live", "held_out:examples", "intervals-1", "semver-4")
    assert shell("sets", "claim", "run").strip() == "generalization"
    shell("report", "run")
    assert "<b>Generalization.</b>" in page.read_text()

    names = list(dict.fromkeys(row["model_name_or_path"] if "arm" not in row else row["arm"] for row in chosen))
    decay = shell.json("contamination", "decay", "run", "--cutoff", "2026-03")
    assert [arm["arm"] for arm in decay["arms"]] == names
    assert [arm["before"]["tasks"] for arm in decay["arms"]] == [1] * len(names)

    shell("sets", "burn", "hold", "--task", "semver-4", "--decision", "looked")
    assert "1 of 2 tasks burned (semver-4)" in shell("sets", "claim", "run", status=1)
    shell("report", "run")
    assert "Not a generalization score: 1 of 2 tasks burned" in page.read_text()

    shell("compare", "run", "--change", "planner v2", "--out", "cmp.json")
    create(shell, "reg", "regression", "static:examples", "intervals-1", status=2)  # it is held out still
    shell("sets", "retire", "hold", "--task", "intervals-1", "--reason", "a month is over")
    create(shell, "reg", "regression", "static:examples", "intervals-1", "semver-4")
    (entry,) = shell.json("sets", "record", "cmp.json", "--run", "run")
    kept = entry["data"]["comparison"]["result"]["recommendation"] == "keep"
    decided = shell.json("sets", "decide", "--change", "planner v2", "--regression", "reg", status=0 if kept else 1)
    assert (decided["data"]["verdict"] == "promote") is kept
    assert decided["data"]["burned"] == ["intervals-1", "semver-4"]
    assert "used up" in shell("sets", "decide", "--change", "planner v2", "--regression", "reg", status=2)
