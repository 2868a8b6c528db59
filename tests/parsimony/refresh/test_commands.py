"""`parsimony refresh …` as people type it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli
from parsimony.cli import refresh_work
from parsimony.cli.refresh_config import Given, read
from parsimony.errors import InputError
from parsimony.refresh import FolderSource, UrlSource
from parsimony.sets import SetStore
from tests.parsimony.refresh.conftest import NOW, row, write_rows

CONFIGS = Path(__file__).parents[3] / "configs"
CONFIG = """\
name: feed
set: live-v1
store: store
sources:
  - name: drop
    folder: drop
after: 2026-01-31
window_months: 3
retired:
  role: regression
schedule:
  cron: 30 3 * * 1
  grace: 6h
"""


class Shell:
    """The command line in this process, in a folder of its own, at a time of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.folder, self.patch, self.captured = folder, patch, captured
        self.out = self.err = ""
        self.now = NOW
        self.config = folder / "refresh.yaml"
        self.config.write_text(CONFIG, encoding="utf-8")
        (folder / "drop").mkdir()
        patch.chdir(folder)
        patch.setattr(refresh_work, "now", lambda: self.now)
        for name in ("PARSIMONY_LEDGER", "PARSIMONY_MODELS"):
            patch.delenv(name, raising=False)

    def __call__(self, command: str, *words: object) -> int:
        self.patch.setattr(sys, "argv", ["parsimony", "refresh", command, str(self.config), *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        self.out, self.err = self.captured.readouterr()
        return int(ended.value.code or 0)

    def json(self, command: str, *words: object, status: int = 0) -> Any:
        assert self(command, *words, "--json") == status, self.err
        return json.loads(self.out)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def test_run_status_and_page(shell: Shell) -> None:
    write_rows(shell.folder / "drop" / "new.jsonl", [row("a"), row("b", "2026-02-10"), row("c", "2026-01-10")])
    assert shell("run") == cli.DONE
    assert "live-v1: 1 came, 0 left; 0 went to live-v1-retired" in shell.out
    assert "not in the live set: b: older than 3 months" in shell.out
    assert all(len(line) <= 100 for line in shell.out.splitlines())
    found = shell.json("status")
    assert found["totals"] == {"live": 1, "used": 0, "retired": 0, "elsewhere": 0, "waiting": 1}
    assert found["sets"][0]["contamination_status"] == "continuously_refreshed"
    assert found["next_due"] == "2026-07-20T03:30:00Z"
    page = shell.folder / "p.html"
    assert shell("status", "--page", page) == cli.DONE
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "new.jsonl:1" in text
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    assert shell("status", "--page", shell.folder / "no" / "p.html") == cli.CANNOT


def test_bad_rows_and_conflicts_are_status_3_and_said(shell: Shell) -> None:
    write_rows(shell.folder / "drop" / "a.jsonl", [row("<b>a</b>"), row("b", FAIL_TO_PASS=[])])
    write_rows(shell.folder / "drop" / "b.jsonl", [row("<b>a</b>", problem_statement="other")])
    assert shell("run") == cli.PARTIAL
    assert "rejected: a.jsonl:2: FAIL_TO_PASS" in shell.out
    assert "conflict: b.jsonl:1" in shell.out
    shell.now += timedelta(days=1)
    found = shell.json("run", status=cli.PARTIAL)
    assert found["sources"][0]["conflicts"][0]["fields"] == ["problem_statement"]
    assert found["added"] == []
    assert shell("status", "--page", "p.html") == cli.DONE
    text = (shell.folder / "p.html").read_text(encoding="utf-8")
    assert "What the newest one could not use" in text
    assert "<b>a</b>" not in text


def test_a_page_of_nothing(shell: Shell) -> None:
    assert shell("status", "--page", "p.html") == cli.DONE
    assert "never refreshed; next due" in shell.out
    assert "No task has come yet" in (shell.folder / "p.html").read_text(encoding="utf-8")
    assert not (shell.folder / "parsimony-ledger.jsonl").exists()


def test_no_source_answers(shell: Shell) -> None:
    (shell.folder / "drop").rmdir()
    assert shell("run") == cli.CANNOT
    assert "no such folder" in " ".join(shell.out.split())
    assert "nothing is lost" in shell.out


def test_if_due(shell: Shell) -> None:
    assert shell.json("run", "--if-due")["refreshed"] is True
    shell.now += timedelta(days=1)
    assert shell.json("run", "--if-due") == {"refreshed": False, "next_due": "2026-07-20T03:30:00Z"}
    shell.now = datetime.fromisoformat("2026-07-20T09:00:00+00:00")
    assert shell.json("status")["state"] == "due"
    shell.now += timedelta(hours=1)
    assert shell.json("status", status=cli.NO)["state"] == "overdue"
    assert shell("status", "--page", "p.html") == cli.NO
    assert "Overdue." in (shell.folder / "p.html").read_text(encoding="utf-8")
    (shell.folder / "drop").rename(shell.folder / "elsewhere")
    assert shell("run", "--if-due") == cli.CANNOT
    assert shell.json("status", status=cli.NO)["state"] == "overdue"  # one that got no answer moves nothing
    (shell.folder / "elsewhere").rename(shell.folder / "drop")
    assert shell.json("run", "--if-due")["refreshed"] is True
    assert shell.json("status")["state"] == "current"


def test_the_schedule(shell: Shell) -> None:
    assert shell("schedule") == cli.DONE
    assert "A missed refresh loses no task" in shell.out
    line = shell.out.splitlines()[-1]
    assert line.startswith("30 3 * * 1 parsimony refresh run ")
    assert line.endswith(f"--if-due --ledger {shell.folder.resolve() / 'parsimony-ledger.jsonl'}")
    assert "parsimony-refresh.timer" in shell.json("schedule", "--show", "systemd")["systemd"]
    assert "kind: CronJob" in shell.json("schedule", "--show", "kubernetes")["kubernetes"]
    shell.config.write_text(CONFIG.partition("schedule:")[0], encoding="utf-8")
    assert shell("schedule") == cli.CANNOT
    assert "schedule: is missing" in shell.err
    assert shell("run", "--if-due") == cli.CANNOT
    assert shell.json("status")["state"] == "unscheduled"


def test_options_take_the_place_of_the_file(shell: Shell) -> None:
    (shell.folder / "models.yaml").write_text(
        "models:\n  m:\n    cutoff: 2026-04\n    source: card\n", encoding="utf-8"
    )
    write_rows(shell.folder / "drop" / "new.jsonl", [row("a"), row("b", "2026-03-10")])
    words = ("--model", "m", "--models", shell.folder / "models.yaml", "--window", 12)
    assert shell.json("run", *words)["added"] == ["a"]
    shell.now += timedelta(days=1)
    assert shell.json("run", "--after", "2026-02-28", "--window", 12)["added"] == ["b"]
    one = SetStore.open(shell.folder / "parsimony-ledger.jsonl").state.named("live-v1")
    assert one.cutoff == "2026-02-28"
    assert shell("run", "--model", "unknown", "--models", shell.folder / "models.yaml") == cli.CANNOT
    assert "knows no cutoff of 'unknown'" in shell.err
    (shell.folder / "models.yaml").write_text("models:\n  m:\n    cutoff: 2026\n    source: card\n", encoding="utf-8")
    assert shell("run", "--model", "m", "--models", shell.folder / "models.yaml") == cli.CANNOT
    assert "models.yaml:3: models.m.cutoff: is a number" in shell.err
    assert shell("run", "--after", "soon") == cli.CANNOT
    assert "after: is 'soon'" in shell.err


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (
            ("window_months: 3", "windw_months: 3"),
            ":8: windw_months: is not a known field; did you mean `window_months`",
        ),
        (("window_months: 3", "window_months: 0"), ":8: window_months"),
        (("folder: drop", "folder: drop\n    url: http://x/y"), ":5: sources.0: needs a folder or a url"),
        (("folder: drop", "url: ftp://x/y"), ":6: sources.0.url: is 'ftp://x/y'"),
        (("name: drop", "name: 'a b'"), ":5: sources.0.name"),
        (("after: 2026-01-31", "after: someday"), ":7: after: is 'someday'"),
        (("after: 2026-01-31", "after: 2026"), ":7: after: is a number"),
        (("store: store", "store: ''"), ":3: store"),
        (("after: 2026-01-31\n", ""), "after: is missing"),
        (("cron: 30 3 * * 1", "cron: 61 3 * * 1"), ":12: schedule.cron"),
        (("cron: 30 3 * * 1", "every: 0d"), ":12: schedule.every"),
        (("cron: 30 3 * * 1", "every: 1d\n  cron: 30 3 * * 1"), ":11: schedule: needs an interval or times"),
        (("role: regression", "role: holdout_live"), ":10: retired.role"),
        (("role: regression", "set: live-v1"), "retired: is 'live-v1'"),
        (("sources:\n  - name: drop\n    folder: drop", "sources: []"), ":4: sources"),
        ((CONFIG, ""), "does not hold a mapping"),
    ],
)
def test_errors_of_the_file_name_the_line_and_the_mend(shell: Shell, change: tuple[str, str], wanted: str) -> None:
    assert change[0] in CONFIG
    shell.config.write_text(CONFIG.replace(*change), encoding="utf-8")
    assert shell("run") == cli.CANNOT
    assert f"refresh.yaml{wanted}" in shell.err or (wanted in shell.err and "refresh.yaml" in shell.err)
    assert ";" in shell.err


