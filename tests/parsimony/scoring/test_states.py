"""The table of states: what is known about an attempt decides how it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parsimony.errors import InputError
from parsimony.measurements import Record
from parsimony.scoring import Scale, State, task_score

SCALE = Scale.of([(5, 9), (10, 10), (10, 30)])
SOLVED, FAILED, UNKNOWN = (1, 100), (-25, 0), (-25, 100)
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

MakeRecord = Callable[..., dict[str, Any]]
Typed = Callable[..., tuple[Record, ...]]


def provenance(patch_sha256: str | None) -> dict[str, Any]:
    return {"repo": "o/r", "base_commit": "b", "patch_sha256": patch_sha256}


def one(typed: Typed, raw: dict[str, Any]) -> Record:
    (found,) = typed(raw)
    return found


def failure(**changes: Any) -> dict[str, Any]:
    return {"resolved": False, **changes}


def unmeasured(status: str, **changes: Any) -> dict[str, Any]:
    return {"analysis_status": status, "metrics": None, **changes}


OUT_OF_SCOPE = {"metrics": {"touched_files": ["tests/test_x.py"], "excluded_files": ["tests/test_x.py"]}}

POINTS: list[tuple[str, dict[str, Any], State, float]] = [
    ("published resolved, complete analysis", {"net": 5, "churn": 9}, State.RESOLVED, 83.5),
    ("explicit failure, complete analysis", failure(net=10, churn=10), State.FAILED, -12.5),
    ("said otherwise", failure(net=0, churn=20, published_result_categories=["failed"]), State.FAILED, -10 / 3),
    ("once more", failure(net=-10, churn=10, published_result_categories=["not_resolved"]), State.FAILED, -2.5),
    ("an empty failed patch, measured", failure(metrics={"touched_files": []}), State.FAILED, 0),
    ("an empty failed patch, not measured", failure(**unmeasured("empty_patch")), State.FAILED, 0),
    ("no generation", failure(**unmeasured("missing_patch"), published_result_categories=["no_generation"],
                              provenance=provenance(None)), State.NO_ATTEMPT, 0),
    ("no submission, and an empty file", failure(**unmeasured("missing_patch"), provenance=provenance(EMPTY),
                                                 published_result_categories=["no_submission"]), State.NO_ATTEMPT, 0),
    ("no generation, counted as unresolved", failure(
        **unmeasured("missing_patch"), provenance=provenance(None),
        published_result_categories=["no_generation", "unresolved"]), State.NO_ATTEMPT, 0),
    ("resolved, whatever the lists say", {"net": 5, "churn": 9, "published_result_categories": ["no_generation"]},
     State.RESOLVED, 83.5),
    ("nothing touched and solved", {"metrics": {"touched_files": []}}, State.RESOLVED, 100),
    ("one file out of scope, one in", {"net": 5, "churn": 9, "metrics": {
        "touched_files": ["tests/t.py", "a.py"], "excluded_files": ["tests/t.py"]}}, State.RESOLVED, 83.5),
]  # fmt: skip

BOUNDS: list[tuple[str, dict[str, Any], State, tuple[int, int]]] = [
    ("no logs", failure(published_result_categories=["no_logs"]), State.UNKNOWN, UNKNOWN),
    ("a failure without logs", failure(published_result_categories=["unresolved", "no_logs"]), State.UNKNOWN, UNKNOWN),
    ("absent from every list", failure(published_result_categories=[]), State.UNKNOWN, UNKNOWN),
    ("no lists at all", failure(published_result_categories=None), State.UNKNOWN, UNKNOWN),
    ("other lists only", failure(published_result_categories=["applied"]), State.UNKNOWN, UNKNOWN),
    ("solved, patch missing", unmeasured("missing_patch"), State.MISSING_METRICS, SOLVED),
    ("solved, not selected", unmeasured("not_selected"), State.MISSING_METRICS, SOLVED),
    ("solved, analysis failed", {"net": 5, "churn": 9, "analysis_status": "error"}, State.MISSING_METRICS, SOLVED),
    ("solved and said to be empty", unmeasured("empty_patch"), State.MISSING_METRICS, SOLVED),
    ("failed, fetch failed", failure(**unmeasured("fetch_error")), State.MISSING_METRICS, FAILED),
    ("failed, not measured", failure(**unmeasured("not_resolved")), State.MISSING_METRICS, FAILED),
    ("solved, a side does not parse", {"net": None, "churn": None}, State.MISSING_METRICS, SOLVED),
    ("failed, a side does not parse", failure(net=None, churn=None), State.MISSING_METRICS, FAILED),
    ("solved out of scope", OUT_OF_SCOPE, State.OUT_OF_SCOPE, SOLVED),
    ("failed out of scope", failure(**OUT_OF_SCOPE), State.OUT_OF_SCOPE, FAILED),
]


@pytest.mark.parametrize(("changes", "state", "value"), [p[1:] for p in POINTS], ids=[p[0] for p in POINTS])
def test_what_is_known_has_a_value(
    record: MakeRecord, typed: Typed, changes: dict[str, Any], state: State, value: float
) -> None:
    found = task_score(one(typed, record("a", "t", **changes)), SCALE)
    assert found.state is state
    assert found.score == pytest.approx(value, abs=1e-12)
    assert found.lower == found.upper == found.score


@pytest.mark.parametrize(("changes", "state", "bounds"), [b[1:] for b in BOUNDS], ids=[b[0] for b in BOUNDS])
def test_what_is_not_known_has_bounds(
    record: MakeRecord, typed: Typed, changes: dict[str, Any], state: State, bounds: tuple[int, int]
) -> None:
    found = task_score(one(typed, record("a", "t", **changes)), SCALE)
    assert (found.state, found.score, (found.lower, found.upper)) == (state, None, bounds)


def test_a_missing_record_is_unknown() -> None:
    found = task_score(None, SCALE)
    assert (found.state, found.score, (found.lower, found.upper)) == (State.UNKNOWN, None, UNKNOWN)


@pytest.mark.parametrize(
    ("changes", "state", "bounds"),
    [
        ({"net": 5, "churn": 9}, State.UNCALIBRATED, SOLVED),
        (failure(net=5, churn=9), State.UNCALIBRATED, FAILED),
        (OUT_OF_SCOPE, State.OUT_OF_SCOPE, SOLVED),
        (unmeasured("error"), State.MISSING_METRICS, SOLVED),
        (failure(published_result_categories=[]), State.UNKNOWN, UNKNOWN),
    ],
)
def test_without_references_a_known_footprint_has_bounds(
    record: MakeRecord, typed: Typed, changes: dict[str, Any], state: State, bounds: tuple[int, int]
) -> None:
    found = task_score(one(typed, record("a", "t", **changes)), None)
    assert (found.state, found.score, (found.lower, found.upper)) == (state, None, bounds)


def test_an_attempt_that_was_never_made_has_nothing(record: MakeRecord, typed: Typed) -> None:
    never = {"resolved": False, "published_result_categories": ["no_generation"]}
    with pytest.raises(InputError, match="has a patch that is not empty"):
        task_score(one(typed, record("a", "t", **never, metrics=None)), SCALE)
    with pytest.raises(InputError, match="has metrics"):
        task_score(one(typed, record("a", "t", **never, provenance=provenance(None))), SCALE)


def test_estimates_from_hunks_are_never_scored(record: MakeRecord, typed: Typed) -> None:
    with pytest.raises(InputError, match="has patch_only metrics"):
        task_score(one(typed, record("a", "t", metrics={"mode": "patch_only"})), SCALE)
