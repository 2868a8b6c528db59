"""Planning, testing, robustness and cost: the measures that need no patch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.execution import TestStatus
from parsimony.runs import Spend, Trial
from parsimony.scorecard.material import Material
from parsimony.scorecard.note import Exercised, Planned, Robust, Spent
from parsimony.scorecard.stages import exercise, normal, obligations, plan, regressions, robustness, spent
from parsimony.scorer import Outcome
from parsimony.tasks import Task, Trace


def task(**row: object) -> Task:
    return Task("t-1", "r", None, ("f",), ("p",), "pytest", row=row)


def trial(outcome: Outcome = Outcome.RESOLVED, **more: object) -> Trial:
    return Trial("t-1", "arm", 1, 0, outcome, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stated", "told", "wanted"),
    [
        (["Keep order", "Close files"], ("keep  ORDER\n",), Planned(2, 1, 0.5)),
        (["Keep order"], ("keep order", "other"), Planned(1, 1, 1.0)),
        (["Keep order"], ("order",), Planned(1, 0, 0.0)),  # exact, no guess at what is meant
        (["Keep order"], (), Planned(1, 0, None)),  # nothing is told
        ([], ("keep order",), Planned(0, 0, None)),  # nothing is required
        ([{"id": "O1", "text": "Keep order"}, {"id": "O2"}], ("o1", "keep order"), Planned(2, 1, 0.5)),
        (["a", "A ", ""], ("a",), Planned(1, 1, 1.0)),
        (["Ｋｅｅｐ"], ("keep",), Planned(1, 1, 1.0)),
        ("no list", ("a",), Planned(0, 0, None)),
        ([None, 3, ["x"]], ("3",), Planned(1, 1, 1.0)),
    ],
)
def test_plans(stated: object, told: tuple[str, ...], wanted: Planned) -> None:
    assert plan(task(obligations=stated), Trace(obligations=told)) == wanted


def test_a_task_without_obligations_or_a_candidate_without_a_trace() -> None:
    assert obligations(task()) == ()
    assert plan(task(), None) == Planned(0, 0, None)
    assert plan(task(obligations=["a"]), None) == Planned(1, 0, None)


@given(st.lists(st.text(min_size=1, max_size=8), max_size=6), st.lists(st.text(max_size=8), max_size=6))
def test_recovered_is_a_share_and_whole_when_everything_is_told(required: list[str], told: list[str]) -> None:
    found = plan(task(obligations=required), Trace(obligations=tuple(told)))
    assert 0 <= found.matched <= found.required <= len(required)
    everything = plan(task(obligations=required), Trace(obligations=tuple(required)))
    assert everything.matched == everything.required == len({normal(text) for text in required} - {""})


PASSED, FAILED, SKIPPED = TestStatus.PASSED, TestStatus.FAILED, TestStatus.SKIPPED


@pytest.mark.parametrize(
    ("tests", "skipped_by_gold", "outcome", "wanted"),
    [
        ({"a": PASSED, "b": FAILED}, (), Outcome.NOT_RESOLVED, Exercised(2, 2)),
        ({"a": PASSED}, (), Outcome.NOT_RESOLVED, Exercised(1, 2)),
        ({"a": PASSED, "b": SKIPPED}, (), Outcome.NOT_RESOLVED, Exercised(1, 2)),  # a skipped test was not run
        ({"a": PASSED, "b": SKIPPED}, ("b",), Outcome.RESOLVED, Exercised(1, 1)),  # gold skips it too
        ({"a": PASSED, "b": PASSED, "other": PASSED}, (), Outcome.RESOLVED, Exercised(2, 2)),
        ({"a": PASSED, "b": PASSED}, (), Outcome.TAMPERED, Exercised(0, 2)),  # nothing can be trusted
        ({"a": TestStatus.ERROR, "b": TestStatus.XFAIL}, (), Outcome.NOT_RESOLVED, Exercised(2, 2)),
        ({}, (), Outcome.DOES_NOT_APPLY, Exercised(0, 2)),
    ],
)
def test_exercised(
    tests: dict[str, TestStatus], skipped_by_gold: tuple[str, ...], outcome: Outcome, wanted: Exercised
) -> None:
    material = Material(b"", tests=tests, skipped_by_gold=frozenset(skipped_by_gold))
    assert exercise(("a", "b"), trial(outcome), material) == wanted


@pytest.mark.parametrize(
    ("outcome", "gate", "read", "wanted"),
    [
        (Outcome.NOT_RESOLVED, (3, 5), 2, 2),
        (Outcome.RESOLVED, (5, 5), 0, 0),
        (Outcome.TIMED_OUT, (0, 5), 5, 5),  # none is shown to pass any more
        (Outcome.EMPTY_PATCH, (0, 5), None, 0),  # the tree is as it was
        (Outcome.DOES_NOT_APPLY, (0, 5), 5, 0),
        (Outcome.MISSING, None, None, None),
    ],
)
def test_regressions(outcome: Outcome, gate: tuple[int, int] | None, read: int | None, wanted: int | None) -> None:
    assert regressions(trial(outcome, pass_to_pass=gate, regressions=read)) == wanted


def test_robustness_is_over_variants_and_else_over_repeats() -> None:
    assert robustness({"hash-1": True, "locale-C": False}, [True]) == Robust(0.5, 2, "variants")
    assert robustness({}, [True, True, False]) == Robust(2 / 3, 3, "repeats")
    assert robustness({}, []) is None


LLM = Spend(input_tokens=70, cached_tokens=20, output_tokens=10, calls=3, cpu_seconds=1.0, wall_seconds=60.0,
            micro_dollars=5000)  # fmt: skip
GRADING = Spend(cpu_seconds=36.0, wall_seconds=40.0)


def cents(spend: Spend) -> int:
    return round(spend.cpu_seconds / 3600 * 50_000)  # five cents an hour


def test_cost_is_that_of_producing_and_of_grading() -> None:
    both = trial(llm=LLM, compute=GRADING, execution_key="k")
    assert spent(both, cents) == Spent(100, 3, 37.0, 100.0, 5500)
    assert spent(both, lambda _: None) == Spent(100, 3, 37.0, 100.0, None)  # no price is not zero


def test_cost_that_nobody_told_is_not_zero() -> None:
    nothing = Spent(None, None, None, None, None)
    assert spent(trial(compute=GRADING, execution_key="k"), cents) == nothing
    assert spent(trial(llm=LLM, execution_key="k"), cents) == nothing
    unpriced = Spend(input_tokens=1, calls=1)
    assert spent(trial(llm=unpriced, compute=GRADING, execution_key="k"), cents).micro_dollars is None


def test_what_was_not_executed_costs_nothing_to_grade() -> None:
    assert spent(trial(Outcome.EMPTY_PATCH, llm=LLM), lambda _: None) == Spent(100, 3, 1.0, 60.0, 5000)


def test_a_price_in_the_record_stands() -> None:
    priced = Spend(cpu_seconds=36.0, micro_dollars=7)
    assert spent(trial(llm=LLM, compute=priced, execution_key="k"), cents).micro_dollars == 5007
