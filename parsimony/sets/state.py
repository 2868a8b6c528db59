"""The sets as the ledger tells them: a fold over its entries, and the rules that each entry must keep.

The same function checks an entry before it is appended and every time the file is read. So there is no way into the
state but an entry that keeps the rules: whoever writes a line by hand and seals it rightly is found as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from parsimony.chain import Entry
from parsimony.errors import InputError
from parsimony.records import ABComparison, BenchmarkSet, ContaminationStatus, Recommendation, Role
from parsimony.sets.model import Member, TaskSet, parse_name, parse_source, read_members, status_of, status_of_all
from parsimony.sets.rules import may_join

CREATED: Final = "set.created"
ROTATED: Final = "set.rotated"
RETIRED: Final = "set.retired"
BURNED: Final = "set.burned"
DECIDED: Final = "set.decision"
COMPARED: Final = "comparison"

VERDICTS: Final[Mapping[Recommendation, str]] = {
    Recommendation.KEEP: "promote",
    Recommendation.PARE_BACK: "pare_back",
    Recommendation.REJECT: "reject",
}


@dataclass(frozen=True, slots=True)
class Burn:
    """Why a task is burned. `entry` is the number of the first entry that did it."""

    entry: int
    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison in the ledger."""

    entry: int
    change: str
    tasks: frozenset[str]
    runs: frozenset[str]
    recommendation: Recommendation


@dataclass(slots=True)
class State:
    """Sets, burns and comparisons up to some entry.

    Attributes:
        decided: numbers of comparisons that a decision has used up.
    """

    sets: dict[str, TaskSet] = field(default_factory=dict)
    comparisons: dict[int, Compared] = field(default_factory=dict)
    decided: dict[int, int] = field(default_factory=dict)
    _burns: dict[str, Burn] = field(default_factory=dict)  # by name or fingerprint
    _links: dict[str, set[str]] = field(default_factory=dict)  # names and fingerprints that are of one task
    _held: dict[str, set[str]] = field(default_factory=dict)  # name or fingerprint -> sets it was ever assigned to

    # ---- what is asked of it

    def same(self, *keys: str) -> set[str]:
        """All names and fingerprints that are known to be of the same task as these."""
        found, todo = set(keys), list(keys)
        while todo:
            for other in self._links.get(todo.pop(), ()):
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found

    def burn_of(self, task: Member | str) -> Burn | None:
        """The earliest burn of a task under any of its names; None when it is not burned."""
        keys = self.same(*_keys(task))
        return min((self._burns[key] for key in keys if key in self._burns), key=lambda burn: burn.entry, default=None)

    def sets_of(self, task: Member | str) -> list[tuple[TaskSet, Member]]:
        """The sets that a task was ever assigned to, under any of its names, with the member it is there."""
        keys = self.same(*_keys(task))
        names = {name for key in keys for name in self._held.get(key, ())}
        held = (one for one in self.sets.values() if one.set_id in names)
        return [(one, one.members[key]) for one in held for key in sorted(keys) if key in one.members]

    def is_active(self, one: TaskSet, task_id: str) -> bool:
        """Whether a task is in a set now. A task leaves a holdout when it is retired or burned, others when retired."""
        if task_id not in one.members or task_id in one.retired:
            return False
        return one.role is not Role.HOLDOUT_LIVE or self.burn_of(one.members[task_id]) is None

    def active(self, one: TaskSet) -> list[Member]:
        """The tasks that are in a set now, in the order of their assignment."""
        return [member for member in one.members.values() if self.is_active(one, member.task_id)]

    def status(self, one: TaskSet, task_id: str) -> ContaminationStatus:
        """The contamination status of a member of a set."""
        burned = self.burn_of(one.members[task_id]) is not None
        return status_of(one.role, one.kind, burned=burned, active=self.is_active(one, task_id))

    def record(self, one: TaskSet) -> BenchmarkSet:
        """The exact record of a set, as it stands now: its tasks are those that are in it."""
        active = self.active(one)
        statuses = [self.status(one, member.task_id) for member in active]
        return BenchmarkSet(
            set_id=one.set_id,
            role=one.role,
            task_ids=tuple(member.task_id for member in active),
            contamination_status=status_of_all(statuses, status_of(one.role, one.kind, burned=False)),
            refresh_source=one.source,
            last_decision_use=one.last_decision_use,
            burned=any(self.burn_of(member) is not None for member in active),
        )

    def compared_in(self, task: Member | str) -> int | None:
        """The number of the first comparison that a task took part in under any of its names."""
        keys = self.same(*_keys(task))
        return next((one.entry for one in self.comparisons.values() if not one.tasks.isdisjoint(keys)), None)

    def named(self, name: str) -> TaskSet:
        """A set.

        Raises:
            InputError: there is none of that name.
        """
        if name not in self.sets:
            mend = f"known: {', '.join(self.sets) or 'none; make one with `parsimony sets create`'}"
            raise InputError(f"there is no set {name!r}", mend=mend, field="name")
        return self.sets[name]

    # ---- the fold

    def apply(self, entry: Entry) -> None:
        """Take in an entry. Entries of kinds that are not about sets are passed over.

        Raises:
            InputError: it breaks a rule; the state is as it was before.
        """
        take = _TAKE.get(entry.kind)
        if take is not None:
            take(self, entry)

    def _assign(self, one: TaskSet, members: Iterable[Member]) -> None:
        for member in members:
            one.members[member.task_id] = member
            self._links.setdefault(member.task_id, set()).add(member.fingerprint)
            self._links.setdefault(member.fingerprint, set()).add(member.task_id)
            for key in _keys(member):
                self._held.setdefault(key, set()).add(one.set_id)

    def _burn(self, tasks: Iterable[str], entry: Entry, reason: str, *, decided: bool) -> None:
        """Burn tasks everywhere. Those of a holdout leave it. Where a decision did it, their sets remember when."""
        for task in tasks:
            self._burns.setdefault(task, Burn(entry.number, entry.at, reason))
            for one, member in self.sets_of(task):
                if decided:
                    one.last_decision_use = epoch(entry.at)
                if one.role is Role.HOLDOUT_LIVE:
                    one.retired.setdefault(member.task_id, entry.number)


