"""`parsimony scorecard` and `diagnose` over a real small run: records, exit statuses, messages, pages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cluster.basefiles import BaseFiles
from cluster.rundir import write_jsonl
from parsimony import cli
from parsimony.cli import materials
from parsimony.records import Scorecard
from parsimony.tasks import Task

EXAMPLES = Path(__file__).parents[2] / "configs" / "examples"
TASK = "csvsniff-2"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one task's candidates, three of each arm, in the process sandbox."""
    out = tmp_path_factory.mktemp("scorecard") / "run"
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--sandbox", "process"]
    command += ["--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl")]
    done = subprocess.run([*command, "--task", TASK, "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(graded, tmp_path / "run"))


@pytest.fixture
def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command in this process: its exit status, standard output and standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["parsimony", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_candidate_gets_a_record_and_a_note(folder: Path, parsimony: Any) -> None:
    status, out, _ = parsimony("scorecard", folder, "--cpu-hour", "0.05")
    assert status == cli.DONE
    assert "6 scorecards of 6 candidates" in out
    assert all(len(line) <= 100 for line in out.replace(str(folder), "").splitlines())
    cards, notes = lines(folder / "scorecards.jsonl"), lines(folder / "scorecard-notes.jsonl")
    assert [Scorecard.from_json(card).to_json() for card in cards] == cards
    assert [(card["run_id"], card["task_id"]) for card in cards] == [(x["run_id"], x["task_id"]) for x in notes]
    assert len({card["run_id"] for card in cards}) == 6
    outcomes = {(x["arm"], x["seed"]): x for x in lines(folder / "outcomes.jsonl")}
    for card, note in zip(cards, notes, strict=True):
        outcome = outcomes[note["arm"], note["seed"]]
        assert card["end_to_end"]["resolved"] == outcome["score"]["resolved"]
        assert card["component_metrics"]["localization"]["file_recall"] == 1.0
        assert note["files"]["source"] == "trace"
        assert card["economics"]["tokens"] > 0
        assert card["economics"]["dollars"] > 0
        assert card["economics"]["cpu"] > outcome["cpu_seconds"]
    gold = [card for card in cards if card["end_to_end"]["resolved"] == "resolved"]
    assert gold
    for card in gold:
        assert card["component_metrics"]["patching"] == {"apply": True, "parse": True, "build": True}
        assert card["component_metrics"]["testing"]["bug_tests_exercised"] is True


def test_computing_without_a_price_leaves_no_record_and_says_so(folder: Path, parsimony: Any) -> None:
    status, out, _ = parsimony("scorecard", folder, "--no-page", "--json")
    found = json.loads(out)
    assert status == cli.PARTIAL
    assert found["scorecards"] == 0
    assert any("--cpu-hour" in reason for reason in found["missing"])
    assert (folder / "scorecards.jsonl").read_text() == ""
    assert len(lines(folder / "scorecard-notes.jsonl")) == 6
    assert found["arms"]["baseline"]["means"]["file_recall"] == {"value": 1.0, "trials": 3}
    assert found["arms"]["candidate"]["funnel"]["placed"] == 3


def test_conditions_that_the_fix_stands_are_robustness(folder: Path, parsimony: Any) -> None:
    first = lines(folder / "outcomes.jsonl")[0]
    told = {"task_id": TASK, "arm": first["arm"], "seed": first["seed"], "execution_key": "k"}
    rows = [("hash-seed", "resolved", True), ("order", "not_resolved", True), ("locale", "not_resolved", False)]
    write_jsonl(folder / "variants.jsonl", [{**told, "variant": v, "outcome": o, "holds": h} for v, o, h in rows])
    parsimony("scorecard", folder, "--cpu-hour", "0", "--no-page")
    note = lines(folder / "scorecard-notes.jsonl")[0]
    assert note["robustness"] == {"rate": 0.5, "runs": 2, "source": "variants"}


def test_base_files_come_from_the_tree_or_from_what_gradings_kept(tmp_path: Path) -> None:
    stored = BaseFiles(tmp_path)
    kept = json.dumps(stored.keep({"pkg/core.py": b"x = 1\n", "pkg/new.py": None}))
    base = materials._Kept(stored, {"t-1": [{"base_files": None}, {"base_files": kept}]})
    task = Task("t-1", "r", None, ("f",), (), "pytest", image="i")
    assert base(task, ("pkg/core.py", "pkg/other.py")) == {"pkg/core.py": b"x = 1\n", "pkg/new.py": None}
    assert base(Task("t-2", "r", None, ("f",), (), "pytest", image="i"), ("pkg/core.py",)) == {}


@pytest.mark.parametrize("words", [(), ("--baseline", "baseline", "--candidate", "candidate")])
def test_a_diagnosis_of_two_arms(folder: Path, parsimony: Any, words: tuple[str, ...]) -> None:
    pytest.importorskip("jinja2")
    page = folder / "diagnosis.html"
    status, out, _ = parsimony("diagnose", folder, *words, "--out", page)
    assert status == cli.DONE
    assert "residual gap" in out
    assert all(len(line) <= 100 for line in out.replace(str(folder), "").splitlines())
    assert "residual gap" in page.read_text()
    assert page.read_text().count("<svg") == 3


def test_a_diagnosis_of_two_runs_for_machines(folder: Path, graded: Path, parsimony: Any) -> None:
    both = ("--baseline", "baseline", "--candidate", "candidate")
    status, out, _ = parsimony("diagnose", graded, folder, *both, "--json")
    found = json.loads(out)
    assert status == cli.DONE
    assert found["candidate"] == "run/candidate"
    assert {"stage", "measure", "delta", "interval", "p_value", "change"} <= set(found["stages"][0])
    assert found["funnels"]["baseline"]["steps"][0]["name"] == "localization"
    assert found["sentence"].endswith(("gates", "structure", "patching", "no residual gap"))


def test_the_page_of_a_run(folder: Path, parsimony: Any) -> None:
    pytest.importorskip("jinja2")
    parsimony("scorecard", folder, "--cpu-hour", "0.05")
    page = (folder / "scorecard.html").read_text()
    assert page.count("<svg") == 2
    assert "right entities touched" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("diagnose", "RUN", "--baseline", "nobody"), "has no arm 'nobody'; it has: baseline, candidate"),
        (("diagnose", "RUN", "--baseline", "baseline"), "has 2 arms; say which: --candidate"),
        (("diagnose", "RUN", "RUN"), "has 2 arms; say which: --baseline"),
        (("diagnose", "nowhere"), "is not the folder of a run"),
        (("scorecard", "nowhere"), "is not the folder of a run"),
        (("scorecard", "RUN", "--cpu-hour", "inf"), "--cpu-hour: is inf"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    graded: Path, parsimony: Any, words: tuple[str, ...], told: str
) -> None:
    status, _, err = parsimony(*(graded if word == "RUN" else word for word in words))
    assert status == cli.CANNOT
    assert told in err
    assert err.count("\n") == 1
