"""The two-sided gate and the status contract (docs/verdicts.md)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.execution import (
    ApplyRecord,
    CapturedOutput,
    Evidence,
    Execution,
    ExecutionOutcome,
    ResourceUsage,
    TestResult,
    TestStatus,
)
from parsimony.reference import TaskReference
from parsimony.scorer import Outcome, Verdict, score, score_empty, score_key, success
from parsimony.tasks import Task

P, F, E, S, X, XP = (
    TestStatus.PASSED,
    TestStatus.FAILED,
    TestStatus.ERROR,
    TestStatus.SKIPPED,
    TestStatus.XFAIL,
    TestStatus.XPASS,
)


def make_task(f2p: tuple[str, ...] = ("a",), p2p: tuple[str, ...] = ("b", "c")) -> Task:
    return Task("t-1", "o/r", None, f2p, p2p, "pytest", test_cmd="pytest")


def make_execution(
    tests: dict[str, TestStatus],
    outcome: ExecutionOutcome = ExecutionOutcome.COMPLETED,
    evidence: Evidence = Evidence.REPORT,
    reasons: tuple[str, ...] = (),
) -> Execution:
    return Execution(
        execution_key="sha256:0",
        outcome=outcome,
        exit_status=0,
        tests={name: TestResult(status) for name, status in tests.items()},
        evidence=evidence,
        reasons=reasons,
        apply=ApplyRecord(),
        usage=ResourceUsage(1.0),
        phases={},
        log=CapturedOutput(),
        sandbox="fake",
        runner_version="1",
        started_at=0.0,
    )


def make_reference(gold: dict[str, tuple[TestStatus | None, ...]], task: Task | None = None) -> TaskReference:
    task = task or make_task()
    return TaskReference(task.instance_id, task.digest, task.gates_digest, "env", gold, {})


def grade(execution: Execution, reference: TaskReference | None = None, task: Task | None = None) -> Verdict:
    return score(task or make_task(), "sha256:p", execution, reference, graded_at=1)


def test_both_gates_satisfied_is_resolved() -> None:
    """Every test of both gates shown to pass."""
    verdict = grade(make_execution({"a": P, "b": P, "c": P, "unasked": F}))
    assert verdict.outcome is Outcome.RESOLVED
    assert verdict.score is not None
    assert verdict.score.resolved == "resolved"


def test_a_fix_that_breaks_something_is_not_resolved() -> None:
    """The half that only FAIL_TO_PASS would miss (build spec §8.3, ablation 1)."""
    verdict = grade(make_execution({"a": P, "b": P, "c": F}))
    assert verdict.outcome is Outcome.NOT_RESOLVED
    assert verdict.score is not None
    assert (verdict.score.fail_to_pass.verdict, verdict.score.pass_to_pass.verdict) == ("satisfied", "violated")
    assert verdict.failed == {"c": F}
    assert "failed: c" in verdict.reasons


def test_absence_is_never_success() -> None:
    """A test that was not seen counts as failed in either gate."""
    for tests in ({"b": P, "c": P}, {"a": P, "b": P}):
        assert grade(make_execution(tests)).outcome is Outcome.NOT_RESOLVED


@pytest.mark.parametrize(
    ("status", "gold", "expected"),
    [
        (P, None, True), (XP, None, True), (X, None, True), (S, None, False), (F, None, False), (E, None, False),
        (None, None, False),
        (P, (P,), True), (XP, (P,), True), (X, (P, P), False), (X, (X, X), True), (S, (P,), False), (S, (S, S), True),
        (S, (S, P), False), (F, (F,), False), (E, (E,), False), (None, (None,), False), (X, (), False), (S, (), False),
    ],
)  # fmt: skip
def test_the_status_contract(status: TestStatus | None, gold: tuple[TestStatus, ...] | None, expected: bool) -> None:
    """Row by row as docs/verdicts.md has it."""
    assert success(status, gold) is expected


def test_unstable_tests_take_no_part() -> None:
    """Quarantined by the reference: neither counted nor needed."""
    reference = make_reference({"a": (P, P), "b": (P, F), "c": (P, P)})
    verdict = grade(make_execution({"a": P, "b": F, "c": P}), reference)
    assert verdict.outcome is Outcome.RESOLVED
    assert verdict.quarantined == ("b",)
    assert verdict.score is not None
    assert verdict.score.pass_to_pass.total == 1


def test_nothing_left_to_show_a_fix_by_is_missing() -> None:
    """An empty gate would resolve everything."""
    verdict = grade(make_execution({"a": P, "b": P, "c": P}), make_reference({"a": (P, F)}))
    assert verdict.outcome is Outcome.MISSING
    assert verdict.score is None


def test_untrusted_success_is_tampered_and_shows_nothing() -> None:
    """Reports that cannot be what the tests said are no evidence."""
    verdict = grade(make_execution({"a": P, "b": P, "c": P}, ExecutionOutcome.UNTRUSTED, reasons=("forged",)))
    assert verdict.outcome is Outcome.TAMPERED
    assert "forged" in verdict.reasons
    assert verdict.score is not None
    assert verdict.score.resolved == "not_resolved"
    assert verdict.score.fail_to_pass.passed == 0


def test_untrusted_failure_is_a_failure() -> None:
    """A crash leaves tests unseen: that is a failure, not an accusation."""
    assert grade(make_execution({"a": P}, ExecutionOutcome.UNTRUSTED)).outcome is Outcome.NOT_RESOLVED


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (ExecutionOutcome.TIMED_OUT, Outcome.TIMED_OUT),
        (ExecutionOutcome.OUT_OF_MEMORY, Outcome.OUT_OF_MEMORY),
        (ExecutionOutcome.DOES_NOT_APPLY, Outcome.DOES_NOT_APPLY),
        (ExecutionOutcome.TAMPERED, Outcome.TAMPERED),
    ],
)
def test_executions_that_did_not_complete_show_nothing(ending: ExecutionOutcome, outcome: Outcome) -> None:
    """Even when every test had passed before the end."""
    verdict = grade(make_execution({"a": P, "b": P, "c": P}, ending))
    assert verdict.outcome is outcome
    assert verdict.score is not None
    assert verdict.score.resolved == "not_resolved"


def test_an_empty_patch_scores_not_resolved() -> None:
    """The canary of the instrument audit (build spec §6, phase 8)."""
    verdict = score_empty(make_task(), "sha256:e", graded_at=1)
    assert verdict.outcome is Outcome.EMPTY_PATCH
    assert verdict.score is not None
    assert verdict.score.resolved == "not_resolved"


def test_a_required_report_makes_a_log_no_verdict() -> None:
    """Not a failure of the candidate: there is just no verdict."""
    execution = make_execution({"a": P, "b": P, "c": P}, evidence=Evidence.LOG)
    assert score(make_task(), "p", execution, graded_at=1, require_report=True).outcome is Outcome.MISSING


def test_the_score_key_changes_with_everything_that_can_change_the_verdict() -> None:
    """Execution, gates, reference, demand for a report."""
    task = make_task()
    keys = {
        score_key("k", task, None, require_report=False),
        score_key("l", task, None, require_report=False),
        score_key("k", make_task(p2p=("b",)), None, require_report=False),
        score_key("k", task, make_reference({"a": (P,)}), require_report=False),
        score_key("k", task, make_reference({"a": (X,)}), require_report=False),
        score_key("k", task, None, require_report=True),
    }
    assert len(keys) == 6


@given(
    st.dictionaries(st.sampled_from("abcde"), st.sampled_from(list(TestStatus))),
    st.sampled_from(list(ExecutionOutcome)),
    st.one_of(
        st.none(), st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from([*TestStatus, None]), max_size=3))
    ),
)
def test_resolved_means_positive_evidence_for_every_gate_test(
    tests: dict[str, TestStatus], outcome: ExecutionOutcome, gold: dict[str, list[TestStatus | None]] | None
) -> None:
    """Whatever was seen: the outcome and the record agree, and resolved needs every stable test to be shown to pass."""
    reference = make_reference({k: tuple(v) for k, v in gold.items()}) if gold is not None else None
    verdict = grade(make_execution(tests, outcome), reference)
    resolved = verdict.score is not None and verdict.score.resolved == "resolved"
    assert resolved == (verdict.outcome is Outcome.RESOLVED)
    if resolved:
        assert outcome is ExecutionOutcome.COMPLETED
        assert {t for t in "abc" if t not in verdict.quarantined} <= set(tests)
