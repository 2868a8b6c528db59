"""`parsimony compare` as a person types it, over a real small run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli
from parsimony.records import ABComparison, Role
from parsimony.sets import SetStore
from parsimony.tasks import read_tasks

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples"
TASK = "csvsniff-2"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

Line = dict[str, Any]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one task's six candidates in the process sandbox."""
    out = tmp_path_factory.mktemp("compare") / "run"
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--sandbox", "process"]
    command += ["--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl")]
    done = subprocess.run([*command, "--task", TASK, "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(graded, tmp_path / "run"))


def change_lines(folder: Path, change: Callable[[list[Line]], list[Line]]) -> None:
    """Rewrite the outcomes, which is what a comparison reads."""
    path = folder / "outcomes.jsonl"
    lines = change([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


class Command:
    """The command line in this process."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.patch, self.captured = patch, captured
        self.out = self.err = ""

    def __call__(self, *words: object) -> int:
        self.patch.setattr(sys, "argv", ["parsimony", "compare", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        self.out, self.err = self.captured.readouterr()
        return int(ended.value.code or 0)


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


def test_the_terminal_says_the_verdict_first(folder: Path, compare: Command) -> None:
    assert compare(folder, "--change", "another prompt") == cli.DONE
    lines = compare.out.splitlines()
    assert lines[0] == "another prompt"
    assert lines[1].startswith("Pare back: ")
    assert all(len(line) <= 100 for line in lines)
    assert "tasks that changed" in compare.out
    assert str(folder / "compare.html").replace("\n", "") in compare.out.replace("\n", "")


def test_json_is_the_exact_record_and_so_is_the_file(folder: Path, compare: Command, tmp_path: Path) -> None:
    out, details = tmp_path / "ab.json", tmp_path / "details.json"
    assert compare(folder, "--json", "--out", out, "--details", details) == cli.DONE
    record = ABComparison.from_json_text(compare.out)
    assert ABComparison.from_json_text(out.read_bytes()) == record
    assert record.change_under_test == "baseline → candidate"
    assert [arm.resolved for arm in record.arms] == [(0, 0, 1), (1, 1, 1)]
    assert json.loads(details.read_text(encoding="utf-8"))[0]["headline"].startswith("Pare back")


def test_the_page_is_one_file_without_scripts_and_its_links_lead_to_logs(folder: Path, compare: Command) -> None:
    assert compare(folder) == cli.DONE
    page = (folder / "compare.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    links = re.findall(r'<a href="(logs/[^"]+)"', page)
    assert len(links) == 2
    assert all((folder / link).is_file() for link in links)


def test_a_page_elsewhere_links_to_the_same_logs(folder: Path, compare: Command, tmp_path: Path) -> None:
    page = tmp_path / "pages"
    page.mkdir()
    assert compare(folder, "--page", page / "p.html") == cli.DONE
    assert not (folder / "compare.html").exists()
    links = re.findall(r'<a href="([^"#]+)"', (page / "p.html").read_text(encoding="utf-8"))
    assert links
    assert all((page / link).is_file() for link in links)


def test_names_are_shown_and_not_run(folder: Path, compare: Command) -> None:
    assert compare(folder, "--change", "<script>alert(1)</script>[red]") == cli.DONE
    assert "<script>" not in (folder / "compare.html").read_text(encoding="utf-8")
    assert "<script>alert(1)</script>[red]" in compare.out


def test_the_gate(folder: Path, compare: Command) -> None:
    assert compare(folder, "--gate", "--json") == cli.NO


def test_missing_verdicts_are_status_3(folder: Path, compare: Command) -> None:
    def lose_one(lines: list[Line]) -> list[Line]:
        return [{**lines[0], "outcome": "missing", "score": None}, *lines[1:]]

    change_lines(folder, lose_one)
    assert compare(folder, "--gate") == cli.PARTIAL
    assert "verdicts are missing" in compare.out
    assert "Incomplete." in (folder / "compare.html").read_text(encoding="utf-8")


def test_two_runs(graded: Path, folder: Path, compare: Command, tmp_path: Path) -> None:
    """An arm of one run against an arm of another, here a copy: asked for by name, because it is the same run."""
    arms = ("--baseline", "baseline", "--candidate", "candidate")
    assert compare(graded, folder, *arms, "--json", "--page", tmp_path / "p.html") == cli.DONE
    assert [arm.resolved for arm in ABComparison.from_json_text(compare.out).arms] == [(0, 0, 1), (1, 1, 1)]
    assert compare(graded, folder) == cli.CANNOT
    assert "compared with itself" in compare.err


def test_an_unequal_frozen_field_is_named_with_both_values(graded: Path, folder: Path, compare: Command) -> None:
    sweep = (folder / "sweep.yaml").read_text(encoding="utf-8")
    (folder / "sweep.yaml").write_text(sweep.replace("temperature: null", "temperature: 0.7"), encoding="utf-8")
    assert compare(graded, folder, "--baseline", "baseline", "--candidate", "candidate") == cli.CANNOT
    assert "frozen.temperature: is not stated for 'baseline' and 0.7 for 'candidate'" in compare.err


def test_several_candidates_are_a_list_of_records(folder: Path, compare: Command) -> None:
    def third_arm(lines: list[Line]) -> list[Line]:
        return lines + [{**line, "arm": "other"} for line in lines if line["arm"] == "candidate"]

    change_lines(folder, third_arm)
    sweep = (folder / "sweep.yaml").read_text(encoding="utf-8")  # no prediction of the third arm tells its model
    (folder / "sweep.yaml").write_text(sweep.replace("  model: null", "  model: some"), encoding="utf-8")
    assert compare(folder, "--json") == cli.DONE
    found = [ABComparison.from_json(one) for one in json.loads(compare.out)]
    assert [one.change_under_test for one in found] == ["baseline → candidate", "baseline → other"]
    assert compare(folder, "--change", "x") == cli.DONE
    assert "2 comparisons as one family" in compare.out
    assert compare(folder, "--change", "x", "--change", "y", "--change", "z") == cli.CANNOT


def test_flaky_candidates_are_graded_again(folder: Path, compare: Command) -> None:
    """One repeat is made to disagree; five real executions more outvote it, now and in later comparisons."""

    def disagree(lines: list[Line]) -> list[Line]:
        flipped = {**lines[-1], "repeat": 1, "outcome": "not_resolved"}
        return [*lines, *({**line, "repeat": 1} for line in lines[:-1]), flipped]

    change_lines(folder, disagree)
    assert compare(folder) == cli.DONE
    assert "resolved × 1, not_resolved × 1" in compare.out
    before = (folder / "outcomes.jsonl").read_bytes()
    assert compare(folder, "--rerun-flaky", "--json") == cli.DONE
    record = ABComparison.from_json_text(compare.out)
    assert record.arms[1].resolved == (1, 1, 1)
    assert (folder / "outcomes.jsonl").read_bytes() == before
    assert compare(folder) == cli.DONE
    assert "resolved × 6, not_resolved × 1" in compare.out
    assert "5 further executions of 1 flaky candidates" in compare.out.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--alpha", "7"], "alpha: is 7.0"),
        (["--smallest-effect", "nan"], "smallest_effect: is nan"),
        (["--look", "2"], "look: is 2 of 1"),
        (["--change", " "], "change: is blank"),
        (["--candidate", "nobody"], "has no arm 'nobody'"),
        (["--out", "nowhere/x.json"], "is in a folder that is not there"),
    ],
)
def test_bad_requests_are_one_line(graded: Path, compare: Command, words: list[str], message: str) -> None:
    assert compare(graded, *words) == cli.CANNOT
    assert message in compare.err
    assert len(compare.err.strip().splitlines()) == 1


def test_more_than_two_runs_need_pool(graded: Path, compare: Command) -> None:
    assert compare(graded, graded, graded) == cli.CANNOT
    assert "--pool" in compare.err
    assert compare(graded, graded, "--pool") == cli.CANNOT
    assert "pooled twice" in compare.err


def test_a_comparison_on_tasks_of_a_set_is_written_down(folder: Path, compare: Command, tmp_path: Path) -> None:
    ledger, out = tmp_path / "ledger.jsonl", tmp_path / "ab.json"
    assert compare(folder, "--ledger", ledger, "--out", out) == cli.DONE
    assert "in no ledger: there is no" in compare.out
    assert not ledger.exists()
    tasks = [task for task in read_tasks(EXAMPLES / "tasks.jsonl").tasks if task.instance_id == TASK]
    SetStore.open(ledger).create("regression-v1", Role.REGRESSION, tasks, "static:examples")
    assert compare(folder, "--ledger", ledger, "--out", out, "--json", "--no-record") == cli.DONE
    ABComparison.from_json_text(compare.out)
    assert "--no-record" in compare.err
    assert len(ledger.read_text(encoding="utf-8").splitlines()) == 1
    assert compare(folder, "--ledger", ledger, "--out", out) == cli.DONE
    assert "written down as entry 2" in compare.out.replace("\n", " ")
    assert "not generalization" in compare.out
    claim = json.loads((tmp_path / "ab.claim.json").read_text(encoding="utf-8"))
    assert (claim["generalization"], claim["entry"], claim["ledger"]) == (False, 2, str(ledger))
    assert set(json.loads(out.read_text(encoding="utf-8"))) == set(
        ABComparison.from_json_text(out.read_bytes()).to_json()
    )
    assert "Not generalization" in (folder / "compare.html").read_text(encoding="utf-8")
    entry = json.loads(ledger.read_text(encoding="utf-8").splitlines()[1])
    assert entry["data"]["tasks"] == [TASK]


def test_a_folder_that_is_not_there_is_said_before_anything_is_written_down(
    folder: Path, compare: Command, tmp_path: Path
) -> None:
    assert compare(folder, "--out", tmp_path / "no" / "ab.json") == cli.CANNOT
    assert not (folder / "compare.html").exists()
