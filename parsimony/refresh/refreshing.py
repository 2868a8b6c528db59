"""A refresh: ask the sources, sort what they give, keep it, write it down, bring the sets to where they belong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from parsimony.chain import Entry
from parsimony.contamination import Cutoff
from parsimony.errors import InputError, LedgerError, TemporaryError
from parsimony.refresh.admission import Desk, Sorted
from parsimony.refresh.history import REFRESHED, History, asked_of
from parsimony.refresh.model import Fetched, Offered, Source
from parsimony.refresh.rotation import Live, Rotated, rotate, strictest
from parsimony.refresh.rowstore import RowStore
from parsimony.sets import SetStore

LISTED: Final = 200
"""Rejected rows of a source that an entry of the ledger names; the others are counted."""


class Step(StrEnum):
    """What a refresh has just made durable."""

    PENDING = "pending"
    ROWS = "rows"
    LEDGER = "ledger"
    SETS = "sets"
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class Plan:
    """A refresh as it is to be.

    Attributes:
        folder: of the store.
        ledger: the ledger of sets.
        cutoffs: tasks must have been made after each of them; at least one.
        defaults: for fields that rows do not have.
    """

    live: Live
    folder: Path
    ledger: Path
    sources: Sequence[Source]
    cutoffs: Sequence[Cutoff]
    defaults: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.cutoffs:
            mend = "say after which date tasks must have been made, or after the cutoff of which models"
            raise InputError("is missing", mend=mend, field="after")
        names = [source.name for source in self.sources]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None or not names:
            problem = "is empty" if twice is None else f"holds {twice!r} twice"
            raise InputError(problem, mend="give each source a name of its own", field="sources")

    @property
    def cutoff(self) -> Cutoff:
        """The one that decides."""
        return strictest(self.cutoffs)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a source gave.

    Attributes:
        state: read, unchanged, or failed.
        error: why it failed.
    """

    source: str
    place: str
    state: str
    found: Sorted = field(default_factory=Sorted)
    error: str | None = None
    mark: Mapping[str, Any] | None = None
    asked: str = ""

    @property
    def whole(self) -> bool:
        """Whether it answered, and every row could be used."""
        return self.state != "failed" and not self.found.rejected and not self.found.conflicts

    def to_json(self) -> dict[str, Any]:
        """For the ledger. A source with rows that could not be used gives everything again the next time."""
        found = self.found
        return {
            "source": self.source,
            "place": self.place,
            "state": self.state,
            "error": self.error,
            "new": len(found.new),
            "known": found.known,
            "too_old": found.too_old,
            "rejected": len(found.rejected),
            "problems": found.rejected[:LISTED],
            "conflicts": [one.to_json() for one in found.conflicts[:LISTED]],
            "conflicting": len(found.conflicts),
            "mark": self.mark if self.whole else None,
            "asked": self.asked,
        }


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did.

    Attributes:
        entry: in the ledger; None when no source answered.
        finished: an interrupted refresh was finished first: when that one began.
    """

    answers: tuple[Answer, ...]
    rotated: Rotated
    entry: Entry | None
    finished: str | None = None

    @property
    def whole(self) -> bool:
        """Whether every source answered, and every row could be used."""
        return all(answer.whole for answer in self.answers)


def refresh(plan: Plan, now: datetime, *, after: Callable[[Step], None] = lambda _: None) -> Refreshed:
    """Refresh once. A source that fails takes nothing away; the others are read, and it is asked again the next time.

    Args:
        now: when it begins, with a zone; of two refreshes of one name the moments differ.
        after: called when a step is durable.

    Raises:
        LedgerError: store or ledger were changed by hand, or another refresh is at work.
        InputError: a set of these names is there and is another one.
    """
    rows = RowStore(plan.folder)
    with rows.locked():
        return _Refresh(plan, now, rows, SetStore.open(plan.ledger), after).run()


@dataclass(slots=True)
class _Refresh:
    """A refresh while the store is held."""

    plan: Plan
    now: datetime
    rows: RowStore
    store: SetStore
    after: Callable[[Step], None]

    def run(self) -> Refreshed:
        check_ledger(self.plan, self.rows)
        finished = self._finish()
        history = History.of(self.store.chain, self.plan.live.name)
        if history.holds(self.now.isoformat(timespec="microseconds")):
            raise InputError("is the moment of an earlier refresh", mend="refresh again", field="now")
        stored = self.rows.read(history.digests)
        added = history.added
        desk = Desk(
            {task: one.row for task, one in stored.items()},
            {task: f"{one['file']}:{one['row']}" for task, one in added.items()},
            {str(one["fingerprint"]) for one in added.values()},
            self.plan.cutoffs,
            self.now,
        )
        answers = tuple(self._ask(source, desk, history) for source in self.plan.sources)
        entry = None
        if any(answer.state != "failed" for answer in answers):
            entry = self._keep(answers)
        return Refreshed(answers, self._settle(), entry, finished)

    def _ask(self, source: Source, desk: Desk, history: History) -> Answer:
        asked = asked_of(source, self.plan.defaults, [cutoff.moment.text for cutoff in self.plan.cutoffs])
        try:
            fetched: Fetched = source.fetch(history.mark(source, asked))
        except (TemporaryError, InputError) as error:
            return Answer(source.name, source.place, "failed", error=str(error))
        found = desk.sort(fetched.offered, fetched.rejected)
        state = "unchanged" if fetched.unchanged else "read"
        return Answer(source.name, source.place, state, found, mark=fetched.mark, asked=asked)

    def _keep(self, answers: Sequence[Answer]) -> Entry:
        """Keep the new rows, and write down where they came from."""
        new = [one for answer in answers for one in answer.found.new]
        for one in new:
            if one.task.tree is not None:
                self.rows.keep_tree(one.task.tree)
        by_month: dict[str, list[str]] = {}
        for one in new:
            by_month.setdefault(_month(one), []).append(one.line.decode("ascii"))
        entry = {
            "name": self.plan.live.name,
            "refresh": self.now.isoformat(timespec="microseconds"),
            "cutoffs": [{"model": cutoff.model, "date": cutoff.moment.text} for cutoff in self.plan.cutoffs],
            "added": [_added(one) for one in new],
            "sources": [answer.to_json() for answer in answers],
        }
        work = {"entry": entry, "rows": by_month}
        self.rows.write_pending(work)
        self.after(Step.PENDING)
        return self._do(work)

    def _finish(self) -> str | None:
        """Finish what an interrupted refresh was going to do."""
        work = self.rows.read_pending()
        if work is None:
            return None
        if work["entry"].get("name") != self.plan.live.name:
            mend = f"finish it with the configuration of {work['entry'].get('name')!r}; each has a store of its own"
            raise InputError("is of another refresh", mend=mend, file=str(self.rows.pending), field="name")
        self._do(work)
        return str(work["entry"]["refresh"])

    def _do(self, work: Mapping[str, Any]) -> Entry:
        """Rows, then the entry; each unless it is there."""
        for month, lines in work["rows"].items():
            self.rows.append(month, [line.encode("ascii") for line in lines])
        self.after(Step.ROWS)
        name, began = work["entry"]["name"], work["entry"]["refresh"]
        with self.store.writing():
            known = (entry for entry in self.store.chain.entries(REFRESHED) if entry.data["refresh"] == began)
            entry = next((one for one in known if one.data["name"] == name), None)
            if entry is None:
                entry = self.store.chain.append(REFRESHED, work["entry"])
        self.after(Step.LEDGER)
        return entry

    def _settle(self) -> Rotated:
        """The sets and the task file of the live one."""
        plan, tasks = self.plan, self.rows.tasks(self.plan.defaults)
        rotated = rotate(self.store, plan.live, tasks, plan.cutoff, self.now)
        self.after(Step.SETS)
        one = self.store.state.sets.get(plan.live.live)
        active = [] if one is None else [member.task_id for member in self.store.state.active(one)]
        self.rows.write_live(tasks[name].row for name in active if name in tasks)
        self.after(Step.LIVE)
        self.rows.clear_pending()
        return rotated


def _month(one: Offered) -> str:
    created = one.task.created_at
    assert created is not None, "a row without a date does not come in"
    return created.strip()[:7]


def _added(one: Offered) -> dict[str, Any]:
    return {
        "task": one.task.instance_id,
        "created_at": one.task.created_at,
        "month": _month(one),
        "digest": one.digest,
        "fingerprint": one.fingerprint,
        **one.provenance.to_json(),
    }


def interrupted(plan: Plan) -> bool:
    """Whether a refresh was interrupted and is to be finished."""
    return RowStore(plan.folder).pending.exists()


def read_rows(plan: Plan) -> tuple[SetStore, History, RowStore]:
    """Ledger, history and store, to look at.

    Raises:
        LedgerError: one of them was changed by hand, or there is no ledger and rows are there.
    """
    store, rows = SetStore.open(plan.ledger), RowStore(plan.folder)
    check_ledger(plan, rows)
    return store, History.of(store.chain, plan.live.name), rows


def check_ledger(plan: Plan, rows: RowStore) -> None:
    """Rows without the ledger that they came in with are no store.

    Raises:
        LedgerError: so it is.
    """
    if not plan.ledger.exists() and rows.month_files() and not rows.pending.exists():
        raise LedgerError(f"{plan.ledger}: there is no ledger, and {plan.folder} holds rows; name it with --ledger")