def test_the_kinds_of_sources(shell: Shell) -> None:
    more = "  - name: far\n    url: https://x/rows.jsonl\n    timeout_s: 5\n    max_mib: 0.5\n"
    shell.config.write_text(CONFIG.replace("after:", f"{more}after:"), encoding="utf-8")
    first, second = read(shell.config, Given(shell.folder / "ledger", shell.folder / "models")).plan.sources
    assert isinstance(first, FolderSource)
    assert first.folder == shell.folder / "drop"
    assert isinstance(second, UrlSource)
    assert (second.timeout_s, second.max_bytes) == (5, 1 << 19)


def test_the_example_that_comes_with_it(shell: Shell) -> None:
    shutil.copytree(CONFIGS, shell.folder / "configs")
    shell.config = shell.folder / "configs" / "refresh.example.yaml"
    shell.now = datetime.fromisoformat("2026-09-01T00:00:00+00:00")
    found = shell.json("run")
    assert len(found["added"]) == 10
    assert len(found["sets"]["joined"]) == 10
    assert (shell.folder / "live-tasks" / "live.jsonl").exists()


def test_no_cutoff_at_all_is_refused(shell: Shell) -> None:
    shell.config.write_text(CONFIG.replace("after: 2026-01-31\n", ""), encoding="utf-8")
    with pytest.raises(InputError, match="after: is missing"):
        read(shell.config, Given(shell.folder / "ledger", shell.folder / "models"))
