"""The ledger of nights: what came of each, which was accepted as the baseline, and what was rolled back.

It is an append-only chain (`parsimony.chain`). Everything about the baseline is read off it: accepting pushes a night,
rolling back takes the newest one off, so that the baseline is again the accepted one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from parsimony.canonical import canonical_json
from parsimony.chain import Chain, Entry
from parsimony.errors import InputError

FILE: Final = "nights.jsonl"
"""Name of the ledger in the folder of nights."""
ACCEPTED: Final = "night.accepted"
ROLLED_BACK: Final = "night.rolled_back"


class State(StrEnum):
    """What came of a night.

    `PASSED`: every verdict is there, the canaries hold, and nothing is significantly worse than the baseline.
    `REGRESSION`: an arm is. `VOID`: a canary was graded wrong, so that no verdict of the night counts. `INCOMPLETE`:
    verdicts are missing. `REFUSED`: it cannot be compared with the baseline (unequal frozen configs).
    """

    PASSED = "passed"
    REGRESSION = "regression"
    VOID = "void"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"

    @property
    def final(self) -> bool:
        """Whether the night is over: the others go on when they are started again."""
        return self in {State.PASSED, State.REGRESSION, State.VOID}


_KINDS: Final = {f"night.{state.value}": state for state in State}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What came of one night.

    Attributes:
        data: what the entry holds: `date`, `baseline`, `reasons`, `missing`, `night` and `outcomes` (digests of the
            night's files; null where there is none), `arms`, `comparisons`.
        number: of the entry. at: when it was appended.
    """

    day: date
    state: State
    data: Mapping[str, Any]
    number: int
    at: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not passed, or what must be known of it."""
        return tuple(self.data["reasons"])


class Book:
    """The ledger of the nights of one name."""

    def __init__(self, chain: Chain, name: str) -> None:
        self.chain = chain
        self.name = name

    @classmethod
    def open(cls, path: Path, name: str, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Book:
        """The ledger in `path`; an empty one when nothing is there yet.

        Raises:
            LedgerCorrupt: a line was edited, removed, added or moved.
            InputError: it is the ledger of nights of another name.
        """
        book = cls(Chain.open(path, clock=clock), name)
        for entry in book.chain.entries():
            if entry.kind.startswith("night.") and entry.data["name"] != name:
                mend = f"give {name!r} a folder of nights of its own"
                raise InputError(f"is the ledger of nights of {entry.data['name']!r}", mend=mend, file=str(path))
        return book

    @property
    def conclusions(self) -> dict[date, Conclusion]:
        """By date, in the order of dates: the newest entry of each."""
        found = {}
        for entry in self.chain.entries():
            if entry.kind in _KINDS:
                day = date.fromisoformat(entry.data["date"])
                found[day] = Conclusion(day, _KINDS[entry.kind], entry.data, entry.number, entry.at)
        return dict(sorted(found.items()))

    @property
    def accepted(self) -> tuple[date, ...]:
        """The accepted nights that have not been rolled back, the newest last."""
        return tuple(date.fromisoformat(entry.data["date"]) for entry in self._stack())

    @property
    def baseline(self) -> date | None:
        """The last accepted night."""
        return next(reversed(self.accepted), None)

    def outcomes_of(self, day: date) -> str | None:
        """Digest that the outcomes of a night had when it was accepted last; None where it is not accepted."""
        found = [entry.data["outcomes"] for entry in self._stack() if entry.data["date"] == str(day)]
        return found[-1] if found else None

    def conclude(self, state: State, data: Mapping[str, Any], *, accept: str | None = None) -> Conclusion:
        """Write down what came of a night, once: a night that is over stays what it is, and the very same conclusion
        again adds nothing.

        Args:
            data: see `Conclusion`; `name` is added.
            accept: why the night becomes the baseline at once; None where it does not.
        """
        day = date.fromisoformat(data["date"])
        told = {"name": self.name, **data}
        with self.chain.writing():
            before = self.conclusions.get(day)
            entries: list[tuple[str, Mapping[str, Any]]] = []
            if before is None or not (before.state.final or _same(before, state, told)):
                entries.append((f"night.{state.value}", told))
            elif not self._torn_off(before):
                return before
            if accept is not None:
                entries.append((ACCEPTED, self._acceptance(day, accept, told["outcomes"], by_rule=True)))
            self.chain.extend(entries)
        return self.conclusions[day]

    def _torn_off(self, one: Conclusion) -> bool:
        """Whether nothing follows a passed night: what accepts it may have been lost with the machine."""
        last = [entry for entry in self.chain.entries() if entry.kind.startswith("night.")][-1]
        return one.state is State.PASSED and last.number == one.number

    def accept(self, day: date, why: str, outcomes: str | None) -> Entry | None:
        """Make a night the baseline; None where it is already.

        Args:
            outcomes: digest of its outcomes as they are now.

        Raises:
            InputError: there is no such night, it is void, or verdicts are missing; or no reason is given.
        """
        _check_why(why)
        with self.chain.writing():
            found = self.conclusions.get(day)
            if found is None:
                known = ", ".join(map(str, self.conclusions)) or "none"
                raise InputError(f"is {day}, which has no outcome", mend=f"there are {known}", field="DATE")
            if found.state is State.VOID:
                mend = "accept a night whose canaries hold"
                raise InputError(f"is {day}, which is void: {'; '.join(found.reasons)}", mend=mend, field="DATE")
            if found.data["missing"] or outcomes is None:
                mend = "run the night again to grade the rest; a baseline with gaps decides nothing"
                raise InputError(f"is {day}, which has missing verdicts", mend=mend, field="DATE")
            if self.baseline == day and self.outcomes_of(day) == outcomes:
                return None
            return self.chain.append(ACCEPTED, self._acceptance(day, why, outcomes, by_rule=False))

    def rollback(self, why: str) -> tuple[date, date]:
        """Make the accepted night before the baseline again. Returns the one that was taken back, and the new one.

        Raises:
            InputError: there is none before, or no reason is given.
        """
        _check_why(why)
        with self.chain.writing():
            stack = self.accepted
            if len(stack) < 2:
                problem = "has no accepted night before the baseline" if stack else "has no accepted night"
                mend = "accept another night with `parsimony nightly accept`"
                raise InputError(problem, mend=mend, file=str(self.chain.path))
            data = {"name": self.name, "date": str(stack[-1]), "baseline": str(stack[-2]), "why": why.strip()}
            self.chain.append(ROLLED_BACK, data)
            return stack[-1], stack[-2]

    def last_good(self, before: date) -> date | None:
        """The newest night before a date that passed, or that was accepted and not taken back."""
        accepted = set(self.accepted)
        good = [
            day
            for day, one in self.conclusions.items()
            if day < before and (one.state is State.PASSED or (day in accepted and one.state is not State.VOID))
        ]
        return good[-1] if good else None

    def _acceptance(self, day: date, why: str, outcomes: str | None, *, by_rule: bool) -> dict[str, Any]:
        return {"name": self.name, "date": str(day), "why": why.strip(), "outcomes": outcomes, "by_rule": by_rule}

    def _stack(self) -> list[Entry]:
        stack: list[Entry] = []
        for entry in self.chain.entries():
            if entry.kind == ACCEPTED:
                stack.append(entry)
            elif entry.kind == ROLLED_BACK:
                stack.pop()
        return stack


def _same(before: Conclusion, state: State, told: Mapping[str, Any]) -> bool:
    return before.state is state and canonical_json(before.data) == canonical_json(told)


def _check_why(why: str) -> None:
    if not why.strip():
        raise InputError("is blank", mend="say in words why the baseline changes", field="--why")
