"""Populations that are frozen beforehand, and what an audit counts and refuses."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from parsimony import release
from parsimony.errors import InputError
from parsimony.measurements import Population, Record

MakeRecord = Callable[..., dict[str, Any]]
Typed = Callable[..., tuple[Record, ...]]

COMMIT = "c" * 40


def dataset(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def row(task: str, **changes: Any) -> dict[str, Any]:
    return {"instance_id": task, "repo": "o/r", "base_commit": f"{task:0<8}", "patch": "x"} | changes


DATASET = dataset(row("t2"), row("t1"))


@pytest.fixture
def population() -> Population:
    return release.freeze(DATASET, "pop", COMMIT, python_version="3.12.1")


def test_a_population_pins_bytes_tasks_and_analyzer(population: Population) -> None:
    assert population.to_json() == {
        "analyzer_commit": COMMIT,
        "dataset_sha256": hashlib.sha256(DATASET).hexdigest(),
        "format": "parsimony-beta-population-v1",
        "name": "pop",
        "python_version": "3.12.1",
        "task_count": 2,
        "tasks": {
            "t1": {"repo": "o/r", "base_commit": "t1000000"},
            "t2": {"repo": "o/r", "base_commit": "t2000000"},
        },
    }
    assert release.freeze(DATASET, "pop", COMMIT).python_version == platform.python_version()


def test_other_languages_pin_their_parsers() -> None:
    found = release.freeze(dataset(row("t", language="go")), "pop", COMMIT)
    assert found.track == {
        "language": "go",
        "unit_version": "tree-sitter-units-v1",
        "versions": {"tree-sitter": "0.26.0", "tree-sitter-go": "0.25.0"},
    }
    assert Population.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert release.freeze(dataset(row("t", language="python")), "pop", COMMIT).track is None


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "has no task"),
        (b"\n \n", "has no task"),
        (dataset(row("t"), row("t")), "row 2: instance_id: t is there twice"),
        (dataset(row("t", repo=None)), "row 1: repo"),
        (dataset(row("t", base_commit=" ")), "row 1: base_commit"),
        (dataset(row("t"), {"repo": "o/r", "base_commit": "x"}), "row 2: instance_id"),
        (dataset(row("t"), row("u", language="go")), r"language: mixes python \(row 1\) and go \(row 2\)"),
        (dataset(row("t", language="cobol")), "language: is 'cobol'"),
        (b"[1]\n", "row 1: is no object"),
        (b"{\n", "row 1: is not JSON"),
        (b'{"instance_id": "\xff"}\n', "row 1: is not UTF-8"),
    ],
)
def test_what_is_no_dataset(data: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        release.freeze(data, "pop", COMMIT)


@pytest.mark.parametrize("commit", ["", "c" * 39, "c" * 41, "g" * 40, "HEAD"])
def test_what_is_no_commit(commit: str) -> None:
    with pytest.raises(InputError, match="40 hex digits"):
        release.freeze(DATASET, "pop", commit)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "v0"},
        {"task_count": 3},
        {"tasks": {}},
        {"tasks": {"t1": {"repo": "o/r"}}},
        {"name": None},
        {"python_version": 3},
        {"analyzer_commit": "x"},
        {"measurement_track": []},
    ],
)
def test_a_manifest_that_was_tampered_with(population: Population, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Population.from_json(population.to_json() | changes)


def test_an_audit_counts_what_there_is(population: Population, record: MakeRecord, typed: Typed) -> None:
    odd = {
        "lexical_files": ["a.py"],
        "approximate_files": ["a.py"],
        "offset_hunks": 2,
        "structural_churn": 0,
        "touched_files": ["a.py", "tests/t.py"],
        "excluded_files": ["tests/t.py"],
    }
    old = record("b", "t1", 0, 4, metrics=odd)
    del old["analyzer_commit"]
    report: Any = release.audit(
        population,
        typed(
            record("a", "t1", 1, 1),
            record("a", "t2", 1, 1, resolved=False),
            old,
            record("c", "t1", metrics=None, analysis_status="fetch_error"),
            record("c", "t2", metrics={"excluded_files": ["pkg/core.py"]}, resolved=False),
            record("d", "t1", None, None),
        ),
        dataset=DATASET,
    )
    agents = {one["agent"]: one for one in report["agents"]}
    nothing = {
        "approximate_alignment_records": 0, "excluded_files": [], "failed_analyses": 0, "lexical_fallback_records": 0,
        "missing_records": 0, "offset_hunk_records": 0, "out_of_scope_successes": 0, "resolved_missing_analysis": 0,
        "unmeasured_unit_records": 0, "unverified_analyzer_commit_records": 0, "value_only_edit_records": 0,
        "zero_normalized_edit_records": 0, "analyzer_version": "9.9", "published_resolve_rate": 0.5,
    }  # fmt: skip
    assert agents["a"] == nothing | {
        "agent": "a", "analysis_status_counts": {"ok": 2}, "failed_analyses": 1, "records": 2, "resolved_records": 1,
        "successful_analyses": 1,
    }  # fmt: skip
    assert agents["b"] == nothing | {
        "agent": "b", "analysis_status_counts": {"ok": 1}, "approximate_alignment_records": 1,
        "excluded_files": ["tests/t.py"], "lexical_fallback_records": 1, "missing_records": 1, "offset_hunk_records": 1,
        "records": 1, "resolved_records": 1, "successful_analyses": 1, "unverified_analyzer_commit_records": 1,
        "value_only_edit_records": 1,
    }  # fmt: skip
    assert agents["c"] == nothing | {
        "agent": "c", "analysis_status_counts": {"fetch_error": 1, "ok": 1}, "excluded_files": ["pkg/core.py"],
        "failed_analyses": 1, "records": 2, "resolved_missing_analysis": 1, "resolved_records": 1,
        "successful_analyses": 0, "zero_normalized_edit_records": 1,
    }  # fmt: skip
    assert agents["d"] == nothing | {
        "agent": "d", "analysis_status_counts": {"ok": 1}, "missing_records": 1, "records": 1, "resolved_records": 1,
        "successful_analyses": 1, "unmeasured_unit_records": 1,
    }  # fmt: skip
    assert (report["population"], report["population_sha256"]) == ("pop", population.sha256)
    assert (report["status"], report["task_count"]) == ("beta-coverage-not-certification", 2)


def test_a_success_out_of_scope_is_counted(population: Population, record: MakeRecord, typed: Typed) -> None:
    report: Any = release.audit(population, typed(record("a", "t1", metrics={"excluded_files": ["pkg/core.py"]})))
    assert report["agents"][0]["out_of_scope_successes"] == 1


def test_an_audit_of_nothing_covers_nothing(population: Population) -> None:
    assert release.audit(population, ())["agents"] == []


def both(record: MakeRecord, **changes: Any) -> Iterable[dict[str, Any]]:
    return record("a", "t1", **changes), record("a", "t2", **({"resolved": False} | changes))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"task_id": "t9"}, "outside the population"),
        ({"provenance": {"repo": "o/r", "base_commit": "other"}}, "another base"),
        ({"python_version": "3.11.0"}, "by Python 3.11.0, not 3.12.1"),
        ({"measurement_track": {"language": "go"}}, "another track"),
        ({"analyzer_commit": "d" * 40}, "was measured by ddd"),
        ({"analyzer_commit": None}, "an analyzer without a commit"),
        ({"benchmark_tasks": 3, "resolve_rate": 1 / 3}, "states 3 tasks in all, the population has 2"),
        ({"resolve_rate": 0.6}, "states 1 of 2 as a rate of 0.6"),
        ({"resolve_rate": None}, "as a rate of None"),
        ({"published_resolved_count": 3}, "states 3 of 2"),
        ({"published_resolved_count": 2, "resolve_rate": 1.0}, "states 2 resolved, and 1 of the records are"),
    ],
)
def test_records_that_an_audit_refuses(
    population: Population, record: MakeRecord, typed: Typed, changes: dict[str, Any], problem: str
) -> None:
    rows = both(record, **changes)
    if "task_id" in changes:
        rows = [record("a", "t1"), record("a", "t9")]
    with pytest.raises(InputError, match=problem):
        release.audit(population, typed(*rows))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"analyzer_version": "0.1"}, "has 0.1, the agent's other records 9.9"),
        ({"published_resolved_count": 2}, "states other totals"),
        ({"resolve_rate": 0.6}, "states the rate 0.6, before it was 0.5"),
        ({"task_id": "t1", "provenance": {"repo": "o/r", "base_commit": "t1000000"}}, "is there twice"),
    ],
)
def test_records_that_disagree(
    population: Population, record: MakeRecord, typed: Typed, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        release.audit(population, typed(record("a", "t1"), record("a", "t2", resolved=False) | changes))


def test_another_dataset_is_refused(population: Population) -> None:
    with pytest.raises(InputError, match="not the dataset of the population"):
        release.audit(population, (), dataset=DATASET + b"\n")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_that_of_a_clean_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        named = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        done = subprocess.run(["git", "-C", str(tmp_path), *named, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    module = tmp_path / "release.py"
    module.write_text("")
    monkeypatch.setattr(release, "__file__", str(module))
    with pytest.raises(InputError, match="in no checkout"):
        release.head_of_clean_checkout()
    git("init", "--quiet")
    with pytest.raises(InputError, match="in no checkout"):
        release.head_of_clean_checkout()
    git("add", "release.py")
    git("commit", "--quiet", "--message", "x")
    assert release.head_of_clean_checkout() == git("rev-parse", "HEAD")
    module.write_text("changed")
    with pytest.raises(InputError, match="has changes"):
        release.head_of_clean_checkout()
