"""What a set is made of, and the statuses that follow from where a task is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from parsimony.canonical import digest_bytes, digest_json
from parsimony.contamination.dates import Moment
from parsimony.errors import InputError
from parsimony.records import ContaminationStatus, Role
from parsimony.tasks import Task

SELF_REPORTED = ("contamination_status", "contamination", "burned")
"""Fields of a row that claim what only the store may say."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,99}")
_SOURCE = re.compile(r"(static|live|timestamp_gated|held_out):(\S{1,200})")


class SourceKind(StrEnum):
    """How a source keeps its tasks from being known."""

    STATIC = "static"
    LIVE = "live"
    TIMESTAMP_GATED = "timestamp_gated"
    HELD_OUT = "held_out"

    @property
    def dated(self) -> bool:
        """Whether the dates of its tasks are what makes them new."""
        return self in (SourceKind.LIVE, SourceKind.TIMESTAMP_GATED)


@dataclass(frozen=True, slots=True)
class Member:
    """A task as assigned to a set.

    Attributes:
        fingerprint: digest of what the task is, its name left out: the same task under another name is the same task.
        created_at: as the row told it when it was assigned; None where it told nothing.
    """

    task_id: str
    fingerprint: str
    created_at: str | None

    @classmethod
    def of(cls, task: Task) -> Member:
        """The member that a task becomes."""
        return cls(task.instance_id, fingerprint(task), task.created_at)

    @classmethod
    def from_json(cls, value: object) -> Member:
        """From an entry of the ledger."""
        if not isinstance(value, dict) or set(value) != {"task", "fingerprint", "created_at"}:
            raise InputError("is no task of a set", mend="it has task, fingerprint and created_at", field="members")
        texts = value["task"], value["fingerprint"], value["created_at"] or "-"
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise InputError("is no task of a set", mend="its fields are texts", field="members")
        return cls(value["task"], value["fingerprint"], value["created_at"])

    def to_json(self) -> dict[str, str | None]:
        """For the ledger."""
        return {"task": self.task_id, "fingerprint": self.fingerprint, "created_at": self.created_at}


def fingerprint(task: Task) -> str:
    """Digest of a task's content without its name."""
    return digest_json(
        {
            "repo": task.repo,
            "base_commit": task.base_commit,
            "tree": digest_bytes(task.tree) if task.tree is not None else None,
            "problem_statement": task.problem_statement,
            "patch": digest_bytes(task.patch),
            "test_patch": digest_bytes(task.test_patch),
            "gates": task.gates_digest,
        }
    )


def claims(tasks: Iterable[Task]) -> dict[str, dict[str, Any]]:
    """What rows claim about their own contamination, by task: ignored, and said so."""
    found = {}
    for task in tasks:
        told = {name: task.row[name] for name in SELF_REPORTED if task.row.get(name) is not None}
        if told:
            found[task.instance_id] = {name: str(value)[:200] for name, value in told.items()}
    return found


@dataclass(slots=True)
class TaskSet:
    """A set as the ledger tells it up to some entry.

    Attributes:
        members: all that were ever assigned, by name, in their order.
        retired: those that left, with the number of the entry that took them out.
        last_decision_use: epoch seconds, 0 = never.
    """

    set_id: str
    role: Role
    source: str
    cutoff: str | None
    members: dict[str, Member] = field(default_factory=dict)
    retired: dict[str, int] = field(default_factory=dict)
    last_decision_use: int = 0

    @property
    def kind(self) -> SourceKind:
        """The part of the source before the colon."""
        return parse_source(self.source)[0]


def parse_name(name: str) -> str:
    """The name of a set.

    Raises:
        InputError: it is none.
    """
    if not _NAME.fullmatch(name):
        mend = "use 1 to 100 letters, digits and . _ : @ + -, a letter or digit first (regression-v1)"
        raise InputError(f"is {name[:60]!r}", mend=mend, field="name")
    return name


def parse_source(source: str) -> tuple[SourceKind, str]:
    """Kind and name of a source.

    Raises:
        InputError: it is none.
    """
    match = _SOURCE.fullmatch(source)
    if match is None:
        mend = "it is static:, live:, timestamp_gated: or held_out: and a name, such as live:swe_bench_live"
        raise InputError(f"is {source[:60]!r}", mend=mend, field="source")
    return SourceKind(match[1]), match[2]


def status_of(role: Role, kind: SourceKind, *, burned: bool, active: bool = True) -> ContaminationStatus:
    """The contamination status of a task: a function of where it is, and of nothing that anybody says.

    Args:
        active: still in the set; a task that left a holdout is no holdout task any more.
    """
    if burned:
        return ContaminationStatus.KNOWN
    if role is Role.HOLDOUT_LIVE and active:
        return ContaminationStatus.CONTINUOUSLY_REFRESHED if kind.dated else ContaminationStatus.UNSEEN
    if kind is SourceKind.STATIC:
        return ContaminationStatus.KNOWN
    return ContaminationStatus.PARTIALLY_KNOWN


def status_of_all(statuses: Sequence[ContaminationStatus], empty: ContaminationStatus) -> ContaminationStatus:
    """The status of a set: that of its tasks when they agree, `partially_known` when they do not."""
    different = set(statuses)
    if len(different) == 1:
        return statuses[0]
    return ContaminationStatus.PARTIALLY_KNOWN if different else empty


def parse_cutoff(cutoff: str | None) -> Moment | None:
    """The cutoff of a set, None when it has none. Raises `InputError` for what is no date."""
    return None if cutoff is None else Moment.parse(cutoff, field="cutoff")


def read_members(value: object) -> list[Member]:
    """The members in an entry of the ledger.

    Raises:
        InputError: there are none, or one is there twice.
    """
    if not isinstance(value, list) or not value:
        raise InputError("is empty", mend="a set needs at least one task", field="tasks")
    members = [Member.from_json(one) for one in value]
    names: set[str] = set()
    prints: dict[str, str] = {}
    for member in members:
        if member.task_id in names:
            raise InputError(f"holds {member.task_id!r} twice", mend="name each task once", field="tasks")
        if member.fingerprint in prints:
            problem = f"holds one task under two names: {prints[member.fingerprint]!r} and {member.task_id!r}"
            raise InputError(problem, mend="keep one of them", field="tasks")
        names.add(member.task_id)
        prints[member.fingerprint] = member.task_id
    return members
