"""The funnel of an arm: how far its candidates come through the stages, and where most of them are lost.

A candidate that is resolved passed every stage: the executed verdict stands above everything that stands for it. Each
other one is lost at the first stage that it does not pass. The loss of a stage is conditional: lost there, of those
that came there. The bottleneck is the stage with the largest one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parsimony.scorecard.note import Note
from parsimony.statistics import wilson

DRAWS: Final = 2000
SEED: Final = 42


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: what those are that passed it, whether a candidate did, and whether that is measured at all. A stage
    of which the task has nothing to measure is passed."""

    name: str
    passed: str
    passes: Callable[[Note], bool]
    measured: Callable[[Note], bool] = lambda _: True


def _localized(note: Note) -> bool:
    return note.files is not None and note.files.recall == 1


def _planned(note: Note) -> bool:
    return not _has_plan(note) or (note.planning is not None and note.planning.recovered == 1)


def _has_plan(note: Note) -> bool:
    return note.planning is not None and note.planning.recovered is not None


def _applied(note: Note) -> bool:
    return note.patching is not None and note.patching.apply


def _built(note: Note) -> bool:
    return note.patching is not None and bool(note.patching.parse) and bool(note.patching.build)


def _right_places(note: Note) -> bool:
    return note.structure is not None and note.structure.places == note.structure.of


def _has_places(note: Note) -> bool:
    return note.structure is not None and note.structure.of > 0


def _resolved(note: Note) -> bool:
    return note.resolved is True


STAGES: Final = (
    Stage("localization", "localized", _localized),
    Stage("planning", "planned", _planned, _has_plan),
    Stage("patching", "applied", _applied),
    Stage("building", "built", _built),
    Stage("structure", "right entities", _right_places, _has_places),
    Stage("gates", "resolved", _resolved),
)


@dataclass(frozen=True, slots=True)
class Step:
    """A stage of a funnel.

    Attributes:
        came, lost: candidates that passed every stage before, and those of them that did not pass this one.
        measured: candidates (of all that are placed) of which the stage is measured; the others pass it.
        interval: 95 % Wilson interval of the loss; it treats candidates as independent.
    """

    name: str
    passed: str
    came: int
    lost: int
    measured: int
    interval: tuple[float, float] | None

    @property
    def loss(self) -> float | None:
        """The conditional loss; None where nothing came."""
        return self.lost / self.came if self.came else None


@dataclass(frozen=True, slots=True)
class Funnel:
    """How far the candidates of an arm come.

    Attributes:
        placed: candidates that can be placed; unplaced: those of which a stage is not known, or the verdict is missing.
        around: of the resolved, those that did not pass a stage in their own way (another place, another plan).
        bottleneck: the name of the stage with the largest conditional loss; None where nothing is lost.
        certainty: in how many of the draws of repositories that stage is the bottleneck, 0 to 1; None where there is
            only one repository to draw from.
    """

    placed: int
    unplaced: int
    around: int
    steps: tuple[Step, ...]
    bottleneck: str | None
    certainty: float | None

    def step(self, name: str) -> Step:
        """The step of a stage."""
        return next(step for step in self.steps if step.name == name)


def lost_at(note: Note) -> int | None:
    """The index of the stage that a candidate is lost at; None when it is resolved."""
    if note.resolved:
        return None
    return next((index for index, stage in enumerate(STAGES) if not stage.passes(note)), None)


def is_placed(note: Note) -> bool:
    """Whether all that a place in the funnel needs is known."""
    return note.resolved is not None and note.files is not None and note.patching is not None


def funnel(notes: Iterable[Note], *, draws: int = DRAWS, seed: int = SEED) -> Funnel:
    """The funnel of the candidates of one arm.

    Args:
        draws, seed: of the bootstrap over repositories (tasks where a task names none), drawn with replacement, that
            tells how sure the bottleneck is.
    """
    known = list(notes)
    placed = [note for note in known if is_placed(note)]
    lost = [lost_at(note) for note in placed]
    counts = [lost.count(index) for index in range(len(STAGES))]
    measured = [sum(map(stage.measured, placed)) for stage in STAGES]
    steps = _steps(len(placed), counts, measured)
    worst = _worst(len(placed), counts)
    around = sum(note.resolved is True and not all(stage.passes(note) for stage in STAGES) for note in placed)
    return Funnel(
        len(placed),
        len(known) - len(placed),
        around,
        steps,
        None if worst is None else STAGES[worst].name,
        None if worst is None else _certainty(placed, lost, worst, draws, seed),
    )


def _steps(placed: int, counts: Sequence[int], measured: Sequence[int]) -> tuple[Step, ...]:
    steps, came = [], placed
    for stage, lost, known in zip(STAGES, counts, measured, strict=True):
        steps.append(Step(stage.name, stage.passed, came, lost, known, wilson(lost, came) if came else None))
        came -= lost
    return tuple(steps)


def _worst(placed: int, counts: Sequence[int]) -> int | None:
    """The stage of the largest conditional loss; of equal ones that which loses most, then the earliest."""
    found, best, came = None, (0.0, 0), placed
    for index, lost in enumerate(counts):
        if came and (lost / came, lost) > best:
            found, best = index, (lost / came, lost)
        came -= lost
    return found


def _certainty(placed: Sequence[Note], lost: Sequence[int | None], worst: int, draws: int, seed: int) -> float | None:
    import numpy as np  # noqa: PLC0415 - takes a while to load

    from parsimony.resampling import draw_counts  # noqa: PLC0415

    groups = {name: index for index, name in enumerate(dict.fromkeys(note.repo or note.task_id for note in placed))}
    if len(groups) < 2:
        return None
    table: Any = np.zeros((len(groups), len(STAGES) + 1))
    for note, index in zip(placed, lost, strict=True):
        table[groups[note.repo or note.task_id], len(STAGES) if index is None else index] += 1
    hits = total = 0
    for block in draw_counts(len(groups), draws, seed):
        sums = block @ table
        came = sums[:, ::-1].cumsum(axis=1)[:, ::-1]
        losses = np.divide(sums, came, out=np.zeros_like(sums), where=came > 0)[:, : len(STAGES)]
        hits += int((losses.argmax(axis=1) == worst)[losses.max(axis=1) > 0].sum())
        total += len(sums)
    return hits / total if total else None
