"""`Score` and `TestGate`: the verdict on one patch, derived from the two gates (build spec, section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from parsimony.errors import InputError
from parsimony.records.kinds import Count, Text
from parsimony.records.record import Record


class Resolution(StrEnum):
    """Whether a patch resolves its task. There is nothing between the two."""

    RESOLVED = "resolved"
    NOT_RESOLVED = "not_resolved"


class GateVerdict(StrEnum):
    """Whether every test of a gate passed."""

    SATISFIED = "satisfied"
    VIOLATED = "violated"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestGate(Record):
    """One of the two gates of a task.

    An empty gate is satisfied, as the build spec says (`passed == total`); a task whose FAIL_TO_PASS is empty never
    gets here, because the reader of tasks rejects it.

    Attributes:
        total: tests in the gate.
        passed: FAIL_TO_PASS: tests that pass now; PASS_TO_PASS: tests that still pass.
    """

    __test__ = False  # a name that pytest would take for a test class
    ORDER: ClassVar = ("total", "passed", "verdict")

    total: Count
    passed: Count

    @property
    def verdict(self) -> GateVerdict:
        """Derived: satisfied if and only if every test of the gate passed."""
        return GateVerdict.SATISFIED if self.passed == self.total else GateVerdict.VIOLATED

    def _check(self) -> None:
        if self.passed > self.total:
            raise InputError(
                f"is {self.passed}, more than the total of {self.total}", mend="count again", field="passed"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(Record):
    """The verdict on one patch for one task.

    Attributes:
        instance_id: the task.
        patch_ref: `sha256:` of the patch bytes as submitted.
        fail_to_pass: tests that failed before the fix and must pass after it.
        pass_to_pass: tests that passed before and must still pass.
        graded_by: the harness, environment and timeout that produced this verdict.
        graded_at: epoch seconds.
    """

    ORDER: ClassVar = (
        "instance_id",
        "patch_ref",
        "resolved",
        "fail_to_pass",
        "pass_to_pass",
        "graded_by",
        "graded_at",
    )

    instance_id: Text
    patch_ref: Text
    fail_to_pass: TestGate
    pass_to_pass: TestGate
    graded_by: Text
    graded_at: Count

    @property
    def resolved(self) -> Resolution:
        """Derived: resolved if and only if both gates are satisfied."""
        gates = (self.fail_to_pass.verdict, self.pass_to_pass.verdict)
        return Resolution.RESOLVED if gates == (GateVerdict.SATISFIED,) * 2 else Resolution.NOT_RESOLVED
