"""The live set: new tasks come in, those that were used or have grown old go to where they may still serve.

Everything is worked out from the store and the ledger as they are, so that what an interrupted refresh left is done by
the next one. What may be in which set is decided by the rules of sets alone.
"""

from __future__ import annotations

import calendar
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from parsimony.contamination import Cutoff, Moment, gate_task
from parsimony.errors import InputError
from parsimony.records import Role
from parsimony.sets import Member, SetStore, TaskSet, parse_name
from parsimony.tasks import Task

SOURCE: Final = "live"
"""Kind of the source of a live set."""


@dataclass(frozen=True, slots=True)
class Live:
    """What the live set is to be.

    Attributes:
        name: of the refresh; the source of the set is `live:NAME`.
        live: name of the holdout_live set.
        retired: name of the set that tasks go to when they leave.
        role: of that set: development or regression.
        window: months that a task stays; None = until it is used.
    """

    name: str
    live: str
    retired: str
    role: Role = Role.DEVELOPMENT
    window: int | None = None

    def __post_init__(self) -> None:
        parse_name(self.live)
        parse_name(self.retired)
        if self.role is Role.HOLDOUT_LIVE or self.live == self.retired:
            mend = (
                "what left a holdout is development or regression data: name such a set, and another than the live one"
            )
            raise InputError(f"is {self.retired!r}, a {self.role} set", mend=mend, field="retired")

    @property
    def source(self) -> str:
        """The `refresh_source` of the live set."""
        return f"{SOURCE}:{self.name}"

    def is_old(self, created_at: str | None, now: datetime) -> bool:
        """Whether a task may be older than the window: what its date leaves open counts against it."""
        if self.window is None or created_at is None:
            return False
        return Moment.parse(created_at, field="created_at").earliest < months_before(now, self.window)


@dataclass(frozen=True, slots=True)
class Rotated:
    """What was done to the sets.

    Attributes:
        joined: tasks that came into the live set.
        left: tasks that left it now, with the reason.
        moved: tasks that went into the set of retired ones.
        refused: tasks of the store that may not come into the live set, with the reason.
    """

    joined: tuple[str, ...]
    left: Mapping[str, str]
    moved: tuple[str, ...]
    refused: Mapping[str, str]


def strictest(cutoffs: Sequence[Cutoff]) -> Cutoff:
    """The cutoff that ends last: what is after it is after all of them."""
    return max(cutoffs, key=lambda cutoff: cutoff.moment.latest)


def rotate(store: SetStore, live: Live, tasks: Mapping[str, Task], cutoff: Cutoff, now: datetime) -> Rotated:
    """Bring the sets to where they belong.

    Args:
        tasks: all of the store, by id.
        cutoff: tasks must have been made after it.

    Raises:
        InputError: a set of these names is there and is another one.
    """
    with store.writing():
        _check(store, live)
        left = _leave(store, live, cutoff, now)
        joined, refused = _join(store, live, tasks, cutoff, now)
        moved = _move(store, live, tasks)
    return Rotated(joined, left, moved, refused)


def _check(store: SetStore, live: Live) -> None:
    known = store.state.sets
    one, other = known.get(live.live), known.get(live.retired)
    if one is not None and (one.role is not Role.HOLDOUT_LIVE or one.source != live.source):
        problem = f"{live.live!r} is a {one.role} set from {one.source}"
        raise InputError(problem, mend=f"name a new one, or the holdout_live set from {live.source}", field="set")
    if other is not None and other.role is not live.role:
        mend = f"say role: {other.role}, or name another set"
        raise InputError(f"{live.retired!r} is a {other.role} set", mend=mend, field="retired")


def _leave(store: SetStore, live: Live, cutoff: Cutoff, now: datetime) -> dict[str, str]:
    """Retire what may not stay: tasks older than the window, and those that are not after a cutoff that was moved."""
    one = store.state.sets.get(live.live)
    if one is None:
        return {}
    reasons: dict[str, list[str]] = {}
    for member in store.state.active(one):
        if live.is_old(member.created_at, now):
            reasons.setdefault(f"older than {_months(live.window)}", []).append(member.task_id)
        elif not gate_task(member.task_id, member.created_at, cutoff).eligible:
            reasons.setdefault(f"not surely after the cutoff {cutoff.moment.text}", []).append(member.task_id)
    for reason, names in reasons.items():
        store.retire(live.live, names, reason)
    return {name: reason for reason, names in reasons.items() for name in names}


def _join(
    store: SetStore, live: Live, tasks: Mapping[str, Task], cutoff: Cutoff, now: datetime
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Assign what is new to the live set, which is made with its first tasks."""
    one = store.state.sets.get(live.live)
    known = one.members if one is not None else {}
    wanted: list[Task] = []
    refused: dict[str, str] = {}
    for name, task in tasks.items():
        if name in known:
            continue
        if live.is_old(task.created_at, now):
            refused[name] = f"older than {_months(live.window)}"
        else:
            wanted.append(task)
    described = TaskSet(live.live, Role.HOLDOUT_LIVE, live.source, cutoff.moment.text)
    refused |= store.refusals(described, wanted)
    joining = [task for task in wanted if task.instance_id not in refused]
    reason = f"refreshed from {live.source}"
    if one is None and joining:
        store.create(live.live, Role.HOLDOUT_LIVE, joining, live.source, cutoff=cutoff.moment.text)
    elif one is not None and (joining or (one.cutoff != cutoff.moment.text and store.state.active(one))):
        store.admit(live.live, joining, reason, cutoff=cutoff.moment.text)
    return tuple(task.instance_id for task in joining), refused


def _move(store: SetStore, live: Live, tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """Assign what left the live set, by age or by use, to the set of retired ones, unless it serves elsewhere."""
    state, one = store.state, store.state.sets.get(live.live)
    if one is None:
        return ()
    other = state.sets.get(live.retired)
    known = other.members if other is not None else {}
    gone = [name for name in one.members if not state.is_active(one, name) and name not in known and name in tasks]
    moving = [tasks[name] for name in gone if not _serves(store, one.members[name])]
    described = other or TaskSet(live.retired, live.role, live.source, None)
    refused = store.refusals(described, moving)
    moving = [task for task in moving if task.instance_id not in refused]
    if moving and other is None:
        store.create(live.retired, live.role, moving, live.source)
    elif moving:
        store.admit(live.retired, moving, f"retired from {live.live}")
    return tuple(task.instance_id for task in moving)


def _serves(store: SetStore, member: Member) -> bool:
    """Whether a task is in some set now."""
    return any(store.state.is_active(one, there.task_id) for one, there in store.state.sets_of(member))


def months_before(moment: datetime, months: int) -> datetime:
    """The same day and time that many months earlier; the last day of that month where it has no such day."""
    number = 12 * moment.year + moment.month - 1 - months
    if number < 12:
        return datetime.min.replace(tzinfo=moment.tzinfo)
    year, month = divmod(number, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def _months(count: int | None) -> str:
    return f"{count} month" + ("" if count == 1 else "s")
