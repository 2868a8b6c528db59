"""Every published scoring vector: the same numbers, the same order, and a refusal where the other program refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from parsimony import release
from parsimony.errors import InputError
from parsimony.footprint.leaderboard import leaderboard
from parsimony.measurements import Population, parse_records
from parsimony.scoring import Panel, freeze, score
from parsimony.sensitivity import sensitivity

pytestmark = pytest.mark.shared

Vectors = dict[str, Any]


def differences(found: Any, wanted: Any, place: str) -> list[str]:
    """Where two JSON values differ; numbers may in what rounding does to a sum."""
    if isinstance(wanted, dict) and isinstance(found, dict) and found.keys() == wanted.keys():
        return [line for key in wanted for line in differences(found[key], wanted[key], f"{place}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        pairs = zip(found, wanted, strict=True)
        return [line for at, (x, y) in enumerate(pairs) for line in differences(x, y, f"{place}[{at}]")]
    if type(found) is type(wanted) and (
        math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12) if isinstance(wanted, float) else found == wanted
    ):
        return []
    return [f"{place}: {found!r} is not {wanted!r}"]


def check(name: str, expected: Vectors, make: Callable[[], Any]) -> None:
    """The outcome of `make` is the expected one, or a refusal that says how to mend it."""
    if expected["status"] == "error":
        with pytest.raises(InputError) as refused:
            make()
        assert refused.value.mend, name
        return
    found = json.loads(json.dumps(make()))
    assert differences(found, expected["value"], name) == []


def test_the_comparison_sees_differences() -> None:
    assert differences({"a": [1.0, 2.0 + 1e-13]}, {"a": [1.0, 2.0]}, "x") == []
    assert differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-9]}, "x") == ["x.a[1]: 2.0 is not 2.000000001"]
    assert differences({"a": 1}, {"a": 1, "b": 2}, "x") != []
    assert differences(1, True, "x") != []
    assert differences(1, 1.0, "x") != []


def test_panels_are_frozen_alike(vectors: Vectors) -> None:
    assert len(vectors["panels"]) > 20
    for case in vectors["panels"]:
        records = vectors["record_sets"][case["reference_records"]]

        def make(case: Vectors = case, records: list[Any] = records) -> Any:
            population = Population.from_json(case["population"]) if case["population"] else None
            return freeze(parse_records(records), case["panel_name"], population).to_json()

        check(case["name"], case["expected_freeze"], make)


def scored_cases(vectors: Vectors) -> list[Vectors]:
    return [case for case in vectors["panels"] if "expected_score" in case]


def panel_of(case: Vectors) -> Panel:
    return Panel.from_json(case.get("scored_panel") or case["expected_freeze"]["value"])


def test_candidates_score_alike_and_in_the_same_order(vectors: Vectors) -> None:
    for case in scored_cases(vectors):
        records = vectors["record_sets"][case["candidate_records"]]

        def make(case: Vectors = case, records: list[Any] = records) -> Any:
            return [row.to_json() for row in score(panel_of(case), parse_records(records))]

        check(case["name"], case["expected_score"], make)


def test_sensitivity_draws_alike(vectors: Vectors) -> None:
    """Every bootstrap end point: the draws are the same ones."""
    cases = [case for case in scored_cases(vectors) if "expected_sensitivity" in case]
    assert cases
    for case in cases:
        expected = case["expected_sensitivity"]
        records = parse_records(vectors["record_sets"][case["candidate_records"]])
        found = sensitivity(panel_of(case), records, draws=expected["draws"], seed=expected["seed"])
        check(case["name"], expected, lambda found=found: found)  # type: ignore[misc]
        ranked: Any = found["scenario_scores"]
        assert {name: list(scores) for name, scores in ranked.items()} == expected["scenario_ranking"]


def test_sensitivity_refuses_alike(vectors: Vectors) -> None:
    for case in vectors["sensitivity_cases"]:
        records = vectors["record_sets"][case["candidate_records"]]

        def make(case: Vectors = case, records: list[Any] = records) -> Any:
            panel = Panel.from_json(case["panel"])
            return sensitivity(panel, parse_records(records), draws=case["draws"], seed=case["seed"])

        check(case["name"], case["expected"], make)


def test_populations_are_frozen_and_audited_alike(vectors: Vectors) -> None:
    for case in vectors["release"]:
        if case["name"] == "reject: unknown language":
            assert case["expected"]["error"] == "unsupported language: rust"
            continue  # here there is a track for Rust; test_release.py refuses a language that there is not

        def frozen(case: Vectors = case) -> Any:
            data = case["dataset_jsonl"].encode()
            wanted = case["expected"].get("value", {}).get("python_version")
            named = case["population_name"], case["analyzer_commit"]
            return release.freeze(data, *named, python_version=wanted).to_json()

        def audited(case: Vectors = case) -> Any:
            told = case.get("dataset_jsonl")
            data = None if told is None else told.encode()
            records = parse_records(vectors["record_sets"][case["records"]])
            return release.audit(Population.from_json(case["manifest"]), records, dataset=data)

        check(case["name"], case["expected"], frozen if case["kind"] == "freeze" else audited)


def test_leaderboards_are_alike(vectors: Vectors) -> None:
    for case in vectors["leaderboard"]:

        def make(case: Vectors = case) -> Any:
            return leaderboard(parse_records(vectors["record_sets"][case["records"]]), **case["options"])

        check(case["name"], case["expected"], make)
