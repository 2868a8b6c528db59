"""The commands as a person types them: exit statuses, messages, and what they print, over a real small run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parsimony import cli

EXAMPLES = Path(__file__).parents[2] / "configs" / "examples"
TASK = "csvsniff-2"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def parsimony(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Run a command in this process; its exit status."""
    monkeypatch.setattr(sys, "argv", ["parsimony", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one task's candidates in the process sandbox."""
    out = tmp_path_factory.mktemp("cli") / "run"
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--sandbox", "process"]
    command += ["--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl")]
    done = subprocess.run([*command, "--task", TASK, "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "6 planned" in done.stderr
    assert "resolve rate by arm" in done.stdout
    return out


def test_status_shows_the_census(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And is done: exit status 0."""
    assert parsimony(monkeypatch, "status", folder) == cli.DONE
    shown = capsys.readouterr().out
    assert "6 planned = 6 with a verdict + 0 missing" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_status_for_machines(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON object on stdout and nothing else."""
    assert parsimony(monkeypatch, "status", folder, "--json") == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["ledger"]["recorded"] == found["summary"]["census"]["planned"] == 6


def test_show_tells_why(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict, gates, tests, log and patch of one candidate; the end of a task's name is enough."""
    assert parsimony(monkeypatch, "show", folder, "sniff-2", "--arm", "baseline", "--seed", 1) == cli.DONE
    shown = capsys.readouterr().out
    for part in ("not_resolved", "FAIL_TO_PASS", "test_single_quotes", "log", "patch as applied", "diff --git"):
        assert part in shown


def test_show_asks_which(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Several candidates fit: the message lists them as options to type."""
    assert parsimony(monkeypatch, "show", folder, TASK) == cli.CANNOT
    assert "--arm baseline --seed 1" in capsys.readouterr().err


def test_export_tables_and_harness_reports(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row per outcome; and for SWE-bench a report per arm and seed that adds up."""
    assert parsimony(monkeypatch, "export", folder, "--format", "csv", "--out", tmp_path) == cli.DONE
    assert len((tmp_path / "outcomes.csv").read_text().splitlines()) == 7
    assert parsimony(monkeypatch, "export", folder, "--format", "swebench", "--out", tmp_path) == cli.DONE
    report = json.loads((tmp_path / "baseline.seed-3.json").read_text())
    assert report["resolved_ids"] == [TASK]
    assert report["schema_version"] == 2
    assert report["total_instances"] == 1


def test_export_parquet(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readable by anything that reads Parquet."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    assert parsimony(monkeypatch, "export", folder, "--format", "parquet", "--out", tmp_path) == cli.DONE
    table = parquet.read_table(tmp_path / "outcomes.parquet")
    assert table.num_rows == 6
    assert {"task_id", "outcome", "fail_to_pass_passed"} <= set(table.column_names)


def test_regrade_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same executions give the same verdicts."""
    before = (folder / "outcomes.jsonl").read_bytes()
    assert parsimony(monkeypatch, "regrade", folder) == cli.DONE
    assert "0 of 6 outcomes changed" in capsys.readouterr().out
    assert (folder / "outcomes.jsonl").read_bytes() == before


def test_replay_gives_the_same_verdict_and_keeps_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that opens a shell where the tests would start."""
    assert parsimony(monkeypatch, "replay", folder, TASK, "--arm", "candidate", "--seed", 2) == cli.DONE
    assert "PARSIMONY_LOOK=1" in capsys.readouterr().out
    assert (folder / "replay" / f"{TASK}-candidate-2" / "in" / "run.sh").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "none.yaml", "--out", "x"], "none.yaml: cannot be read"),
        (["grade", "--tasks", "none.jsonl", "--predictions", "p", "--out", "x"], "none.jsonl"),
        (["status", "."], "is not the folder of a run"),
        (["show", "nowhere", "task"], "is not the folder of a run"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Says where, what and how to mend it; never a traceback."""
    monkeypatch.chdir(tmp_path)
    assert parsimony(monkeypatch, *words) == cli.CANNOT
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert "Traceback" not in told


GRADE: list[str | Path] = [
    "grade",
    "--tasks",
    EXAMPLES / "tasks.jsonl",
    "--predictions",
    EXAMPLES / "predictions.jsonl",
]


@pytest.mark.parametrize(
    "words",
    [
        [*GRADE, "--sandbox", "process", "--out", "file"],
        [*GRADE, "--sandbox", "process", "--out", "file/below"],
        ["run", EXAMPLES.parent / "demo.yaml", "--out", "file"],
        ["calibrate", "--tasks", EXAMPLES / "tasks.jsonl", "--sandbox", "process", "--out", "file/below"],
        ["export", "RUN", "--format", "csv", "--out", "file"],
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_a_place_that_cannot_be_written_is_one_line_and_exit_status_2(
    words: list[str | Path],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever is to be written there; nothing runs before that is known."""
    words = [request.getfixturevalue("folder") if word == "RUN" else word for word in words]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    capsys.readouterr()
    assert parsimony(monkeypatch, *words) == cli.CANNOT
    told = capsys.readouterr().err
    assert "file" in told
    assert told.count("\n") == 1
    assert "Traceback" not in told
    assert (tmp_path / "file").read_text() == "mine"


def test_without_docker_it_says_what_helps(tmp_path: Path) -> None:
    """The address that was tried, where to look further, and how to do without."""
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", *GRADE, "--out", tmp_path / "out"]
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == cli.CANNOT
    assert done.stderr.count("\n") == 1
    for part in ("nobody.sock", "parsimony doctor", "--sandbox process"):
        assert part in done.stderr


def test_a_candidate_that_is_not_there_is_answered_with_those_that_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parsimony(monkeypatch, "show", folder, TASK, "--arm", "nope") == cli.CANNOT
    told = capsys.readouterr().err
    assert "of that arm and seed" in told
    assert "--arm candidate" in told


def test_a_task_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an example of one that is."""
    words = ["grade", "--sandbox", "process", "--tasks", EXAMPLES / "tasks.jsonl", "--out", tmp_path / "out"]
    words += ["--predictions", EXAMPLES / "predictions.jsonl", "--task", "nope"]
    assert parsimony(monkeypatch, *words) == cli.CANNOT
    told = capsys.readouterr().err
    assert "there is no task 'nope'" in told
    assert "intervals-1" in told


def test_help_comes_without_heavy_imports() -> None:
    """`parsimony --help` is to take under 0.3 s: nothing that takes long is imported for it."""
    code = (
        "import sys; sys.argv = ['parsimony', '--help']\n"
        "from parsimony.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    for name in ("numpy", "scipy", "pyarrow", "ray", "docker", "pydantic", "matplotlib", "rich", "cluster"):
        assert f"'{name}'" not in loaded
    assert "calibrate" in done.stdout


def test_the_sweep_schema_is_valid_json_schema(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the demo's sweep file is an instance of it."""
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    yaml = pytest.importorskip("yaml", reason="needs pyyaml")
    assert parsimony(monkeypatch, "schema", "sweep") == cli.DONE
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    demo = yaml.safe_load((EXAMPLES.parent / "demo.yaml").read_text())
    jsonschema.validate(demo, schema)
    jsonschema.validate({**demo, "limits": {"memory": "3g"}, "predictions": "one.jsonl"}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**demo, "repeets": 2}, schema)


def test_doctor_names_each_thing_on_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever this machine lacks, it has Python and git."""
    assert parsimony(monkeypatch, "doctor", "--sandbox", "process", "--json") in {cli.DONE, cli.NO}
    found = {x["subject"]: x for x in json.loads(capsys.readouterr().out)}
    assert found["python"]["state"] == "ok"
    assert found["git"]["state"] == "ok"
    assert "docker" not in found
