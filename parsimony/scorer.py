"""The mechanical scorer: the two-sided gate over what the machine saw (build spec §3.2, §5.1; docs/verdicts.md).

A patch is resolved if and only if every FAIL_TO_PASS test is shown to pass and every PASS_TO_PASS test is shown to be
preserved. Absence is never success, and results that cannot be trusted show nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from parsimony.canonical import digest_json
from parsimony.execution import Evidence, Execution, ExecutionOutcome, TestResult, TestStatus
from parsimony.records import Score, TestGate
from parsimony.reference import TaskReference
from parsimony.tasks.model import Task

SCORER_VERSION: Final = "1"
"""Goes into every score key: raised whenever the same execution may give another verdict."""


class Outcome(StrEnum):
    """What became of one planned candidate; closed."""

    RESOLVED = "resolved"
    NOT_RESOLVED = "not_resolved"
    EMPTY_PATCH = "empty_patch"
    DOES_NOT_APPLY = "does_not_apply"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    TAMPERED = "tampered"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A score with what explains it.

    Attributes:
        score: the two-sided record; None only for `missing`.
        failed: tests of the gates that were not shown to pass, with what was seen of them (None = not seen).
        quarantined: tests of the gates that the reference calls unstable: they take no part.
    """

    outcome: Outcome
    score: Score | None
    evidence: Evidence
    reasons: tuple[str, ...] = ()
    failed: Mapping[str, TestStatus | None] = field(default_factory=dict)
    quarantined: tuple[str, ...] = ()


def score_key(execution_key: str, task: Task, reference: TaskReference | None, *, require_report: bool) -> str:
    """Content key of a score: execution, gates, reference, scorer."""
    return digest_json(
        {
            "execution": execution_key,
            "gates": task.gates_digest,
            "reference": reference.digest if reference else None,
            "scorer": SCORER_VERSION,
            "require_report": require_report,
        }
    )


def success(status: TestStatus | None, gold: Iterable[TestStatus | None] | None) -> bool:
    """The status contract (docs/verdicts.md): is a test with `status` shown to pass?

    Args:
        status: what was seen; None = the test was not seen at all.
        gold: what gold's runs showed for the test; None = there is no reference.
    """
    if status in {TestStatus.PASSED, TestStatus.XPASS}:
        return True
    if status is TestStatus.XFAIL:
        return gold is None or TestStatus.XFAIL in gold
    if status is TestStatus.SKIPPED:
        return gold is not None and set(gold) == {TestStatus.SKIPPED}
    return False


def score(
    task: Task,
    patch_ref: str,
    execution: Execution,
    reference: TaskReference | None = None,
    *,
    graded_at: int,
    require_report: bool = False,
) -> Verdict:
    """Grade one execution by the two gates of its task."""
    unstable = reference.unstable if reference else frozenset()
    gates = [[t for t in gate if t not in unstable] for gate in (task.fail_to_pass, task.pass_to_pass)]
    quarantined = tuple(t for t in (*task.fail_to_pass, *task.pass_to_pass) if t in unstable)
    if not gates[0]:
        reason = "every FAIL_TO_PASS test is unstable under gold: nothing is left to show a fix by"
        return Verdict(Outcome.MISSING, None, execution.evidence, (reason,), {}, quarantined)
    if require_report and execution.evidence is Evidence.LOG:
        reason = "the sweep requires a machine-readable report, and there is only a log"
        return Verdict(Outcome.MISSING, None, execution.evidence, (reason,), {}, quarantined)
    failed = _failed((t for gate in gates for t in gate), execution.tests, reference)
    outcome, reasons = _outcome(execution, failed)
    if outcome in {Outcome.RESOLVED, Outcome.NOT_RESOLVED}:
        passed = [sum(t not in failed for t in gate) for gate in gates]
    else:
        passed = [0, 0]
    record = Score(
        instance_id=task.instance_id,
        patch_ref=patch_ref,
        fail_to_pass=TestGate(total=len(gates[0]), passed=passed[0]),
        pass_to_pass=TestGate(total=len(gates[1]), passed=passed[1]),
        graded_by=graded_by(execution, task),
        graded_at=graded_at,
    )
    return Verdict(outcome, record, execution.evidence, reasons, failed, quarantined)


def score_empty(task: Task, patch_ref: str, *, graded_at: int) -> Verdict:
    """An empty patch is not executed: nothing is shown to pass."""
    return _unexecuted(task, patch_ref, Outcome.EMPTY_PATCH, ("the patch is empty",), graded_at)


def score_refused(task: Task, patch_ref: str, reasons: Iterable[str], *, graded_at: int) -> Verdict:
    """A patch that reaches outside the work tree is not executed."""
    return _unexecuted(task, patch_ref, Outcome.DOES_NOT_APPLY, tuple(reasons), graded_at)


def _unexecuted(task: Task, patch_ref: str, outcome: Outcome, reasons: tuple[str, ...], graded_at: int) -> Verdict:
    record = Score(
        instance_id=task.instance_id,
        patch_ref=patch_ref,
        fail_to_pass=TestGate(total=len(task.fail_to_pass), passed=0),
        pass_to_pass=TestGate(total=len(task.pass_to_pass), passed=0),
        graded_by=f"parsimony scorer={SCORER_VERSION} not executed",
        graded_at=graded_at,
    )
    return Verdict(outcome, record, Evidence.NONE, reasons, {}, ())


def graded_by(execution: Execution, task: Task) -> str:
    """The instrument that made a verdict: harness, environment and time limit."""
    where = execution.image_digest or "no image"
    return (
        f"parsimony runner={execution.runner_version} scorer={SCORER_VERSION} "
        f"sandbox={execution.sandbox} environment={where} timeout={task.limits.timeout_s:g}s"
    )


def _failed(
    tests: Iterable[str], seen: Mapping[str, TestResult], reference: TaskReference | None
) -> dict[str, TestStatus | None]:
    failed: dict[str, TestStatus | None] = {}
    for test in tests:
        status = seen[test].status if test in seen else None
        if not success(status, reference.gold.get(test, ()) if reference else None):
            failed[test] = status
    return failed


_PLAIN: Final = {
    ExecutionOutcome.DOES_NOT_APPLY: Outcome.DOES_NOT_APPLY,
    ExecutionOutcome.TIMED_OUT: Outcome.TIMED_OUT,
    ExecutionOutcome.OUT_OF_MEMORY: Outcome.OUT_OF_MEMORY,
    ExecutionOutcome.TAMPERED: Outcome.TAMPERED,
}


def _outcome(execution: Execution, failed: Mapping[str, TestStatus | None]) -> tuple[Outcome, tuple[str, ...]]:
    if execution.outcome in _PLAIN:
        return _PLAIN[execution.outcome], execution.reasons
    if failed:
        return Outcome.NOT_RESOLVED, (*_why(failed), *execution.reasons)
    if execution.outcome is ExecutionOutcome.UNTRUSTED:
        return Outcome.TAMPERED, ("every test is reported to pass, but:", *execution.reasons)
    return Outcome.RESOLVED, execution.reasons


def _why(failed: Mapping[str, TestStatus | None]) -> tuple[str, ...]:
    """Up to three lines on which tests were not shown to pass."""
    by_status: dict[str, list[str]] = {}
    for test, status in failed.items():
        by_status.setdefault(status.value if status else "not seen", []).append(test)
    lines = []
    for seen, tests in by_status.items():
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        lines.append(f"{seen}: {tests[0]}{more}")
    return tuple(lines)
