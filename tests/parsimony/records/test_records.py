from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parsimony
from parsimony.errors import InputError
from parsimony.records import (
    ABComparison,
    Arm,
    BenchmarkSet,
    ComparisonResult,
    ComponentMetrics,
    ContaminationStatus,
    Cost,
    Economics,
    EndToEnd,
    FrozenConfig,
    GateVerdict,
    LocalizationMetrics,
    PatchingMetrics,
    PlanningMetrics,
    Recommendation,
    Record,
    Resolution,
    Role,
    Score,
    Scorecard,
    Side,
    Significance,
    StructureMetrics,
    TestGate,
    TestingMetrics,
)

# The shapes of the build spec, section 5, written down once more by hand.
SHAPES: dict[type[Record], list[str]] = {
    Score: ["instance_id", "patch_ref", "resolved", "fail_to_pass", "pass_to_pass", "graded_by", "graded_at"],
    TestGate: ["total", "passed", "verdict"],
    Scorecard: ["run_id", "task_id", "component_metrics", "end_to_end", "economics"],
    ComponentMetrics: ["localization", "planning", "patching", "structure", "testing"],
    LocalizationMetrics: ["file_recall", "symbol_recall", "target_rank"],
    PlanningMetrics: ["obligations_recovered"],
    PatchingMetrics: ["apply", "parse", "build"],
    StructureMetrics: ["correct_entities_touched", "unnecessary_entities_touched"],
    TestingMetrics: ["bug_tests_exercised", "regression_tests_exercised"],
    EndToEnd: ["resolved", "regressions", "robustness"],
    Economics: ["tokens", "calls", "cpu", "wall_time", "dollars"],
    BenchmarkSet: [
        "set_id",
        "role",
        "task_ids",
        "contamination_status",
        "refresh_source",
        "last_decision_use",
        "burned",
    ],
    ABComparison: ["change_under_test", "frozen", "arms", "seeds", "result"],
    FrozenConfig: [
        "model",
        "temperature",
        "token_budget",
        "tool_budget",
        "task_set",
        "environment_image",
        "timeout",
        "candidate_count",
    ],
    Arm: ["name", "harness_version", "resolved", "mean", "variance", "confidence_interval", "cost"],
    Cost: ["tokens", "calls", "cpu", "wall_time", "dollars"],
    ComparisonResult: ["delta", "significant", "recommendation"],
}

ENUMS = {
    Resolution: ["resolved", "not_resolved"],
    GateVerdict: ["satisfied", "violated"],
    Role: ["development", "regression", "holdout_live"],
    ContaminationStatus: ["known", "partially_known", "unseen", "continuously_refreshed"],
    Side: ["baseline", "candidate"],
    Significance: ["yes", "no", "undetermined"],
    Recommendation: ["keep", "reject", "pare_back"],
}

