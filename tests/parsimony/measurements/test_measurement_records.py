"""Records as they are read: typed, and never in contradiction with themselves."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.measurements import Base, Evaluation, Record, read_results, track_of

RAW: dict[str, Any] = {
    "schema_version": 2,
    "agent": "a",
    "task_id": "t",
    "resolved": True,
    "published_result_categories": ["resolved"],
    "analysis_status": "ok",
    "metrics": {
        "units_added": 5,
        "units_deleted": 2,
        "net_units": 3,
        "churn": 7,
        "structural_churn": 1,
        "ast_delta": -4,
        "mode": "full_file",
        "touched_files": ["a.py"],
        "excluded_files": [],
    },
    "analyzer_version": "9.9",
    "python_version": "3.12.1",
    "resolve_rate": 0.5,
    "provenance": {"repo": "o/r", "base_commit": "b", "patch_sha256": "1" * 64},
    "unknown_field": {"kept": "out"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    raw = copy.deepcopy(RAW)
    *way, last = path.split(".")
    inner = raw
    for step in way:
        inner = inner[step]
    inner[last] = value
    return raw


def test_a_record_is_typed() -> None:
    record = Record.from_json(RAW)
    assert (record.agent, record.task_id, record.resolved, record.categories) == ("a", "t", True, ("resolved",))
    assert (record.base, record.has_patch, record.has_analyzer_commit) == (Base("o/r", "b"), True, False)
    metrics = record.measured
    assert metrics is not None
    assert (metrics.net_units, metrics.churn, metrics.ast_delta, metrics.offset_hunks) == (3, 7, -4, 0)
    assert metrics.raw is RAW["metrics"]


WRONG: list[tuple[str, Any]] = [
    ("agent", None), ("agent", " "), ("agent", "a\nb"), ("agent", 3), ("task_id", None), ("resolved", 1),
    ("resolved", None), ("analysis_status", None), ("analyzer_version", None), ("python_version", 3.12),
    ("published_result_categories", [1]), ("published_result_categories", {}), ("metrics", []), ("metrics", "none"),
    ("metrics.units_added", -1), ("metrics.units_added", 5.0), ("metrics.units_added", True),
    ("metrics.units_added", "5"), ("metrics.units_added", 2**63), ("metrics.units_added", None),
    ("metrics.units_deleted", None), ("metrics.net_units", 4), ("metrics.net_units", 3.0), ("metrics.churn", 8),
    ("metrics.churn", -7), ("metrics.ast_delta", 0.5), ("metrics.mode", None), ("metrics.mode", "other"),
    ("metrics.touched_files", "a.py"), ("metrics.offset_hunks", -1), ("provenance", None), ("provenance", []),
    ("provenance.repo", 3), ("provenance.patch_sha256", 3), ("measurement_track", "go"), ("resolve_rate", 1.5),
    ("resolve_rate", "0.5"), ("schema_version", 3), ("analyzer_commit", 3),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), WRONG, ids=[f"{path}={value!r}" for path, value in WRONG])
def test_a_wrong_field_is_named(path: str, value: Any) -> None:
    with pytest.raises(InputError) as refused:
        Record.from_json(changed(path, value), file="r.jsonl", row=7)
    place = refused.value.place
    assert (place.file, place.row) == ("r.jsonl", 7)
    assert place.field is not None
    assert place.field.startswith(path)


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_what_is_no_object(value: object) -> None:
    with pytest.raises(InputError, match="is no object"):
        Record.from_json(value)


def test_units_may_be_unknown_and_are_then_not_measured() -> None:
    nothing = dict.fromkeys(("units_added", "units_deleted", "net_units", "churn", "structural_churn"))
    record = Record.from_json(changed("metrics", RAW["metrics"] | nothing))
    assert record.analyzed is not None
    assert record.measured is None
    for name in ("net_units", "churn"):
        assert Record.from_json(changed(f"metrics.{name}", None)).measured is None


def test_a_failed_analysis_has_no_measurement_whatever_it_carries() -> None:
    record = Record.from_json(changed("analysis_status", "error"))
    assert (record.analyzed, record.measured) == (None, None)


@pytest.mark.parametrize(
    ("touched", "excluded", "out"),
    [([], [], False), (["a"], [], False), (["a"], ["a"], True), (["a", "b"], ["a"], False), (["a"], ["a", "b"], True)],
)
def test_out_of_scope_is_everything_touched_and_nothing_counted(
    touched: list[str], excluded: list[str], out: bool
) -> None:
    raw = changed("metrics.touched_files", touched)
    raw["metrics"]["excluded_files"] = excluded
    metrics = Record.from_json(raw).metrics
    assert metrics is not None
    assert metrics.out_of_scope is out


@given(
    st.booleans(),
    st.lists(
        st.sampled_from(
            ["resolved", "no_generation", "no_submission", "no_logs", "unresolved", "failed", "not_resolved", "applied"]
        )
    ),
)
def test_evaluation_follows_explicit_words(resolved: bool, categories: list[str]) -> None:
    raw = changed("resolved", resolved) | {"published_result_categories": categories}
    found = Record.from_json(raw).evaluation
    words = set(categories)
    failed = words & {"unresolved", "failed", "not_resolved"}
    assert (found is Evaluation.RESOLVED) == resolved
    if not resolved:
        never = bool(words & {"no_generation", "no_submission"})
        assert (found is Evaluation.NO_ATTEMPT) == never
        assert (found is Evaluation.FAILED) == bool(not never and failed and "no_logs" not in words)


def test_a_file_is_read_with_the_digest_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\r\n" + json.dumps(RAW).encode() + b"\r\n\n")
    found = read_results(path)
    assert [(record.file, record.row) for record in found.records] == [(str(path), 2)]
    path.write_bytes(b"")
    assert (read_results(path).records, read_results(path).sha256[:8]) == ((), "e3b0c442")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not UTF-8"),
        (b'{"agent": "a", "agent": "b"}', "has the key 'agent' twice"),
        (b'{"resolve_rate": NaN}', "holds NaN"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"[]", "is no object"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(json.dumps(RAW).encode() + b"\n" + line + b"\n")
    with pytest.raises(InputError, match=problem) as refused:
        read_results(path)
    assert (refused.value.place.file, refused.value.place.row) == (str(path), 2)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InputError, match="cannot be read"):
            read_results(path)


def test_tracks_name_their_parsers() -> None:
    assert track_of("python") is None
    assert track_of("typescript") == {
        "language": "typescript",
        "unit_version": "typescript-compiler-units-v1",
        "versions": {"typescript": "5.9.3"},
    }
    with pytest.raises(InputError, match="is 'fortran'"):
        track_of("fortran")