def _keys(task: Member | str) -> tuple[str, ...]:
    return (task,) if isinstance(task, str) else (task.task_id, task.fingerprint)


def epoch(at: str) -> int:
    """Epoch seconds of an entry's time."""
    return int(datetime.fromisoformat(at).timestamp())


def _take_created(state: State, entry: Entry) -> None:
    data = entry.data
    name = parse_name(_text(data, "set"))
    if name in state.sets:
        raise InputError(f"there is a set {name!r} already", mend="give the new one a version", field="name")
    parse_source(_text(data, "source"))
    one = TaskSet(name, _role(data), data["source"], data.get("cutoff"))
    members = read_members(data.get("members"))
    may_join(state, one, members)
    state.sets[name] = one
    state._assign(one, members)


def _take_rotated(state: State, entry: Entry) -> None:
    one = state.named(_text(entry.data, "set"))
    _text(entry.data, "reason")
    members = read_members(entry.data.get("members"))
    staying = {member.task_id for member in state.active(one)}
    for member in members:
        if member.task_id not in one.members:
            continue
        if member.task_id not in staying:
            mend = "a task that left does not come back; name other tasks"
            raise InputError(f"{member.task_id!r} was retired from {one.set_id!r}", mend=mend, field="tasks")
        if one.members[member.task_id].fingerprint != member.fingerprint:
            mend = "a changed task is another task: give it another name"
            raise InputError(f"{member.task_id!r} is not the task that was assigned", mend=mend, field="tasks")
    cutoff = entry.data.get("cutoff")
    may_join(state, replace(one, cutoff=cutoff), members)
    one.cutoff = cutoff
    for task in staying - {member.task_id for member in members}:
        one.retired.setdefault(task, entry.number)
    state._assign(one, [member for member in members if member.task_id not in staying])


def _take_retired(state: State, entry: Entry) -> None:
    one = state.named(_text(entry.data, "set"))
    _text(entry.data, "reason")
    for task in _tasks_in(state, one, entry):
        one.retired.setdefault(task, entry.number)


def _take_burned(state: State, entry: Entry) -> None:
    one = state.named(_text(entry.data, "set"))
    reason = _text(entry.data, "decision")
    state._burn(_tasks_in(state, one, entry), entry, reason, decided=True)


def _tasks_in(state: State, one: TaskSet, entry: Entry) -> list[str]:
    """The tasks that an entry names; all of them are in the set now."""
    tasks = _texts(entry.data, "tasks")
    for task in tasks:
        if not state.is_active(one, task):
            state_of = "was retired from it" if task in one.retired else "is not in it"
            mend = f"in it: {', '.join(member.task_id for member in state.active(one))[:400] or 'nothing'}"
            raise InputError(f"{task!r} {state_of} ({one.set_id!r})", mend=mend, field="task")
    return tasks