counts = st.integers(0, 2**63 - 1)
amounts = st.floats(0, 1e15) | st.integers(0, 10**15)
ratios = st.floats(0, 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
gates = st.integers(0, 10**6).flatmap(
    lambda total: st.builds(TestGate, total=st.just(total), passed=st.integers(0, total))
)
scores = st.builds(
    Score,
    instance_id=texts,
    patch_ref=texts,
    fail_to_pass=gates,
    pass_to_pass=gates,
    graded_by=texts,
    graded_at=counts,
)
scorecards = st.builds(
    Scorecard,
    run_id=texts,
    task_id=texts,
    component_metrics=st.builds(
        ComponentMetrics,
        localization=st.builds(LocalizationMetrics, file_recall=ratios, symbol_recall=ratios, target_rank=counts),
        planning=st.builds(PlanningMetrics, obligations_recovered=ratios),
        patching=st.builds(PatchingMetrics),
        structure=st.builds(StructureMetrics, correct_entities_touched=counts, unnecessary_entities_touched=counts),
        testing=st.builds(TestingMetrics),
    ),
    end_to_end=st.builds(EndToEnd, regressions=counts, robustness=ratios),
    economics=st.builds(Economics, tokens=counts, calls=counts, cpu=amounts, wall_time=amounts, dollars=amounts),
)
benchmark_sets = st.builds(
    BenchmarkSet,
    set_id=texts,
    role=st.sampled_from([Role.DEVELOPMENT, Role.REGRESSION]),
    task_ids=st.lists(texts, unique=True, max_size=4).map(tuple),
    contamination_status=st.sampled_from([ContaminationStatus.KNOWN, ContaminationStatus.PARTIALLY_KNOWN]),
    refresh_source=st.just("static:human_eval"),
    last_decision_use=counts,
)


@st.composite
def comparisons(draw: st.DrawFn) -> ABComparison:
    seeds = draw(st.lists(counts, min_size=1, max_size=4, unique=True))
    resolved = st.lists(counts, min_size=len(seeds), max_size=len(seeds)).map(tuple)
    bounds = st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(lambda pair: tuple(sorted(pair)))
    costs = st.builds(Cost, tokens=counts, calls=counts, cpu=amounts, wall_time=amounts, dollars=amounts)
    return ABComparison(
        change_under_test=draw(texts),
        frozen=draw(
            st.builds(
                FrozenConfig,
                model=texts,
                temperature=amounts,
                token_budget=counts,
                tool_budget=counts,
                task_set=texts,
                environment_image=texts,
                timeout=st.floats(0.1, 1e6),
                candidate_count=st.integers(1, 100),
            )
        ),
        arms=tuple(
            Arm(
                name=side,
                harness_version=draw(texts),
                resolved=draw(resolved),
                mean=draw(ratios),
                variance=draw(ratios),
                confidence_interval=draw(bounds),
                cost=draw(costs),
            )
            for side in Side
        ),
        seeds=tuple(seeds),
        result=draw(st.builds(ComparisonResult, delta=st.floats(-1, 1))),
    )


records: st.SearchStrategy[Record] = scores | scorecards | benchmark_sets | comparisons()


def a_score(**changes: Any) -> Score:
    fields: dict[str, Any] = {
        "instance_id": "pallets__flask-4992",
        "patch_ref": "sha256:" + "0" * 64,
        "fail_to_pass": TestGate(total=1, passed=1),
        "pass_to_pass": TestGate(total=18, passed=18),
        "graded_by": "parsimony 0.1.0; docker; 30 s",
        "graded_at": 1_700_000_000,
    }
    return Score(**{**fields, **changes})


def a_set(**changes: Any) -> BenchmarkSet:
    fields: dict[str, Any] = {
        "set_id": "lite-1",
        "role": Role.HOLDOUT_LIVE,
        "task_ids": ("a", "b"),
        "contamination_status": ContaminationStatus.UNSEEN,
        "refresh_source": "held_out:swe_bench_pro",
        "last_decision_use": 0,
        "burned": False,
    }
    return BenchmarkSet(**{**fields, **changes})


A_COMPARISON: dict[str, Any] = {
    "change_under_test": "localization v2",
    "frozen": {
        "model": "m",
        "temperature": 0.2,
        "token_budget": 1000,
        "tool_budget": 10,
        "task_set": "lite-1",
        "environment_image": "sha256:1",
        "timeout": 30.0,
        "candidate_count": 1,
    },
    "arms": [
        {
            "name": name,
            "harness_version": "1",
            "resolved": [33, 36],
            "mean": 0.345,
            "variance": 0.0002,
            "confidence_interval": [0.3, 0.4],
            "cost": {"tokens": 1, "calls": 1, "cpu": 1.0, "wall_time": 1.0, "dollars": 0.1},
        }
        for name in ("baseline", "candidate")
    ],
    "seeds": [1, 2],
    "result": {"delta": 0.0, "significant": "no", "recommendation": "pare_back"},
}


@pytest.mark.parametrize("record", SHAPES, ids=lambda record: record.__name__)
def test_a_record_has_exactly_the_fields_of_the_spec_in_order(record: type[Record]) -> None:
    assert list(record.field_names()) == SHAPES[record]


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_enums_are_closed(enum: Any) -> None:
    assert [str(member) for member in enum] == ENUMS[enum]


@given(records)
def test_json_round_trip(record: Record) -> None:
    text = record.to_json_text()
    assert "\n" not in text
    again = type(record).from_json_text(text)
    assert again == record
    assert again.to_json_text() == text
    assert list(record.to_json()) == SHAPES[type(record)]
    assert type(record).from_json(record.to_json()) == record


@given(records)
def test_copies_and_pickles_are_equal(record: Record) -> None:
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record
    assert len({record, copy.copy(record)}) == 1


# What is derived


@pytest.mark.parametrize(
    ("fail_to_pass", "pass_to_pass", "expected"),
    [
        ((2, 2), (5, 5), Resolution.RESOLVED),
        ((2, 2), (5, 4), Resolution.NOT_RESOLVED),
        ((2, 1), (5, 5), Resolution.NOT_RESOLVED),
        ((2, 0), (5, 0), Resolution.NOT_RESOLVED),
        ((2, 2), (0, 0), Resolution.RESOLVED),
    ],
)
def test_resolved_is_the_conjunction_of_the_gates(
    fail_to_pass: tuple[int, int], pass_to_pass: tuple[int, int], expected: Resolution
) -> None:
    gates = [TestGate(total=total, passed=passed) for total, passed in (fail_to_pass, pass_to_pass)]
    assert a_score(fail_to_pass=gates[0], pass_to_pass=gates[1]).resolved is expected


@given(scores, st.sampled_from(list(Resolution)))
def test_no_caller_sets_resolved(score: Score, wish: Resolution) -> None:
    before = score.resolved
    attempts: list[Any] = [
        lambda: Score(**{name: getattr(score, name) for name in score.field_names()}),
        lambda: dataclasses.replace(score, resolved=wish),  # type: ignore[call-arg]
        lambda: setattr(score, "resolved", wish),
        lambda: delattr(score, "resolved"),
        lambda: object.__setattr__(score, "resolved", wish),
        lambda: vars(score).update(resolved=wish),
        lambda: type(score).resolved.__set__(score, wish),  # type: ignore[attr-defined]
        lambda: type("Generous", (Score,), {"resolved": wish}),
    ]
    for attempt in attempts:
        with pytest.raises((TypeError, AttributeError)):
            attempt()
    assert score.resolved is before


def test_no_caller_sets_the_verdict_of_a_gate() -> None:
    gate = TestGate(total=2, passed=1)
    attempts: list[Any] = [
        lambda: TestGate(total=2, passed=1, verdict=GateVerdict.SATISFIED),  # type: ignore[call-arg]
        lambda: dataclasses.replace(gate, verdict=GateVerdict.SATISFIED),  # type: ignore[call-arg]
        lambda: object.__setattr__(gate, "verdict", GateVerdict.SATISFIED),
        lambda: setattr(gate, "verdict", GateVerdict.SATISFIED),
    ]
    for attempt in attempts:
        with pytest.raises((TypeError, AttributeError)):
            attempt()
    assert gate.verdict is GateVerdict.VIOLATED


@pytest.mark.parametrize("field", ["graded_at", "resolved", "brand_new"])
def test_a_record_is_frozen(field: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match=field):
        setattr(a_score(), field, 0)
    with pytest.raises(dataclasses.FrozenInstanceError, match=field):
        delattr(a_score(), field)


def test_a_pickle_cannot_bring_in_what_the_constructor_refuses() -> None:
    data = pickle.dumps(TestGate(total=7, passed=5)).replace(b"K\x05", b"K\x09")
    with pytest.raises(InputError, match="more than the total"):
        pickle.loads(data)


# What JSON is refused


@pytest.mark.parametrize(
    "record", [a_score(), a_set(), ABComparison.from_json(A_COMPARISON)], ids=lambda r: type(r).__name__
)
def test_a_missing_and_an_extra_field_are_named(record: Record) -> None:
    for path in _object_paths(record.to_json()):
        for name in _at(record.to_json(), path):
            value = record.to_json()
            del _at(value, path)[name]
            assert _refusal(type(record), value) == (".".join([*path, name]), "is missing")
        value = record.to_json()
        _at(value, path)["confidence"] = 1
        field, problem = _refusal(type(record), value)
        assert field == ".".join([*path, "confidence"])
        assert problem.startswith("is no field of a ")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"resolved": "not_resolved"}, "resolved"),
        ({"resolved": True}, "resolved"),
        ({"resolved": "almost_resolved"}, "resolved"),
        ({"fail_to_pass": {"total": 1, "passed": 0, "verdict": "violated"}}, "resolved"),
        ({"fail_to_pass": {"total": 1, "passed": 0, "verdict": "satisfied"}}, "fail_to_pass.verdict"),
        ({"fail_to_pass": {"total": 1, "passed": 2, "verdict": "violated"}}, "fail_to_pass.passed"),
        ({"fail_to_pass": {"total": -1, "passed": -1, "verdict": "satisfied"}}, "fail_to_pass.total"),
        ({"fail_to_pass": {"total": 1.0, "passed": 1, "verdict": "satisfied"}}, "fail_to_pass.total"),
        ({"fail_to_pass": {"total": True, "passed": True, "verdict": "satisfied"}}, "fail_to_pass.total"),
        ({"pass_to_pass": []}, "pass_to_pass"),
        ({"pass_to_pass": None}, "pass_to_pass"),
        ({"instance_id": ""}, "instance_id"),
        ({"instance_id": "\udce9"}, "instance_id"),
        ({"instance_id": 7}, "instance_id"),
        ({"graded_by": " "}, "graded_by"),
        ({"graded_at": 1.5}, "graded_at"),
        ({"graded_at": "1700000000"}, "graded_at"),
        ({"graded_at": 2**63}, "graded_at"),
    ],
)
def test_a_score_that_cannot_be_is_refused(changes: dict[str, Any], field: str) -> None:
    assert _refusal(Score, {**a_score().to_json(), **changes})[0] == field


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("arms", [], "arms"),
        ("arms", A_COMPARISON["arms"][:1], "arms"),
        ("arms", [A_COMPARISON["arms"][0]] * 2, "arms"),
        ("arms", [*A_COMPARISON["arms"], A_COMPARISON["arms"][0]], "arms"),
        ("arms.1.name", "treatment", "arms.1.name"),
        ("arms.0.resolved", [], "arms.0.resolved"),
        ("arms.1.resolved", [1], "arms.1.resolved"),
        ("arms.1.resolved.1", "3", "arms.1.resolved.1"),
        ("arms.0.mean", 1.5, "arms.0.mean"),
        ("arms.0.variance", -0.1, "arms.0.variance"),
        ("arms.0.confidence_interval", [0.3], "arms.0.confidence_interval"),
        ("arms.0.confidence_interval", [0.4, 0.3], "arms.0.confidence_interval"),
        ("arms.0.confidence_interval", [0.3, None], "arms.0.confidence_interval.1"),
        ("arms.0.cost.dollars", float("inf"), "arms.0.cost.dollars"),
        ("arms.0.cost.cpu", float("nan"), "arms.0.cost.cpu"),
        ("seeds", [], "seeds"),
        ("seeds", [1, 1], "seeds"),
        ("seeds", {"0": 1}, "seeds"),
        ("frozen.timeout", 0, "frozen.timeout"),
        ("frozen.candidate_count", 0, "frozen.candidate_count"),
        ("result.delta", 2, "result.delta"),
        ("result.significant", True, "result.significant"),
        ("result.recommendation", "maybe", "result.recommendation"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(path: str, value: Any, field: str) -> None:
    changed = copy.deepcopy(A_COMPARISON)
    *parents, last = path.split(".")
    target = _at(changed, parents)
    target[int(last) if isinstance(target, list) else last] = value
    assert _refusal(ABComparison, changed)[0] == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"task_ids": ("a", "a")}, "task_ids"),
        ({"task_ids": ["a"]}, "task_ids"),
        ({"task_ids": ("a", "")}, "task_ids.1"),
        ({"refresh_source": "somewhere"}, "refresh_source"),
        ({"refresh_source": "live:"}, "refresh_source"),
        ({"burned": True}, "contamination_status"),
        ({"contamination_status": ContaminationStatus.KNOWN}, "contamination_status"),
        ({"role": "holdout_live"}, "role"),
        ({"burned": 0}, "burned"),
    ],
)
def test_a_set_that_cannot_be_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        a_set(**changes)
    assert caught.value.place.field == field


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [], [1]])
def test_what_is_no_object_is_no_record(value: Any) -> None:
    with pytest.raises(InputError, match="a Score is an object"):
        Score.from_json(value)


