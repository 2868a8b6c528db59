"""Both layouts, manifests, and what counts as evidence of a failure; and files that are not what they should be."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.artifacts import Fetcher, FetchFailed
from parsimony.artifacts import submission as readers
from parsimony.artifacts.manifest import import_manifest
from parsimony.artifacts.metadata import scalars
from parsimony.errors import InputError

COMMIT = "c" * 40
LOGS = "/bucket/bash-only/20250101_agent/logs"
LISTING = "/bucket/?list-type=2&max-keys=1&prefix={}"
KEYS = b"<ListBucketResult><Contents><Key>x</Key></Contents></ListBucketResult>"
METADATA = "assets:\n  logs: s3://swe-bench-submissions/bash-only/20250101_agent/logs\nname: Agent One\n"
DETAILS = {
    "t1": {"resolved": True, "cost": 1.0},
    "t2": {"resolved": False},
    "t3": {"resolved": False, "category": "no_generation"},
    "t4": {"resolved": False, "status": "no_logs"},
}


@pytest.fixture
def model(world: Any) -> str:
    world.legacy({"resolved": []})
    data = world.site.files.pop("/bucket/verified/20250101_agent/all_preds.jsonl")
    return str(json.loads(data.splitlines()[0])["model_patch"])


def outcome(record: dict[str, Any]) -> tuple[str, str, list[str]]:
    return record["analysis_status"], record["evaluation_result"], record["published_result_categories"]


def test_the_current_layout(world: Any, model: str) -> None:
    world.current(DETAILS, METADATA, {"t1": model, "t2": model[:-1]}, LOGS)
    records = world.analyze(include_failed=True)
    assert {task: outcome(record) for task, record in records.items()} == {
        "t1": ("ok", "resolved", ["resolved"]),
        "t2": ("ok", "failed", ["unresolved"]),
        "t3": ("not_resolved", "no_generation", ["no_generation"]),
        "t4": ("not_resolved", "no_logs", ["no_logs"]),
    }
    told = records["t2"]["provenance"]
    assert told["patch_location"] == f"{world.site.url}{LOGS}/t2/patch.diff"
    assert told["patch_final_newline_restored"] is True
    assert (told["layout"], told["reported_model"]) == ("mini-swe-agent", "Agent One")
    assert records["t3"]["provenance"]["patch_sha256"] is None
    assert world.site.asked(f"{LOGS}/t3/patch.diff") == 0


def test_predictions_without_results_are_of_the_current_layout(world: Any, model: str) -> None:
    world.current(DETAILS, METADATA, {"t1": model}, LOGS)
    world.site.put("/bucket/verified/20250101_agent/all_preds.jsonl", "")
    world.site.files.pop("/files/SWE-bench/experiments/main/evaluation/verified/20250101_agent/results/results.json")
    assert world.analyze()["t1"]["provenance"]["layout"] == "mini-swe-agent"


def test_without_failures_only_the_solved_are_measured(world: Any, model: str) -> None:
    world.current(DETAILS, METADATA, {"t1": model, "t2": model}, LOGS)
    assert [record["analysis_status"] for record in world.analyze().values()] == ["ok", *["not_resolved"] * 3]


def test_a_patch_that_is_not_there_and_one_that_cannot_be_had(world: Any, model: str, fault: Any) -> None:
    details = {task: {"resolved": True} for task in world.tasks[:3]}
    world.current(details, METADATA, {"t1": model, "t3": model}, LOGS)
    world.site.faults[f"{LOGS}/t3/patch.diff"] = [fault(500)] * 3
    records = world.analyze()
    assert [record["analysis_status"] for record in records.values()] == [
        "ok",
        "missing_patch",
        "fetch_error",
        "not_resolved",
    ]
    assert world.analyze(resume=True)["t3"]["analysis_status"] == "ok"


@pytest.mark.parametrize(
    ("metadata", "folder"),
    [
        ("assets:\n  trajs: s3://swe-bench-submissions/elsewhere/trajs/\n", "/bucket/elsewhere/logs"),
        ('assets: # of the run\n    logs: "s3://swe-bench-submissions/a b/logs/"\n', "/bucket/a b/logs"),
        (f"assets:\n  repo: https://github.com/me/runs.git\n  commit: {COMMIT}\n", f"/files/me/runs/{COMMIT}/logs"),
        ("assets:\n  repo: me/runs\n  ref: v1\n  logs: out/logs/\n", "/files/me/runs/v1/out/logs"),
        ("info:\n  commit: abc\nassets:\n  repo: me/runs\n", "/files/me/runs/abc/logs"),
    ],
    ids=["trajectories", "quoted", "repository", "folder of it", "commit of the run"],
)
def test_where_the_metadata_say_the_patches_are(world: Any, model: str, metadata: str, folder: str) -> None:
    world.current(DETAILS, metadata, {"t1": model}, folder)
    for place in ("elsewhere/logs/t1/", "a%20b/logs/t1/"):
        world.site.put(LISTING.format(place.replace("/", "%2F")), KEYS)
    assert world.analyze()["t1"]["analysis_status"] == "ok"


@pytest.mark.parametrize("moved", [True, False])
def test_metadata_that_point_to_an_empty_folder(world: Any, model: str, moved: bool) -> None:
    """The standard folder is taken if it has the task; if not, what is stated stands."""
    world.current(DETAILS, METADATA.replace("bash-only", "wrong"), {"t1": model}, LOGS)
    world.site.put(LISTING.format("wrong%2F20250101_agent%2Flogs%2Ft1%2F"), b"<ListBucketResult/>")
    if moved:
        world.site.put(LISTING.format("bash-only%2F20250101_agent%2Flogs%2Ft1%2F"), KEYS)
    record = world.analyze()["t1"]
    assert record["analysis_status"] == ("ok" if moved else "missing_patch")
    assert record["provenance"]["logs_source"] == ("standard" if moved else "metadata")


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("name: x\n", "names no folder of logs"),
        ("assets:\n  logs: s3://other-bucket/x/logs\n", "names no folder of logs"),
        ("assets:\n  logs: https://elsewhere/logs\n", "names no folder of logs"),
        ("assets:\n  repo: me/runs\n", "repository without a commit"),
        ("assets:\n  repo: https://elsewhere/me/runs\n  ref: x\n", "it must be a repository of GitHub"),
        ("assets:\n  repo: me/runs\n  ref: x\n  logs: ../../secret\n", "it must be a folder of the repository"),
        (b"assets:\n  logs: \xff\n", "is not UTF-8"),
    ],
)
def test_metadata_that_cannot_be_used(world: Any, model: str, metadata: Any, told: str) -> None:
    world.current(DETAILS, metadata, {"t1": model}, LOGS)
    with pytest.raises(InputError, match=told) as caught:
        world.analyze()
    assert str(caught.value.place.file).endswith("metadata.yaml")


def test_a_submission_by_its_address_and_another_ref(world: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    room = "/files/SWE-bench/experiments/main/evaluation/verified/20250101_agent/results/results.json"
    world.site.put(room.replace("/main/", "/v2/"), '{"resolved": []}')
    address = "https://github.com/SWE-bench/experiments/tree/main/evaluation/verified/20250101_agent/"
    assert world.analyze(submissions=(address,))["t1"]["resolved"] is True
    record = world.analyze(ref="v2")["t1"]
    assert (record["resolved"], record["provenance"]["ref"]) == (False, "v2")


def test_what_legacy_results_list_as_failed(world: Any) -> None:
    world.legacy({"resolved": ["t1"], "unresolved": ["t2", "t3"], "no_logs": ["t3"], "applied": ["t2", "t4"]})
    records = world.analyze(include_failed=True)
    assert {task: outcome(record) for task, record in records.items()} == {
        "t1": ("ok", "resolved", ["resolved"]),
        "t2": ("ok", "failed", ["unresolved", "applied"]),
        "t3": ("not_resolved", "no_logs", ["unresolved", "no_logs"]),
        "t4": ("not_resolved", "unknown", ["applied"]),
    }
    assert not [path for path, _ in world.site.requests if path.endswith("report.json")]


def test_legacy_results_without_a_list_of_failures_are_completed_by_reports(world: Any, notes: Any) -> None:
    world.tasks = ["t1", "t2", "t3", "t4", "t5", "t6"]
    world.write_dataset()
    world.legacy({"no_generation": ["t6"], "resolved": ["t1"]})
    world.report("t2")
    world.report("t3", patch_successfully_applied=False)
    world.report("t4", patch_exists=False)
    records = world.analyze(include_failed=True)
    assert {task: outcome(record) for task, record in records.items()} == {
        "t1": ("ok", "resolved", ["resolved"]),
        "t2": ("ok", "failed", ["unresolved"]),
        "t3": ("not_resolved", "unknown", ["unknown"]),
        "t4": ("not_resolved", "unknown", ["unknown"]),
        "t5": ("not_resolved", "unknown", ["no_report"]),
        "t6": ("not_resolved", "no_generation", ["no_generation"]),
    }
    assert notes.warnings == []


def test_a_report_that_contradicts_the_results(world: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    world.report("t2", resolved=True)
    with pytest.raises(InputError, match="says that the task was solved, and the results do not"):
        world.analyze(include_failed=True)


def test_a_report_that_cannot_be_had_is_evidence_for_another_time(world: Any, fault: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    world.report("t2")
    world.site.faults["/bucket/verified/20250101_agent/logs/t2/report.json"] = [fault(500)] * 3
    record = world.analyze(include_failed=True)["t2"]
    assert outcome(record) == ("fetch_error", "unknown", [])
    assert outcome(world.analyze(include_failed=True, resume=True)["t2"]) == ("ok", "failed", ["unresolved"])


def test_a_warning_where_no_failure_is_published(world: Any, notes: Any) -> None:
    world.legacy({"resolved": ["t1"]})
    assert [record["analysis_status"] for record in world.analyze(include_failed=True).values()] == [
        "ok",
        *["not_resolved"] * 3,
    ]
    assert len(notes.warnings) == 1
    assert "20250101_agent publishes no explicit failure" in notes.warnings[0]
    world.analyze()
    assert len(notes.warnings) == 1


@pytest.fixture
def manifest(tmp_path: Path, world: Any, model: str) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "preds.jsonl").write_text(json.dumps({"instance_id": "t1", "patch": model}) + "\n")
    (folder / "results.json").write_text('{"resolved": ["t1"], "failed": ["t2"]}')
    path = folder / "submission.json"
    path.write_text(json.dumps(described()))
    return path


def described(**changes: Any) -> dict[str, Any]:
    told = {"agent": "mine", "submission_url": "https://example.org/submission", "prediction_url": "preds.jsonl"}
    return told | {"results_url": "results.json"} | changes


def test_a_manifest_of_files_beside_it(world: Any, manifest: Path) -> None:
    record = world.analyze(submissions=(), manifests=(manifest,), include_failed=True)
    assert {task: outcome(told)[0] for task, told in record.items()} == {
        "t1": "ok",
        "t2": "missing_patch",
        "t3": "not_resolved",
        "t4": "not_resolved",
    }
    location = (manifest.parent / "preds.jsonl").resolve().as_uri() + "#instance_id=t1"
    assert record["t1"]["provenance"]["patch_location"] == location
    assert record["t1"]["provenance"]["submission_url"] == "https://example.org/submission"


def test_references_of_a_manifest_that_are_no_files_are_relative_to_the_submission(
    fetcher: Fetcher, site: Any, manifest: Path
) -> None:
    site.put("/mine/x/preds.jsonl", (manifest.parent / "preds.jsonl").read_bytes())
    site.put("/other.json", '{"resolved": []}')
    (manifest.parent / "preds.jsonl").unlink()
    told = described(submission_url=f"{site.url}/mine/x", results_url=f"{site.url}/other.json")
    manifest.write_text(json.dumps(told))
    found = import_manifest(manifest, fetcher)
    assert found.predictions_url == f"{site.url}/mine/x/preds.jsonl"
    assert found.resolved == frozenset()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("[]", "is no object"),
        ("{", "is not JSON"),
        (json.dumps(described(agent="")), "agent: is ''"),
        (json.dumps(described(agent=3)), "agent: is 3"),
        (json.dumps(described(extra=1)), "extra: is no field of a manifest"),
        (json.dumps(described(results_url="none.json", submission_url="file:///nowhere")), "results_url: .* not there"),
        (json.dumps(described(results_url="http://[x")), "is no URL|no address"),
        (json.dumps(described(results_url="ftp://x/y")), "is no URL"),
    ],
)
def test_manifests_that_cannot_be_used(fetcher: Fetcher, manifest: Path, data: str, told: str) -> None:
    manifest.write_text(data)
    with pytest.raises(InputError, match=told):
        import_manifest(manifest, fetcher)


def test_a_manifest_whose_server_fails(fetcher: Fetcher, manifest: Path) -> None:
    manifest.write_text(json.dumps(described(results_url="http://127.0.0.1:9/x")))
    with pytest.raises(FetchFailed):
        import_manifest(manifest, replace(fetcher, tries=1))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"instance_id": "a", "patch": "x"}\n{"instance_id": "a", "patch": "y"}', ":2: instance_id: a is there twice"),
        ('{"patch": "x"}', "instance_id: is missing"),
        ('{"instance_id": "a"}', "model_patch: has no patch"),
        ('{"instance_id": "a", "patch": 3}', "patch: is 3"),
        ("[]", "is no object"),
        ("{", ":1: is not JSON"),
    ],
)
def test_predictions_that_cannot_be_used(line: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        readers.read_predictions(line.encode(), "f")


def test_what_categories_mean() -> None:
    def result(*names: str) -> str:
        return readers.evaluation_result(names, resolved=False)

    assert readers.evaluation_result(("no_logs", "resolved"), resolved=True) == "resolved"
    assert result("failed", "no_logs", "no_submission", "no_generation") == "no_generation"
    assert result("failed", "no_logs", "no_submission") == "no_submission"
    assert result("failed", "no_logs") == "no_logs"
    assert [result(name) for name in ("unresolved", "failed", "not_resolved")] == ["failed"] * 3
    assert [result(), result("applied")] == ["unknown"] * 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["resolved", "failed", "t1", "instance_id", "patch", "model_patch", "category", "rows", "row"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60))
def test_odd_bytes_are_input_errors_or_submissions(data: bytes) -> None:
    """Whatever stands in a published file: an InputError, or ids and patches of the right types."""
    for read in (readers.read_results, readers.read_details):
        with suppress(InputError):
            categories, resolved = read(data, "f")
            assert resolved <= categories.keys()
            assert all(isinstance(task, str) and task.isprintable() for task in categories)
    with suppress(InputError):
        patches, _ = readers.read_predictions(data, "f")
        assert all(isinstance(patch, str) for patch in patches.values())
    with suppress(InputError):
        assert readers.read_report(data, "t1", "f") in {"unresolved", "unknown"}


@given(st.text(max_size=200))
def test_metadata_never_fail(text: str) -> None:
    found = scalars(text.encode("utf-8", "replace"))
    assert all(key and value.strip() for key, value in found.items())


def test_scalars_of_metadata() -> None:
    text = "a: x # told\nb:\n  c: 'q: # r'\n  d:\n    e: http://h/#f\n  f: [1, 2]\n  g: null\n"
    text += 'h: |\n  text\nb2: ""\n- i: 1\na: y\n'
    assert scalars(text.encode()) == {"a": "x", "b.c": "q: # r", "b.d.e": "http://h/#f"}
