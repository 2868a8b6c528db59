"""Panels: what gets in, what they keep, and what is refused when one is read back."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from parsimony.errors import InputError
from parsimony.measurements import Base, Population, Record
from parsimony.scoring import Panel, freeze

MakeRecord = Callable[..., dict[str, Any]]
Typed = Callable[..., tuple[Record, ...]]


def population(**changes: Any) -> Population:
    tasks = {task: Base("o/r", f"{task:0<8}") for task in ("t1", "t2")}
    given: dict[str, Any] = {
        "name": "pop", "dataset_sha256": "d" * 64, "analyzer_commit": "c" * 40, "python_version": "3.12.1",
        "track": None, "tasks": tasks,
    }  # fmt: skip
    return Population(**(given | changes))


@pytest.fixture
def panel(record: MakeRecord, typed: Typed) -> Panel:
    return freeze(typed(record("b", "t1", 3, 5), record("a", "t1", 1, 5), record("a", "t2", 2, 2)), "p")


def test_references_are_the_successes_by_agent(panel: Panel) -> None:
    assert {task: [one.agent for one in references] for task, references in panel.tasks.items()} == {
        "t1": ["a", "b"],
        "t2": ["a"],
    }
    assert panel.scale("t1") is not None
    assert panel.bases == {"t1": Base("o/r", "t1000000"), "t2": Base("o/r", "t2000000")}


def test_failures_unmeasured_and_out_of_scope_successes_are_no_references(record: MakeRecord, typed: Typed) -> None:
    found = freeze(
        typed(
            record("a", "t", 1, 1),
            record("b", "t", 1, 1, resolved=False),
            record("c", "t", None, None),
            record("d", "t", 1, 1, analysis_status="error"),
            record("e", "t", metrics={"excluded_files": ["pkg/core.py"]}),
        ),
        "p",
    )
    assert [one.agent for one in found.tasks["t"]] == ["a"]


def test_a_panel_comes_back_from_its_file(panel: Panel) -> None:
    assert Panel.from_json(json.loads(json.dumps(panel.to_json()))) == panel


def test_references_keep_metrics_and_provenance_as_they_were(record: MakeRecord, typed: Typed) -> None:
    raw = record("a", "t", 1, 1, metrics={"note": "kept"})
    told: Any = freeze(typed(raw), "p").to_json()["tasks"]
    assert told == {"t": [{"agent": "a", "metrics": raw["metrics"], "provenance": raw["provenance"]}]}


def test_a_task_that_nobody_solved_needs_a_population(record: MakeRecord, typed: Typed) -> None:
    records = typed(record("a", "t1", 1, 1), record("a", "t2", 1, 1, resolved=False))
    with pytest.raises(InputError, match="no successful patch of t2"):
        freeze(records, "p")
    found = freeze(records, "p", population())
    assert found.tasks["t2"] == ()
    assert found.scale("t2") is None
    told = found.to_json()
    assert told["calibration_policy"] == "full-population-uncalibrated-bounds-v1"
    assert told["population_sha256"] == population().sha256
    assert Panel.from_json(json.loads(json.dumps(told))) == found


def test_the_digest_of_a_population_counts_fields_that_are_not_ours() -> None:
    manifest = population().to_json()
    assert Population.from_json(manifest) == population()
    more = Population.from_json(manifest | {"note": "x"})
    assert more.sha256 != population().sha256
    assert more.to_json() == manifest | {"note": "x"}


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("task", {"task_id": "t3"}, "outside the population"),
    ("base", {"provenance": {"repo": "o/r", "base_commit": "other"}}, "another base"),
    ("repository", {"provenance": {"repo": "x/y", "base_commit": "t1000000"}}, "another base"),
    ("Python", {"python_version": "3.13.0"}, "has 3.13.0, the population 3.12.1"),
    ("commit", {"analyzer_commit": "d" * 40}, "the population ccc"),
    ("no commit", {"analyzer_commit": None}, "has None"),
    ("track", {"measurement_track": {"language": "go"}}, "the population None"),
]


@pytest.mark.parametrize(("changes", "problem"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_records_that_do_not_fit_the_population(
    record: MakeRecord, typed: Typed, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        freeze(typed(record("a", "t1", 1, 1, **changes)), "p", population())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"agent": "a", "task_id": "t1"}, "is there twice, first at row 1"),
        ({"analyzer_version": "0.1"}, "has 0.1, the records before it 9.9"),
        ({"python_version": "3.11.0"}, "has 3.11.0"),
        ({"measurement_track": {"language": "go"}}, "another track"),
        ({"metrics": {"mode": "patch_only"}}, "patch_only"),
        ({"task_id": "t1", "provenance": {"repo": "o/r", "base_commit": "other"}}, "has another base"),
        ({"provenance": {"repo": "o/r"}}, "names no base"),
    ],
)
def test_records_that_were_not_made_alike(
    record: MakeRecord, typed: Typed, changes: dict[str, Any], problem: str
) -> None:
    rows = record("a", "t1", 1, 1), record("b", "t2", 1, 1) | changes
    if "metrics" in changes:
        rows = rows[0], record("b", "t2", 1, 1, **changes)
    with pytest.raises(InputError, match=problem):
        freeze(typed(*rows), "p")


def set_at(path: str, value: Any) -> Callable[[Any], None]:
    def change(panel: Any) -> None:
        *way, last = path.split("/")
        for step in way:
            panel = panel[int(step) if step.isdigit() else step]
        panel[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (set_at("score_version", "v9"), "score_version"),
        (set_at("net_weight", 0.7), "net_weight"),
        (set_at("failure_cap", 10), "failure_cap"),
        (set_at("tasks", {}), "at least one task"),
        (set_at("tasks/t1", []), "at least one reference"),
        (set_at("tasks/t1/0/metrics/churn", 99), r"tasks.t1\[0\].metrics.churn"),
        (set_at("tasks/t1/0/metrics/churn", None), "complete full_file metrics"),
        (set_at("tasks/t1/0/metrics/mode", "patch_only"), "complete full_file metrics"),
        (set_at("tasks/t1/0/metrics/excluded_files", ["pkg/core.py"]), "in scope"),
        (set_at("tasks/t1/0/agent", ""), "agent"),
        (set_at("tasks/t1/1/agent", "a"), "one agent twice"),
        (set_at("tasks/t1/0/provenance", None), "provenance"),
        (set_at("tasks/t1/0/provenance/base_commit", "other"), "one base"),
        (set_at("measurement_track", "go"), "measurement_track"),
        (set_at("calibration_policy", "other"), "calibration_policy"),
        (set_at("calibration_policy", "full-population-uncalibrated-bounds-v1"), "task_bases"),
    ],
)
def test_a_panel_that_was_tampered_with_is_refused(panel: Panel, change: Callable[[Any], None], problem: str) -> None:
    told = copy.deepcopy(json.loads(json.dumps(panel.to_json())))
    change(told)
    with pytest.raises(InputError, match=problem):
        Panel.from_json(told)


@pytest.mark.parametrize("value", [None, [], "panel", {}])
def test_what_is_no_panel(value: object) -> None:
    with pytest.raises(InputError):
        Panel.from_json(value)