def test_a_key_twice_in_json_text_is_refused() -> None:
    text = a_score().to_json_text().replace('"resolved"', '"graded_at"', 1)
    with pytest.raises(InputError, match="has the key 'graded_at' twice"):
        Score.from_json_text(text)


@given(records, st.data())
def test_any_json_is_a_record_or_an_input_error(record: Record, data: st.DataObject) -> None:
    value = record.to_json()
    path = data.draw(st.sampled_from(_object_paths(value)))
    target = _at(value, path)
    name = data.draw(st.sampled_from(sorted(target)))
    target[name] = data.draw(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=5,
        )
    )
    refused: InputError | None = None
    try:
        record = type(record).from_json(value)
    except InputError as error:
        refused = error
    assert refused is None or refused.place.field is not None
    assert type(record).from_json_text(json.dumps(record.to_json())) == record


def test_equal_records_have_equal_json() -> None:
    cost: dict[str, Any] = {"tokens": 1, "calls": 1, "wall_time": 1.0, "dollars": 0}
    assert Cost(cpu=2, **cost).to_json_text() == Cost(cpu=2.0, **cost).to_json_text()


def test_the_module_imports_alone_without_any_package() -> None:
    root = Path(parsimony.__file__).parent.parent
    program = f"import sys; sys.path.insert(0, {str(root)!r}); import parsimony.records"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)


def _refusal(record: type[Record], value: Any) -> tuple[str | None, str]:
    with pytest.raises(InputError) as caught:
        record.from_json(value)
    return caught.value.place.field, caught.value.problem


def _object_paths(value: Any, path: tuple[str, ...] = ()) -> list[list[str]]:
    """Paths to all objects in a JSON value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [list(path)] if isinstance(value, dict) else []
    for name, child in children:
        found += _object_paths(child, (*path, str(name)))
    return found


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value
