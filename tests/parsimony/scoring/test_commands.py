"""The commands as a person types them: files, exit statuses, and messages of one line."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from parsimony import modulecommand, release, sensitivity
from parsimony.errors import InputError
from parsimony.scoring import commands as scoring

MakeRecord = Callable[..., dict[str, Any]]
Write = Callable[[str, Iterable[dict[str, Any]]], str]

COMMANDS = {"scoring": scoring.main, "sensitivity": sensitivity.main, "release": release.main}


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as its name is typed."""
    command = [sys.executable, "-m", f"parsimony.{name}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def call(monkeypatch: pytest.MonkeyPatch, name: str, *words: str) -> int:
    """The command in this process; its exit status."""
    monkeypatch.setattr(sys, "argv", [name, *words])
    with pytest.raises(SystemExit) as ended:
        modulecommand.run(COMMANDS[name])
    return int(ended.value.code or 0)


@pytest.fixture
def results(record: MakeRecord, write: Write) -> str:
    rows = [record(agent, f"t{task}", at, 4 + at) for at, agent in enumerate("ab") for task in range(3)]
    return write("results.jsonl", rows)


@pytest.fixture
def panel(results: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = str(tmp_path / "panel.json")
    assert call(monkeypatch, "scoring", "freeze", results, "--name", "p", "--output", path) == 0
    return path


def sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_by_name_from_freeze_to_score(results: str, tmp_path: Path) -> None:
    panel, scores = str(tmp_path / "p.json"), str(tmp_path / "s.json")
    frozen = run("scoring", "freeze", results, "--name", "p", "--output", panel)
    assert (frozen.returncode, frozen.stdout, frozen.stderr) == (0, "", "")
    assert json.loads(Path(panel).read_text())["source_sha256"] == {results: sha256(results)}
    scored = run("scoring", "score", panel, results, "--output", scores)
    assert (scored.returncode, scored.stdout, scored.stderr) == (0, "", "")
    told = json.loads(Path(scores).read_text())
    assert told["panel_sha256"] == sha256(panel)
    assert {row["agent"]: row["score"] for row in told["leaderboard"]} == pytest.approx({"a": 75.25, "b": 25.75})
    assert (told["score_version"], told["scope"]) == ("parsimony-80-20-v0.5", "fixed-cohort-sample")


def test_a_panel_is_never_overwritten(panel: str, results: str) -> None:
    before = Path(panel).read_bytes()
    again = run("scoring", "freeze", results, "--name", "other", "--output", panel)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (
        f"error: {panel}: is there already; what is frozen stays; write to another path under a new name\n"
    )
    assert Path(panel).read_bytes() == before
    assert {path.name for path in Path(panel).parent.iterdir()} == {"panel.json", "results.jsonl"}


def test_scores_go_to_stdout_or_replace_a_file(
    panel: str, results: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "scoring", "score", panel, results) == 0
    shown = capsys.readouterr().out
    path = tmp_path / "scores.json"
    path.write_text("old")
    assert call(monkeypatch, "scoring", "score", panel, results, "--output", str(path)) == 0
    assert path.read_text() == shown


def test_ranks(panel: str, results: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "scoring", "ranks", panel, results, "--draws", "50", "--seed", "1") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(row["agent"], row["rank_interval_95"]) for row in told["ranking"]] == [("a", [1, 1]), ("b", [2, 2])]
    assert (told["draws"], told["seed"], told["task_count"]) == (50, 1, 3)


def test_sensitivity(
    panel: str, results: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "sensitivity", panel, results, "--draws", "20") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["draws"], told["seed"], told["panel_sha256"]) == (20, 42, sha256(panel))
    assert told["bootstrap"]["a"]["score_ci_95"] == pytest.approx([75.25, 75.25])


