"""Everything that a night's reports say, gathered once: page, JUnit, Markdown, screen and JSON tell the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from parsimony.nightly.book import Book, Conclusion, State
from parsimony.nightly.flips import Flip, History
from parsimony.nightly.model import Night
from parsimony.nightly.owners import Owners


@dataclass(frozen=True, slots=True)
class Point:
    """One date of the trend.

    Attributes:
        state: as concluded, `missed` for a night that did not take place.
        arms: by name `rate`, `interval`, `bounds`, `missing`, `cost`; empty where nothing was graded.
        worse: arms that are significantly worse than the baseline was.
        baseline: whether it is the accepted baseline now; accepted: whether it was accepted and not taken back.
    """

    day: date
    state: str
    arms: Mapping[str, Mapping[str, Any]]
    baseline: bool = False
    accepted: bool = False
    reasons: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()


def points(book: Book, missed: Iterable[date], until: date | None = None) -> tuple[Point, ...]:
    """The trend up to a date, the oldest first, missed nights among the others."""
    accepted, baseline = set(book.accepted), book.baseline
    found = [
        Point(day, one.state.value, one.data["arms"], day == baseline, day in accepted, one.reasons, _worse(one))
        for day, one in book.conclusions.items()
    ]
    found += [Point(day, "missed", {}) for day in missed]
    return tuple(sorted((p for p in found if until is None or p.day <= until), key=lambda point: point.day))


def _worse(one: Conclusion) -> tuple[str, ...]:
    compared = one.data["comparisons"]
    return tuple(arm["arm"] for arm in compared if arm["significant"] == "yes" and arm["delta"] < 0)


def suspects(trend: Sequence[Point], last_good: date | None) -> tuple[Point, ...]:
    """The nights since the last good one up to the first regression: what broke came in one of these. Nights that were
    missed or void, or had no verdict on everything, widen the range."""
    since = [point for point in trend if last_good is None or point.day > last_good]
    first = next((n for n, point in enumerate(since) if point.state == State.REGRESSION), len(since))
    return tuple(since[: first + 1])


@dataclass(frozen=True, slots=True)
class Account:
    """A night and what it is seen against.

    Attributes:
        name: of the nightly.
        conclusion: of the night.
        night: its record; None where nothing was graded (a canary voided it first).
        histories: of its tasks, over the window. window: how many nights that is at most.
        trend: dates up to this night.
        suspects: for a regression, see `suspects`.
        last_good: the night before the first suspect; None where there is none.
        notes: what else a reader must know.
    """

    name: str
    conclusion: Conclusion
    night: Night | None
    histories: tuple[History, ...]
    window: int
    trend: tuple[Point, ...]
    owners: Owners
    last_good: date | None = None
    notes: tuple[str, ...] = ()

    @property
    def day(self) -> date:
        """Of the night."""
        return self.conclusion.day

    @property
    def suspects(self) -> tuple[Point, ...]:
        """See the class."""
        return suspects(self.trend, self.last_good)

    def owner(self, task: str, repo: str) -> str:
        """The owner, or that nobody is named."""
        return self.owners.of(task, repo) or "no owner"

    def of_kind(self, kind: Flip) -> tuple[History, ...]:
        """The histories of a kind."""
        return tuple(one for one in self.histories if one.kind is kind)

    @property
    def broken(self) -> tuple[History, ...]:
        """Newly broken tasks, the newest first."""
        found = self.of_kind(Flip.NEWLY_BROKEN)
        return tuple(sorted(found, key=lambda one: (-(one.changed or self.day).toordinal(), one.task_id, one.arm)))

    @property
    def quarantined(self) -> list[tuple[str, str, Sequence[str]]]:
        """Quarantined tasks with owner and reasons."""
        if self.night is None:
            return []
        return [(task, self.owner(task, one["repo"]), one["reasons"]) for task, one in self.night.quarantined.items()]

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        state, data = self.conclusion.state, self.conclusion.data
        range_ = self.suspects if state is State.REGRESSION else ()
        return {
            "name": self.name,
            "date": str(self.day),
            "state": state.value,
            "baseline": data["baseline"],
            "reasons": list(self.conclusion.reasons),
            "missing": data["missing"],
            "comparisons": data["comparisons"],
            "arms": data["arms"],
            "last_good": None if self.last_good is None else str(self.last_good),
            "suspects": [{"date": str(point.day), "state": point.state} for point in range_],
            "newly_broken": [self._flip(one) for one in self.broken],
            "flaky": [self._flip(one) for one in self.of_kind(Flip.FLAKY)],
            "mended": [self._flip(one) for one in self.of_kind(Flip.MENDED)],
            "quarantined": [
                {"task_id": task, "owner": owner, "reasons": list(reasons)} for task, owner, reasons in self.quarantined
            ],
            "missed": [str(point.day) for point in self.trend if point.state == "missed"],
            "notes": list(self.notes),
        }

    def _flip(self, one: History) -> dict[str, Any]:
        return {
            "task_id": one.task_id,
            "arm": one.arm,
            "owner": self.owner(one.task_id, one.repo),
            "changed": None if one.changed is None else str(one.changed),
            "last_good": None if one.last_good is None else str(one.last_good),
            "same_patches": one.same_patches,
            "nights": one.marks,
        }
