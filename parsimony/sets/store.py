"""The store of sets: operations on one side, the append-only ledger on the other, and nothing in between to edit."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from parsimony.chain import Chain, Entry
from parsimony.errors import InputError, LedgerCorrupt
from parsimony.records import ABComparison, Role
from parsimony.sets import state as kinds
from parsimony.sets.model import Member, TaskSet, claims
from parsimony.sets.rules import refusals
from parsimony.sets.state import VERDICTS, Compared, State, check_ground, used_with
from parsimony.tasks import Task

FINDING = "contamination.finding"


class SetStore:
    """Sets of tasks in a ledger.

    Every operation is one entry. It is checked under the lock of the ledger, against all entries that others have
    appended, and appended only when it keeps the rules (`InputError` otherwise, and the ledger is as before).

    Attributes:
        state: the sets as of the last entry that was read; see `parsimony.sets.state.State` for what to ask it.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.state = State()
        self._folded = 0
        self._catch_up()

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store in a ledger file; empty when there is no such file yet.

        Raises:
            LedgerCorrupt: the file was changed, or an entry breaks the rules of sets; names the line.
        """
        return cls(Chain.open(path))

    def refresh(self) -> None:
        """Read what others have appended. Raises as `open`."""
        self.chain.refresh()
        self._catch_up()

    def _catch_up(self) -> None:
        for entry in list(self.chain.entries())[self._folded :]:
            try:
                self.state.apply(entry)
            except InputError as error:
                mend = "it was not written by this program; put back a copy of the ledger from before that"
                raise LedgerCorrupt(f"{self.chain.path}:{entry.number}: breaks a rule ({error}); {mend}") from None
            self._folded += 1

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the ledger, with all entries of others read: what is asked of the state inside still holds when the
        operations that follow from it are appended."""
        with self.chain.writing():
            self._catch_up()
            yield

    def _commit(self, kind: str, data: Mapping[str, Any]) -> Entry:
        """Append an entry that keeps the rules. With the lock held by the caller or not."""
        with self.chain.writing():
            self._catch_up()
            trial = copy.deepcopy(self.state)
            trial.apply(Entry(len(self.chain) + 1, "1970-01-01T00:00:00Z", kind, data, "", ""))
            entry = self.chain.append(kind, data)
            self._catch_up()
            return entry

    def create(self, name: str, role: Role, tasks: Sequence[Task], source: str, *, cutoff: str | None = None) -> Entry:
        """Make a set of tasks. What rows claim of their contamination is written down as ignored, and is ignored."""
        data = {
            "set": name,
            "role": role.value,
            "source": source,
            "cutoff": cutoff,
            "members": [Member.of(task).to_json() for task in tasks],
            "ignored_claims": claims(tasks),
        }
        return self._commit(kinds.CREATED, data)

    def rotate(self, name: str, tasks: Sequence[Task], reason: str, *, cutoff: str | None = None) -> Entry:
        """Make these the tasks of a set: others in it are retired, those that are new are assigned.

        Args:
            cutoff: the set's new cutoff; None keeps the one it has.
        """
        with self.chain.writing():
            self._catch_up()
            one = self.state.named(name)
            data = {
                "set": name,
                "members": [Member.of(task).to_json() for task in tasks],
                "cutoff": one.cutoff if cutoff is None else cutoff,
                "reason": reason,
                "ignored_claims": claims(tasks),
            }
            return self._commit(kinds.ROTATED, data)

    def admit(self, name: str, tasks: Sequence[Task], reason: str, *, cutoff: str | None = None) -> Entry:
        """Assign more tasks to a set; those that are in it stay.

        Args:
            cutoff: the set's new cutoff; None keeps the one it has.
        """
        with self.chain.writing():
            self._catch_up()
            one = self.state.named(name)
            members = [*self.state.active(one), *(Member.of(task) for task in tasks)]
            data = {
                "set": name,
                "members": [member.to_json() for member in members],
                "cutoff": one.cutoff if cutoff is None else cutoff,
                "reason": reason,
                "ignored_claims": claims(tasks),
            }
            return self._commit(kinds.ROTATED, data)

    def refusals(self, one: TaskSet, tasks: Iterable[Task]) -> dict[str, str]:
        """Which tasks may not be assigned to a set (in the store, or only described), each with the reason."""
        return refusals(self.state, one, [Member.of(task) for task in tasks])

    def retire(self, name: str, tasks: Sequence[str], reason: str) -> Entry:
        """Take tasks out of a set. A task that left a holdout comes back to none."""
        return self._commit(kinds.RETIRED, {"set": name, "tasks": list(tasks), "reason": reason})

    def burn(self, name: str, tasks: Sequence[str], decision: str) -> Entry:
        """Tasks of a set were used for a decision: they are burned in every set, for good."""
        return self._commit(kinds.BURNED, {"set": name, "tasks": list(tasks), "decision": decision})

    def record_comparison(self, comparison: ABComparison, task_ids: Iterable[str], runs: Iterable[str]) -> Entry:
        """Write down a comparison. A holdout task that is compared for a second change is burned by it.

        Args:
            task_ids: the tasks that it was made on.
            runs: identities of the runs that it was made from: several comparisons of one run are one look.
        """
        tasks, sources = list(dict.fromkeys(task_ids)), sorted(set(runs))
        data = {"comparison": comparison.to_json(), "tasks": tasks, "runs": sources}
        return self._commit(kinds.COMPARED, data)

    def record_finding(self, what: str, data: Mapping[str, Any]) -> Entry:
        """Write down what an examination of contamination found (`decay`, `leak`, `gate`)."""
        return self.chain.append(FINDING, {"what": what, **data})

    def decide(self, change: str, regression: str, *, comparison: int | None = None, reason: str = "") -> Entry:
        """Decide whether a change is promoted: by the regression set's comparison, and by nothing else.

        All comparisons of the change that no decision used yet are used up by this one, and their tasks are burned;
        tasks of a holdout among them are thereby retired.

        Args:
            comparison: number of its entry; None = the newest for this change on exactly the tasks of `regression`.
        """
        with self.chain.writing():
            self._catch_up()
            compared = self._ground(change, regression, comparison)
            used = used_with(self.state, compared)
            data = {
                "change": change,
                "regression": regression,
                "comparison": compared.entry,
                "verdict": VERDICTS[compared.recommendation],
                "comparisons": [one.entry for one in used],
                "burned": sorted({task for one in used for task in one.tasks}),
                "reason": reason,
            }
            return self._commit(kinds.DECIDED, data)

    def _ground(self, change: str, regression: str, number: int | None) -> Compared:
        """The comparison that a decision stands on."""
        one, known = self.state.named(regression), self.state.comparisons
        if number is not None:
            if number not in known or known[number].change != change:
                listed = ", ".join(f"{x.entry} ({x.change})" for x in known.values()) or "none"
                mend = f"comparisons in the ledger: {listed[:400]}"
                raise InputError(f"entry {number} is no comparison of {change!r}", mend=mend, field="comparison")
            check_ground(self.state, one, known[number])
            return known[number]
        problem: InputError | None = None
        for compared in reversed([x for x in known.values() if x.change == change]):
            try:
                check_ground(self.state, one, compared)
            except InputError as error:
                problem = problem or error
            else:
                return compared
        if problem is not None:
            raise problem
        changes = sorted({x.change for x in known.values() if x.entry not in self.state.decided})
        mend = f"record one with `parsimony sets record`; undecided changes: {', '.join(map(repr, changes)) or 'none'}"
        raise InputError(f"no comparison of {change!r} is in the ledger", mend=mend, field="change")
