"""Which offered rows are new, which are known, and which may not come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from parsimony.contamination import Cutoff, Moment, gate_task
from parsimony.errors import InputError
from parsimony.refresh.model import Offered


@dataclass(frozen=True, slots=True)
class Conflict:
    """A row under a known name with another content. The row that was there first stays.

    Attributes:
        fields: those in which the two differ.
        stored: where the first one came from.
    """

    task_id: str
    place: str
    stored: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        differ = ", ".join(self.fields[:5]) + (" …" if len(self.fields) > 5 else "")
        return (
            f"{self.place}: {self.task_id!r} is here with another content than at {self.stored} (differs in {differ}); "
            "the first one stays: give the changed task another name"
        )

    def to_json(self) -> dict[str, Any]:
        """For the ledger."""
        return {"task": self.task_id, "at": self.place, "stored": self.stored, "fields": list(self.fields)}


@dataclass(slots=True)
class Sorted:
    """What came of the rows of a source.

    Attributes:
        known: how many were there already, under this name or another one.
        too_old: how many were not made after the cutoffs for certain.
        rejected: each with file, row, field and mend.
    """

    new: list[Offered] = field(default_factory=list)
    known: int = 0
    too_old: int = 0
    rejected: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


@dataclass(slots=True)
class Desk:
    """Sorts rows against what is known, which grows with every new one.

    Attributes:
        rows: by task, the row as it is kept.
        places: by task, where that came from.
        fingerprints: of all of them.
        now: a task that was made later is none.
    """

    rows: dict[str, Mapping[str, Any]]
    places: dict[str, str]
    fingerprints: set[str]
    cutoffs: Sequence[Cutoff]
    now: datetime

    def sort(self, offered: Iterable[Offered], rejected: Iterable[str] = ()) -> Sorted:
        """Sort the rows of a source, in their order."""
        found = Sorted(rejected=list(rejected))
        for one in offered:
            self._sort(one, found)
        return found

    def _sort(self, one: Offered, found: Sorted) -> None:
        name = one.task.instance_id
        if name in self.rows:
            differing = _differences(self.rows[name], one.row)
            if differing:
                found.conflicts.append(Conflict(name, str(one.provenance), self.places[name], differing))
            else:
                found.known += 1
            return
        try:
            created = created_of(one, self.now)
        except InputError as error:
            found.rejected.append(str(error.at(file=one.provenance.file, row=one.provenance.row)))
            return
        if not all(gate_task(name, created.text, cutoff).eligible for cutoff in self.cutoffs):
            found.too_old += 1
        elif one.fingerprint in self.fingerprints:
            found.known += 1
        else:
            found.new.append(one)
            self.rows[name], self.places[name] = one.row, str(one.provenance)
            self.fingerprints.add(one.fingerprint)


def created_of(one: Offered, now: datetime) -> Moment:
    """When a task was made.

    Raises:
        InputError: it does not say, it is no date, or it is still to come.
    """
    created = Moment.parse(one.task.created_at, field="created_at")
    if created.earliest > now:
        mend = "a task cannot be newer than today; mend the date, or wait"
        raise InputError(f"is {created.text!r}, which is still to come", mend=mend, field="created_at")
    return created


def _differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields in which two rows differ; a field that is null is one that is not there."""
    names = sorted(first.keys() | second.keys())
    return tuple(name for name in names if first.get(name) != second.get(name))
