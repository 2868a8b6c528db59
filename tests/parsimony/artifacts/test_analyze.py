"""Records of whole runs, against a real server."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parsimony.artifacts import FetchFailed
from parsimony.errors import InputError
from parsimony.footprint import ANALYZER_VERSION
from parsimony.measurements import Evaluation, read_results

COMMIT = "c" * 40
ROOM = "/files/SWE-bench/experiments/main/evaluation/verified/20250101_agent"


def statuses(records: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {task: record["analysis_status"] for task, record in records.items()}


def test_a_solved_attempt_has_every_field_of_a_record(world: Any) -> None:
    world.legacy({"no_generation": ["t3"], "no_logs": ["t4"], "resolved": ["t1"]})
    record = world.analyze()["t1"]
    model = world.site.files["/bucket/verified/20250101_agent/all_preds.jsonl"]
    patch = json.loads(model.splitlines()[0])["model_patch"].encode()
    assert record["metrics"]["churn"] == record["metrics"]["units_added"] + record["metrics"]["units_deleted"]
    assert record["metrics"]["touched_files"] == ["pkg/core.py"]
    assert record["human_metrics"]["churn"] > 0
    assert record["model_human_ratio"] == record["metrics"]["churn"] / record["human_metrics"]["churn"]
    assert {
        key: record[key] for key in record.keys() - {"metrics", "human_metrics", "model_human_ratio", "provenance"}
    } == {
        "agent": "20250101_agent",
        "analysis_status": "ok",
        "analyzer_commit": record["analyzer_commit"],
        "analyzer_source_sha256": record["analyzer_source_sha256"],
        "analyzer_version": ANALYZER_VERSION,
        "benchmark_tasks": 4,
        "evaluation_result": "resolved",
        "published_resolved_count": 1,
        "published_result_categories": ["resolved"],
        "python_version": platform.python_version(),
        "resolve_rate": 0.25,
        "resolved": True,
        "schema_version": 2,
        "task_id": "t1",
    }
    url = world.site.url
    results = world.site.files[
        "/files/SWE-bench/experiments/main/evaluation/verified/20250101_agent/results/results.json"
    ]
    assert record["provenance"] == {
        "base_commit": COMMIT,
        "instance_id": "t1",
        "layout": "legacy",
        "patch_final_newline_restored": False,
        "patch_location": f"{url}/bucket/verified/20250101_agent/all_preds.jsonl#instance_id=t1",
        "patch_sha256": hashlib.sha256(patch).hexdigest(),
        "prediction_url": f"{url}/bucket/verified/20250101_agent/all_preds.jsonl",
        "predictions_sha256": hashlib.sha256(model).hexdigest(),
        "ref": "main",
        "reference_patch_sha256": record["provenance"]["reference_patch_sha256"],
        "repo": "o/r",
        "reported_model": "m",
        "results_sha256": hashlib.sha256(results).hexdigest(),
        "results_url": f"{url}{ROOM}/results/results.json",
        "submission_url": "https://github.com/SWE-bench/experiments/tree/main/evaluation/verified/20250101_agent",
    }


def test_our_own_reader_takes_what_is_written(world: Any) -> None:
    world.legacy({"no_generation": ["t3"], "unresolved": ["t2"], "resolved": ["t1"]}, {"t1": "--- a\n"})
    world.analyze(include_failed=True)
    found = {record.task_id: record for record in read_results(world.output).records}
    assert [found[task].evaluation for task in sorted(found)] == [
        Evaluation.RESOLVED,
        Evaluation.FAILED,
        Evaluation.NO_ATTEMPT,
        Evaluation.UNKNOWN,
    ]


def test_lines_are_sorted_and_every_task_has_one(world: Any) -> None:
    world.legacy({"resolved": ["t4", "t1"]})
    assert list(world.analyze()) == ["t1", "t2", "t3", "t4"]
    for line in world.output.read_text().splitlines():
        assert line == json.dumps(json.loads(line), sort_keys=True)


def test_the_order_of_tests(world: Any) -> None:
    """Eligible, selected, within the limit, then patch, then base; the limit counts those without a patch."""
    world.tasks = ["t1", "t2", "t3", "t4", "t5", "t6"]
    world.write_dataset(t3={"repo": None}, t6={"base_commit": " "})
    world.legacy({"resolved": ["t2", "t3", "t4", "t5", "t6"]}, {"t3": "x", "t5": "x"})
    records = world.analyze(tasks=["t1", "t2", "t3", "t5"], limit=2)
    assert statuses(records) == {
        "t1": "not_resolved",
        "t2": "missing_patch",
        "t3": "missing_base_metadata",
        "t4": "not_selected",
        "t5": "limit",
        "t6": "not_selected",
    }
    assert records["t2"]["provenance"]["patch_sha256"] is None
    assert records["t5"]["provenance"]["patch_sha256"] == hashlib.sha256(b"x").hexdigest()
    assert {record["resolve_rate"] for record in records.values()} == {5 / 6}


def test_a_blank_patch_is_all_zeros_and_null_is_none(world: Any) -> None:
    world.legacy({"resolved": ["t1", "t2", "t3"]}, {"t1": "", "t2": " \n", "t3": None})
    records = world.analyze()
    assert statuses(records) == {"t1": "ok", "t2": "ok", "t3": "missing_patch", "t4": "not_resolved"}
    assert records["t1"]["metrics"]["churn"] == 0
    assert records["t1"]["metrics"]["touched_files"] == []
    assert records["t1"]["provenance"]["patch_final_newline_restored"] is False


def test_a_final_line_feed_is_restored_and_the_digest_is_of_what_is_stored(world: Any) -> None:
    model = json.loads(_model(world))["model_patch"]
    world.legacy({"resolved": ["t1", "t2"]}, {"t1": model, "t2": model[:-1]})
    records = world.analyze()
    assert records["t1"]["metrics"] == records["t2"]["metrics"]
    assert records["t2"]["provenance"]["patch_final_newline_restored"] is True
    assert records["t2"]["provenance"]["patch_sha256"] == hashlib.sha256(model[:-1].encode()).hexdigest()


def _model(world: Any) -> str:
    world.legacy({"resolved": []})
    return str(world.site.files["/bucket/verified/20250101_agent/all_preds.jsonl"].splitlines()[0].decode())


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        ("--- a/pkg/core.py\n+++ b/pkg/core.py\n@@ -1 +1 @@\n-no\n+yes\n", "InputError: "),
        ("--- a/pkg/gone.py\n+++ b/pkg/gone.py\n@@ -1 +1 @@\n-no\n+yes\n", "pkg/gone.py is not in the base"),
        ("no diff at all\n", "InputError: "),
        ("--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -1 +1 @@\n-no\n+yes\n", "leaves the tree"),
        ("\ud800", "InputError: "),
    ],
    ids=["context", "404", "no diff", "escape", "lone surrogate"],
)
def test_what_does_not_apply_is_an_error_and_no_zero(world: Any, patch: str, told: str) -> None:
    world.legacy({"resolved": ["t1", "t2"]}, {"t1": patch, "t2": json.loads(_model(world))["model_patch"]})
    records = world.analyze()
    assert statuses(records) == {"t1": "error", "t2": "ok", "t3": "not_resolved", "t4": "not_resolved"}
    assert told in records["t1"]["analysis_error"]
    assert (records["t1"]["metrics"], records["t1"]["human_metrics"]) == (None, None)


def test_a_human_patch_that_cannot_be_measured_is_told_beside_the_model(world: Any) -> None:
    world.write_dataset(t1={"patch": "nonsense"}, t2={"patch": None}, t3={"patch": ""})
    world.legacy({"resolved": ["t1", "t2", "t3"]})
    records = world.analyze()
    assert statuses(records) == {"t1": "ok", "t2": "ok", "t3": "ok", "t4": "not_resolved"}
    assert records["t1"]["human_error"].startswith("InputError: ")
    assert "human_error" not in records["t2"]
    assert records["t2"]["provenance"]["reference_patch_sha256"] is None
    assert records["t3"]["human_metrics"]["churn"] == 0
    assert records["t3"]["model_human_ratio"] is None


def test_why_files_do_not_count(world: Any, patches: Any) -> None:
    both = patches("tests/test_a.py", "a = 1\n", "a = 2\n") + json.loads(_model(world))["model_patch"]
    world.legacy({"resolved": ["t1"]}, {"t1": both})
    record = world.analyze()["t1"]
    assert record["metrics"]["excluded_files"] == ["tests/test_a.py"]
    assert record["exclusion_reasons"] == {"tests/test_a.py": "test_dir"}
    assert world.site.asked(f"/files/o/r/{COMMIT}/tests/test_a.py") == 0


def test_a_network_that_fails_is_a_fetch_error_and_resume_tries_it_again(world: Any, site: Any, fault: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    base = f"/files/o/r/{COMMIT}/pkg/core.py"
    site.faults[base] = [fault(503)] * 3
    assert statuses(world.analyze())["t1"] == "fetch_error"
    before = world.output.read_bytes().splitlines()
    records = world.analyze(resume=True)
    assert list(records) == ["t2", "t3", "t4", "t1"]
    assert statuses(records)["t1"] == "ok"
    assert world.output.read_bytes().splitlines()[:3] == before[1:]


def test_a_network_that_fails_for_the_human_patch_is_retried_too(
    world: Any, site: Any, fault: Any, patches: Any
) -> None:
    site.put(f"/files/o/r/{COMMIT}/pkg/other.py", "a = 1\n")
    site.faults[f"/files/o/r/{COMMIT}/pkg/other.py"] = [fault(500)] * 3
    world.write_dataset(t1={"patch": patches("pkg/other.py", "a = 1\n", "a = 2\n")})
    world.legacy({"resolved": ["t1"]})
    assert statuses(world.analyze())["t1"] == "fetch_error"
    assert world.analyze(resume=True)["t1"]["human_metrics"]["churn"] == 2


def test_patch_only_needs_neither_dataset_nor_base(world: Any, site: Any) -> None:
    world.legacy({"resolved": ["t1"], "no_generation": ["t9"]})
    records = world.analyze(patch_only=True, dataset=None)
    assert list(records) == ["t1", "t2", "t3", "t4", "t9"]
    assert records["t1"]["metrics"]["mode"] == "patch_only"
    assert records["t1"]["metrics"]["ast_delta"] is None
    assert (records["t1"]["benchmark_tasks"], records["t1"]["resolve_rate"]) == (500, 1 / 500)
    assert "repo" not in records["t1"]["provenance"]
    assert not [path for path, _ in site.requests if COMMIT in path]


def test_patch_only_beside_a_dataset_measures_the_human_patch_alike(world: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    record = world.analyze(patch_only=True)["t1"]
    assert record["human_metrics"]["mode"] == "patch_only"


def test_another_track_is_named_in_the_record(world: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    assert "measurement_track" not in world.analyze()["t1"]
    track = world.analyze(track="units-v2")["t1"]["measurement_track"]
    assert track == {
        "language": "python",
        "unit_version": "units-v2",
        "versions": {"python": platform.python_version()},
    }


def test_offline_once_cached(world: Any, site: Any) -> None:
    world.legacy({"resolved": ["t1", "t2"]})
    first = world.analyze(), world.output.read_bytes()
    asked = len(site.requests)
    world.fetcher.offline = True
    assert (world.analyze(), world.output.read_bytes()) == first
    assert len(site.requests) == asked


def test_offline_without_a_cache_says_what_is_missing(world: Any, site: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    with pytest.raises(FetchFailed, match=r"all_preds\.jsonl is not in the cache .*--offline"):
        world.analyze(fetcher=replace(world.fetcher, offline=True))
    assert site.requests == []
    assert not world.output.exists()


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_writes_the_same(world: Any, workers: int) -> None:
    world.tasks = [f"t{number:02}" for number in range(30)]
    world.write_dataset()
    model = json.loads(_model(world))["model_patch"]
    told = {task: model if number % 3 else "bad" for number, task in enumerate(world.tasks)}
    world.legacy({"resolved": world.tasks[5:]}, told)
    records = world.analyze(workers=workers)
    assert list(records) == world.tasks
    expected = ["not_resolved"] * 5 + ["ok" if number % 3 else "error" for number in range(5, 30)]
    assert list(statuses(records).values()) == expected


def refused(world: Any, **request: Any) -> InputError:
    before = world.output.read_bytes() if world.output.exists() else None
    with pytest.raises(InputError) as caught:
        world.analyze(**request)
    assert (world.output.read_bytes() if world.output.exists() else None) == before
    return caught.value


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"submissions": ()}, "no submission is named"),
        ({"dataset": None}, "--dataset: is needed"),
        ({"resume": True, "limit": 1}, "--resume: goes on with a full run only"),
        ({"resume": True, "tasks": ["t1"]}, "--resume: goes on with a full run only"),
        ({"resume": True, "submissions": ("a", "b")}, "one submission only"),
        ({"resume": True, "dataset": None, "patch_only": True}, "one submission only"),
        ({"tasks": ["t9"]}, "--task: t9 is not in the dataset"),
        ({"submissions": ("20250101_agent", "20250101_agent")}, "is there 2 times"),
        ({"submissions": ("../../x",)}, "it must be the name of a folder"),
        ({"submissions": ("unknown",)}, "submission unknown has no such file"),
        ({"dataset": Path("/nowhere/x.jsonl")}, "cannot be read"),
        ({"output": Path("/nowhere/x.jsonl")}, "cannot be written"),
        ({"track": "units-v9"}, "has no track"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_requests_that_cannot_be(world: Any, request_: dict[str, Any], told: str) -> None:
    world.legacy({"resolved": ["t1"]})
    assert told in str(refused(world, **request_))


def test_a_dataset_of_fewer_tasks_than_were_solved_is_refused(world: Any) -> None:
    world.legacy({"resolved": ["a", "b", "c", "d", "e"]})
    assert "has 4 tasks, of which 20250101_agent solved 5" in str(refused(world))


def test_solved_tasks_outside_the_dataset_are_told(world: Any, notes: Any) -> None:
    world.legacy({"resolved": ["t1", "x9"]})
    records = world.analyze()
    assert list(records) == ["t1", "t2", "t3", "t4"]
    assert records["t1"]["published_resolved_count"] == 2
    assert "solved 1 tasks that are not in the dataset (x9)" in notes.warnings[0]


def test_tasks_of_another_language_are_measured_by_its_track(world: Any, patches: Any) -> None:
    """And their records say so: they are never pooled with Python's."""
    pytest.importorskip("tree_sitter_go", reason="the parser of Go is not installed")
    before = "package core\n\nfunc f() int {\n\treturn 1\n}\n"
    change = patches("pkg/core.go", before, before.replace("return 1", "x := 1\n\treturn x"))
    world.site.put(f"/files/o/r/{COMMIT}/pkg/core.go", before)
    world.tasks = ["t1"]
    world.write_dataset(t1={"language": "go", "patch": change})
    world.legacy({"resolved": ["t1"]}, {"t1": change})
    record = world.analyze()["t1"]
    assert record["analysis_status"] == "ok", record
    assert record["measurement_track"]["language"] == "go"
    assert record["metrics"]["net_units"] > 0
    assert record["model_human_ratio"] == 1.0
