"""What an audit says: checks with a verdict and evidence, by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self


class Verdict(StrEnum):
    """What came of a check; closed.

    FAIL: the task cannot be trusted to tell a fix from none; it is quarantined. FINDING: a weakness that people should
    know, which does not void the task's verdicts. NOT_MEASURED: it applies, and could not be found out.
    """

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    FINDING = "finding"
    NOT_APPLICABLE = "not_applicable"
    NOT_MEASURED = "not_measured"


class Group(StrEnum):
    """What a check looks at; the columns of the table."""

    CANARIES = "canaries"
    GOLD = "gold"
    BASE = "base"
    FLAKY = "flaky"
    IMAGE = "image"
    MUTANTS = "mutants"
    COVERAGE = "coverage"
    STATEMENT = "statement"
    CHECKLIST = "checklist"


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        id: its name: `canary.exit-zero`, `gold`, or that of the Agentic Benchmark Checklist (`T.5`).
        evidence: what was seen, in plain words.
        data: the same in numbers and names, for machines.
    """

    id: str
    group: Group
    verdict: Verdict
    evidence: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "id": self.id,
            "group": self.group.value,
            "verdict": self.verdict.value,
            "evidence": self.evidence,
            "data": dict(self.data),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `to_json` wrote."""
        return cls(data["id"], Group(data["group"]), Verdict(data["verdict"]), str(data["evidence"]), data["data"])


@dataclass(frozen=True, slots=True)
class TaskAudit:
    """What an audit says of one task.

    Attributes:
        task_digest, gates_digest, environment_digest: what it holds for; a changed task is not audited.
        audited_at: ISO 8601, UTC.
        unstable: tests that the reference takes out of the gates, with the statuses that gold and base showed.
    """

    instance_id: str
    task_digest: str
    gates_digest: str
    environment_digest: str
    audited_at: str
    checks: tuple[Check, ...]
    unstable: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed, those of the checklist apart: they repeat what the others say."""
        return tuple(c for c in self.checks if c.verdict is Verdict.FAIL and c.group is not Group.CHECKLIST)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the task is quarantined; empty when it is not."""
        return tuple(f"{check.id}: {check.evidence}" for check in self.failed)

    def of(self, group: Group) -> tuple[Check, ...]:
        """The checks of a group."""
        return tuple(check for check in self.checks if check.group is group)

    def state(self, group: Group) -> Verdict:
        """The worst verdict of a group."""
        order = (Verdict.FAIL, Verdict.FINDING, Verdict.NOT_MEASURED, Verdict.PASS)
        found = {check.verdict for check in self.of(group)}
        return next((verdict for verdict in order if verdict in found), Verdict.NOT_APPLICABLE)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "task_digest": self.task_digest,
            "gates_digest": self.gates_digest,
            "environment_digest": self.environment_digest,
            "audited_at": self.audited_at,
            "quarantined": bool(self.reasons),
            "reasons": list(self.reasons),
            "unstable": {test: dict(seen) for test, seen in self.unstable.items()},
            "checks": [check.to_json() for check in self.checks],
        }

    @classmethod
    def from_json(cls, instance_id: str, data: Mapping[str, Any]) -> Self:
        """What `to_json` wrote."""
        return cls(
            instance_id,
            data["task_digest"],
            data["gates_digest"],
            data["environment_digest"],
            data["audited_at"],
            tuple(Check.from_json(one) for one in data["checks"]),
            data["unstable"],
        )