def _take_comparison(state: State, entry: Entry) -> None:
    data = entry.data
    comparison = ABComparison.from_json(data.get("comparison"))
    new = Compared(
        entry.number,
        comparison.change_under_test,
        frozenset(_texts(data, "tasks")),
        frozenset(_texts(data, "runs")),
        comparison.result.recommendation,
    )
    before = list(state.comparisons.values())
    state.comparisons[entry.number] = new
    for task in sorted(new.tasks):
        looks = [old for old in before if _in(state, task, old.tasks)]
        known = any(old.change == new.change or old.runs == new.runs for old in looks)
        if looks and not known and _is_holdout(state, task):
            reason = (
                f"compared for a second change ({new.change!r}, after {looks[0].change!r} in entry {looks[0].entry})"
            )
            state._burn([task], entry, reason, decided=False)


def _is_holdout(state: State, task: str) -> bool:
    return any(one.role is Role.HOLDOUT_LIVE for one, _ in state.sets_of(task))


def _in(state: State, task: str, tasks: frozenset[str]) -> bool:
    return not tasks.isdisjoint(state.same(task))


def _take_decision(state: State, entry: Entry) -> None:
    data = entry.data
    regression = state.named(_text(data, "regression"))
    compared = state.comparisons.get(data.get("comparison", 0))
    if compared is None:
        raise InputError("there is no such comparison in the ledger", mend="record it first", field="comparison")
    check_ground(state, regression, compared)
    if data.get("verdict") != VERDICTS[compared.recommendation]:
        raise InputError.wrong(
            "verdict", data.get("verdict"), f"{VERDICTS[compared.recommendation]} by the regression set"
        )
    used = used_with(state, compared)
    if data.get("comparisons") != [one.entry for one in used]:
        raise InputError.wrong("comparisons", data.get("comparisons"), "all that were made for this change")
    burned = sorted({task for one in used for task in one.tasks})
    if data.get("burned") != burned:
        raise InputError.wrong(
            "burned", data.get("burned"), "the tasks of all comparisons that were made for this change"
        )
    for one in used:
        state.decided[one.entry] = entry.number
        state._burn(one.tasks, entry, f"decision on {compared.change!r}: {data['verdict']}", decided=True)


def check_ground(state: State, regression: TaskSet, compared: Compared) -> None:
    """A promotion stands on the regression set: on all of it, and on nothing else.

    Raises:
        InputError: it does not, or the comparison has been decided on.
    """
    if regression.role is not Role.REGRESSION:
        mend = "a change is promoted on the verdict of a regression set, and of no other"
        raise InputError(f"{regression.set_id!r} is a {regression.role} set", mend=mend, field="regression")
    if compared.entry in state.decided:
        mend = f"it was decided on in entry {state.decided[compared.entry]}; measure again"
        raise InputError(f"comparison {compared.entry} is used up", mend=mend, field="comparison")
    wanted = [member.task_id for member in state.active(regression)]
    missing = [task for task in wanted if task not in compared.tasks]
    others = sorted(compared.tasks - set(wanted))
    if missing or others or not wanted:
        said = f"leaves out {missing[:3]}" if missing else f"has other tasks: {others[:3]}"
        mend = f"compare on the {len(wanted)} tasks of {regression.set_id!r}, all of them and no others"
        raise InputError(f"comparison {compared.entry} {said}", mend=mend, field="comparison")


def used_with(state: State, compared: Compared) -> list[Compared]:
    """The comparisons that a decision uses up: all of the same change that no decision has used yet."""
    return [
        one for one in state.comparisons.values() if one.change == compared.change and one.entry not in state.decided
    ]


def _role(data: Mapping[str, Any]) -> Role:
    try:
        return Role(str(data.get("role")))
    except ValueError:
        raise InputError.wrong("role", data.get("role"), "one of " + ", ".join(Role)) from None


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError.wrong(name, value, "a text that is not blank")
    return value


def _texts(data: Mapping[str, Any], name: str) -> list[str]:
    value = data.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        raise InputError.wrong(name, value, "a list of texts")
    if len(set(value)) != len(value):
        raise InputError(f"holds {next(one for one in value if value.count(one) > 1)!r} twice", mend="once", field=name)
    return value


_TAKE: Final[Mapping[str, Callable[[State, Entry], None]]] = {
    CREATED: _take_created,
    ROTATED: _take_rotated,
    RETIRED: _take_retired,
    BURNED: _take_burned,
    DECIDED: _take_decision,
    COMPARED: _take_comparison,
}
