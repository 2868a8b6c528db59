"""How the store and the live set of a refresh stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from parsimony.chain import Entry
from parsimony.records import BenchmarkSet
from parsimony.refresh.history import History
from parsimony.refresh.refreshing import Plan, interrupted, read_rows
from parsimony.schedules import Schedule, State
from parsimony.sets import SetStore

STANDS = ("live", "used", "retired", "elsewhere", "waiting")
"""Where a task of the store is: in the live set; out of it, used for a decision; out of it, by age or by hand; never in
it and in another set; never in it and in none (the next refresh says why)."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a refresh stands.

    Attributes:
        months: by month in which tasks were made, how many stand where.
        tasks: by task, what is known of it.
        records: the live set and that of retired tasks, as far as they are there.
        interrupted: a refresh was, and the next one finishes it.
        last: when the newest refresh began in which every source answered.
        due, state: None without a schedule.
    """

    months: Mapping[str, Mapping[str, int]]
    tasks: Mapping[str, Mapping[str, Any]]
    records: tuple[BenchmarkSet, ...]
    entries: tuple[Entry, ...]
    interrupted: bool
    last: datetime | None
    due: datetime | None
    state: State | None

    @property
    def totals(self) -> dict[str, int]:
        """How many tasks stand where."""
        return {stand: sum(month[stand] for month in self.months.values()) for stand in STANDS}


def status(plan: Plan, schedule: Schedule | None, now: datetime) -> Status:
    """How a refresh stands at `now`. Every row is held against the ledger.

    Raises:
        LedgerError: rows or ledger were changed by hand.
    """
    store, history, rows = read_rows(plan)
    pending = interrupted(plan)
    if not pending:
        rows.read(history.digests)
    tasks = {task: {**one, **_stand(store, plan, task)} for task, one in history.added.items()}
    months: dict[str, Counter[str]] = {}
    for one in tasks.values():
        months.setdefault(str(one["month"]), Counter(dict.fromkeys(STANDS, 0)))[one["stand"]] += 1
    names = (plan.live.live, plan.live.retired)
    records = tuple(store.state.record(store.state.sets[name]) for name in names if name in store.state.sets)
    last = history.last
    return Status(
        months=dict(sorted(months.items())),
        tasks=tasks,
        records=records,
        entries=history.entries,
        interrupted=pending,
        last=last,
        due=due(history, schedule, now),
        state=None if schedule is None else schedule.state(last, now, now),
    )


def due(history: History, schedule: Schedule | None, now: datetime) -> datetime | None:
    """When the next refresh is due; now, where there was none. None without a schedule."""
    return None if schedule is None else schedule.due(history.last, now)


def _stand(store: SetStore, plan: Plan, task: str) -> dict[str, Any]:
    """Where a task stands, its contamination status there, and why it left."""
    state, one = store.state, store.state.sets.get(plan.live.live)
    if one is None or task not in one.members:
        there = next((o for o, m in state.sets_of(task) if state.is_active(o, m.task_id)), None)
        where = None if there is None else there.set_id
        return {"stand": "waiting" if there is None else "elsewhere", "set": where, "status": None, "why": None}
    status_ = state.status(one, task).value
    if state.is_active(one, task):
        return {"stand": "live", "set": one.set_id, "status": status_, "why": None}
    burn = state.burn_of(one.members[task])
    now_in = next((o.set_id for o, m in state.sets_of(task) if state.is_active(o, m.task_id)), None)
    if burn is not None:
        return {"stand": "used", "set": now_in, "status": status_, "why": burn.reason}
    entry = next(e for e in store.chain.entries() if e.number == one.retired[task])
    return {"stand": "retired", "set": now_in, "status": status_, "why": str(entry.data.get("reason", ""))}