def test_a_population_from_freeze_to_panel(
    record: MakeRecord, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"instance_id": f"t{at}", "repo": "o/r", "base_commit": f"t{at}000000"} for at in range(2)]
    dataset = write("dataset.jsonl", rows)
    manifest, panel, coverage = (str(tmp_path / name) for name in ("pop.json", "panel.json", "coverage.json"))
    words = ["freeze", dataset, "--name", "pop", "--analyzer-commit", "c" * 40, "--output", manifest]
    assert call(monkeypatch, "release", *words) == 0
    assert call(monkeypatch, "release", *words) == 2
    version = json.loads(Path(manifest).read_text())["python_version"]
    results = write("results.jsonl", [record("a", "t0", 1, 1, python_version=version)])
    words = ["freeze", results, "--name", "p", "--population", manifest, "--output", panel]
    assert call(monkeypatch, "scoring", *words) == 0
    assert json.loads(Path(panel).read_text())["tasks"]["t1"] == []
    words = ["audit", manifest, results, "--dataset", dataset, "--output", coverage]
    assert call(monkeypatch, "release", *words) == 0
    told = json.loads(Path(coverage).read_text())
    assert (told["manifest_sha256"], told["records_sha256"]) == (sha256(manifest), {results: sha256(results)})
    assert told["agents"][0]["missing_records"] == 1


def test_a_file_without_records_is_covered_by_an_audit(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = write("d.jsonl", [{"instance_id": "t", "repo": "o/r", "base_commit": "b"}])
    manifest = str(tmp_path / "pop.json")
    call(monkeypatch, "release", "freeze", dataset, "--name", "p", "--analyzer-commit", "c" * 40, "--output", manifest)
    assert call(monkeypatch, "release", "audit", manifest, write("empty.jsonl", [])) == 0
    assert json.loads(capsys.readouterr().out)["agents"] == []


def test_a_bad_line_is_named(
    panel: str, results: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path(results).open("a") as file:
        file.write('\n{"agent": "a", "resolved": 1}\n')
    assert call(monkeypatch, "scoring", "score", panel, results) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"error: {results}:8: resolved: is 1; it must be true or false\n")


@pytest.mark.parametrize("name", ["panel.json", "nowhere.json"])
def test_a_file_that_is_no_panel(
    results: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / name
    if name == "panel.json":
        path.write_text('{"score_version": "v0"}')
    assert call(monkeypatch, "scoring", "score", str(path), results) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {path}: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("depth", [300, 3_000, 100_000])
def test_deep_objects_are_taken_or_refused(
    record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], depth: int
) -> None:
    """What one interpreter can still read, another cannot write again: neither is a traceback."""
    line = json.dumps(record("a", "t", 1, 1)).replace('"o/r"', '"o/r", "deep": ' + "[" * depth + "]" * depth)
    results = tmp_path / "deep.jsonl"
    results.write_text(line + "\n")
    words = ["freeze", str(results), "--name", "p", "--output", str(tmp_path / "p.json")]
    status = call(monkeypatch, "scoring", *words)
    assert (status, "too deeply" in capsys.readouterr().err) in {(0, False), (2, True)}
    assert status == 0 or depth > 300


def test_a_file_that_cannot_be_written(
    panel: str, results: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "no folder" / "scores.json"
    assert call(monkeypatch, "scoring", "score", panel, results, "--output", str(path)) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}: cannot be written: No such file")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        modulecommand.write_json({}, str(path))
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("out.json", "old")]


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("scoring", (), ("freeze", "score", "ranks", "examples:", "exit status")),
        ("scoring", ("freeze",), ("--name", "--output", "--population", "must not be there yet")),
        ("scoring", ("score",), ("PANEL", "RECORDS", "stdout")),
        ("sensitivity", (), ("--draws", "--seed", "examples:")),
        ("release", (), ("freeze", "audit", "examples:")),
        ("release", ("freeze",), ("--analyzer-commit", "--name")),
        ("release", ("audit",), ("--dataset",)),
    ],
)
def test_help(name: str, words: tuple[str, ...], told: tuple[str, ...]) -> None:
    shown = run(name, *words, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    for part in told:
        assert part in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 122


@pytest.mark.parametrize(
    "words", [(), ("freeze",), ("score", "p", "r", "--draws", "3"), ("ranks", "p", "r", "--draws", "0")]
)
def test_words_that_make_no_command(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "scoring", *words) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(panel: str, results: str) -> None:
    command = f"{sys.executable} -m parsimony.scoring score {panel} {results} | head -c 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{", "")
