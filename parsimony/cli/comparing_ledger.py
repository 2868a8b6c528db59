"""A comparison and the ledger of sets: it is written down there, and may be called generalization or not.

A look at held-out tasks that nobody wrote down cannot count against the next one. So `parsimony compare` records every
comparison on tasks of a known set by itself, and a comparison that was kept out of the ledger is never generalization.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsimony.cli import ledgerfile

if TYPE_CHECKING:
    from parsimony import ab
    from parsimony.chain import Entry
    from parsimony.runs import Run
    from parsimony.sets import Decision, SetStore, State
    from parsimony.tasks import Task

UNRECORDED = "it was kept out of the ledger, and a look that is not written down cannot count against the next one"


@dataclass(frozen=True, slots=True)
class Place:
    """Which ledger and table of cutoffs a comparison is held against, and whether it may be written down."""

    ledger: Path
    models: Path
    record: bool = True


@dataclass(frozen=True, slots=True)
class Standing:
    """What the ledger says of one comparison.

    Attributes:
        claim: whether its result may be called generalization.
        entry: number of its entry; None when it is in no ledger.
        note: where it is written down, or why it is not, in a line.
    """

    claim: Decision
    entry: int | None
    note: str

    def as_json(self, change: str, ledger: Path) -> dict[str, Any]:
        """For the file beside the record, which itself has no room for it."""
        return {
            "change_under_test": change,
            "generalization": self.claim.allowed,
            "label": self.claim.label,
            "reasons": list(self.claim.reasons),
            "ledger": None if self.entry is None else str(ledger),
            "entry": self.entry,
            "note": self.note,
        }


def stand(found: Sequence[ab.Comparison], runs: Sequence[Run], place: Place) -> tuple[Standing, ...]:
    """Write comparisons into the ledger where their tasks are in a set, and say what each may be called.

    Args:
        runs: those that they were made from.

    Raises:
        LedgerError: the ledger was changed, or cannot be written.
    """
    from parsimony import sets

    if not place.ledger.exists():
        note = f"in no ledger: there is no {place.ledger}; `parsimony sets create` makes one, --ledger names another"
        return tuple(Standing(sets.refused(sets.NO_LEDGER), None, note) for _ in found)
    store = sets.SetStore.open(place.ledger)
    written = [_written(one, runs, store, place) for one in found]
    # Only now: a later comparison of the same runs may burn what an earlier one looked at.
    return tuple(
        Standing(_claim(one, runs, place, kept_out=kept_out), entry, note)
        for one, (entry, note, kept_out) in zip(found, written, strict=True)
    )


def _written(one: ab.Comparison, runs: Sequence[Run], store: SetStore, place: Place) -> tuple[int | None, str, bool]:
    """Number of the entry, what to say of it, and whether it should have been written down and was not."""
    tasks = {name: task for run in runs for name, task in run.tasks.items() if name in set(one.tasks)}
    names = {name: _known_as(store.state, tasks[name]) for name in one.tasks}
    if not any(names.values()):
        return None, f"in no ledger: none of its tasks is in a set of {place.ledger}", False
    if not place.record:
        return None, "in no ledger: --no-record", True
    told = [known or name for name, known in names.items()]
    sources = sorted({run.run_id or run.source for run in runs})
    before = _entry_of(store, one, told, sources)
    if before is not None:
        return before.number, f"in entry {before.number} of {place.ledger} already", False
    entry = store.record_comparison(one.record, told, sources)
    return entry.number, f"written down as entry {entry.number} of {place.ledger}", False


def _known_as(state: State, task: Task) -> str | None:
    """The name under which a set has a task: its own, else that of the same content; None when no set has it."""
    from parsimony.sets import Member

    if state.sets_of(task.instance_id):
        return task.instance_id
    same = state.sets_of(Member.of(task))
    return same[0][1].task_id if same else None


def _entry_of(store: SetStore, one: ab.Comparison, tasks: Sequence[str], runs: Sequence[str]) -> Entry | None:
    """The entry of this very comparison: to look at the same result again is no second look."""
    wanted: Mapping[str, Any] = {"comparison": one.record.to_json(), "tasks": list(tasks), "runs": list(runs)}
    return next((entry for entry in store.chain.entries("comparison") if entry.data == wanted), None)


def _claim(one: ab.Comparison, runs: Sequence[Run], place: Place, *, kept_out: bool) -> Decision:
    """Generalization when every run may be called so, on the tasks that were compared."""
    from parsimony import sets

    if kept_out:
        return sets.refused(UNRECORDED)
    compared = set(one.tasks)
    parts = [run.without([name for name in run.tasks if name not in compared]) for run in runs]
    decisions = [ledgerfile.claim_of(part, place.ledger, place.models) for part in parts]
    return next((decision for decision in decisions if not decision.allowed), decisions[-1])
