"""The measures of each stage, read off notes, and their means per arm. What is not known is left out of a mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from parsimony.scorecard.note import Exercised, Note


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a note.

    Attributes:
        stage: the stage of the coding loop that it belongs to.
        title: for people.
        value: gives it; None where it is not known or there is nothing to measure.
        unit: `%` for fractions, "" for counts and ranks, `s` for seconds, `$` for dollars.
    """

    stage: str
    name: str
    title: str
    value: Callable[[Note], float | None]
    unit: str = "%"


def _file_recall(note: Note) -> float | None:
    return note.files.recall if note.files else None


def _symbol_recall(note: Note) -> float | None:
    return note.symbols.recall if note.symbols else None


def _reciprocal_rank(note: Note) -> float | None:
    if note.files is None:
        return None
    return 1 / note.files.rank if note.files.rank else 0.0


def _obligations(note: Note) -> float | None:
    return note.planning.recovered if note.planning else None


def _apply(note: Note) -> float | None:
    return float(note.patching.apply) if note.patching else None


def _parse(note: Note) -> float | None:
    return _flag(note, note.patching.parse if note.patching else None)


def _build(note: Note) -> float | None:
    return _flag(note, note.patching.build if note.patching else None)


def _flag(note: Note, value: bool | None) -> float | None:
    """Of patches that apply: that others leave nothing to build or to test says only that they do not apply."""
    if note.patching is None or not note.patching.apply or value is None:
        return None
    return float(value)


def _places(note: Note) -> float | None:
    found = note.structure
    if note.patching is None or not note.patching.apply or found is None or not found.of:
        return None
    return found.places / found.of


def _correct(note: Note) -> float | None:
    return float(note.structure.correct) if note.structure else None


def _unnecessary(note: Note) -> float | None:
    return float(note.structure.unnecessary) if note.structure else None


def _bug_tests(note: Note) -> float | None:
    return _ran(note, note.bug_tests)


def _regression_tests(note: Note) -> float | None:
    return _ran(note, note.regression_tests)


def _ran(note: Note, tests: Exercised | None) -> float | None:
    return _flag(note, tests.ran == tests.of if tests is not None and tests.of else None)


def _resolved(note: Note) -> float | None:
    return None if note.resolved is None else float(note.resolved)


def _regressions(note: Note) -> float | None:
    return None if note.resolved is None or note.regressions is None else float(note.regressions)


def _robustness(note: Note) -> float | None:
    return note.robustness.rate if note.robustness else None


def _tokens(note: Note) -> float | None:
    return note.economics.tokens if note.economics else None


def _calls(note: Note) -> float | None:
    return note.economics.calls if note.economics else None


def _cpu(note: Note) -> float | None:
    return note.economics.cpu if note.economics else None


def _wall(note: Note) -> float | None:
    return note.economics.wall_time if note.economics else None


def _dollars(note: Note) -> float | None:
    micro = note.economics.micro_dollars if note.economics else None
    return None if micro is None else micro / 1_000_000


STAGES: Final = (
    Measure("localization", "file_recall", "file recall", _file_recall),
    Measure("localization", "symbol_recall", "symbol recall", _symbol_recall),
    Measure("localization", "reciprocal_rank", "1 / rank of right file", _reciprocal_rank, ""),
    Measure("planning", "obligations_recovered", "obligations recovered", _obligations),
    Measure("patching", "apply", "patches that apply", _apply),
    Measure("building", "parse", "that parse, of these", _parse),
    Measure("building", "build", "that build, of these", _build),
    Measure("structure", "places", "right places changed", _places),
    Measure("testing", "bug_tests", "bug tests all run", _bug_tests),
    Measure("testing", "regression_tests", "regression tests all run", _regression_tests),
)
"""What a stage can gain or lose."""

RESOLVED: Final = Measure("end_to_end", "resolved", "resolved", _resolved)
"""The headline, at the bottom of the hierarchy."""

ALL: Final = (
    *STAGES[:8],
    Measure("structure", "correct_entities", "right entities touched", _correct, ""),
    Measure("structure", "unnecessary_entities", "unnecessary entities touched", _unnecessary, ""),
    *STAGES[8:],
    RESOLVED,
    Measure("end_to_end", "regressions", "regressions", _regressions, ""),
    Measure("end_to_end", "robustness", "robustness", _robustness),
    Measure("economics", "tokens", "tokens", _tokens, ""),
    Measure("economics", "calls", "calls", _calls, ""),
    Measure("economics", "cpu", "CPU", _cpu, "s"),
    Measure("economics", "wall_time", "wall time", _wall, "s"),
    Measure("economics", "dollars", "dollars", _dollars, "$"),
)
"""In the order of the build spec."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a measure over the trials where it is known, and how many these are."""

    value: float | None
    trials: int


def means(notes: Iterable[Note]) -> Mapping[str, Mean]:
    """The mean of every measure, by its name."""
    known = list(notes)
    return {measure.name: _mean([value for note in known if (value := measure.value(note)) is not None])
            for measure in ALL}  # fmt: skip


def _mean(values: list[float]) -> Mean:
    return Mean(sum(values) / len(values) if values else None, len(values))


def by_task(notes: Iterable[Note], measure: Measure) -> dict[str, Fraction]:
    """The mean of a measure per task, over its seeds and repeats; tasks where it is not known are left out. Exact, so
    that permutations of it can be counted."""
    found: dict[str, list[float]] = {}
    for note in notes:
        value = measure.value(note)
        if value is not None:
            found.setdefault(note.task_id, []).append(value)
    return {task: _exact_mean(tuple(sorted(values))) for task, values in found.items()}


@lru_cache(maxsize=1 << 16)
def _exact_mean(values: tuple[float, ...]) -> Fraction:
    """The mean of ratios of small integers, which recalls, ranks and flags are."""
    return sum((Fraction(value).limit_denominator(1_000_000) for value in values), Fraction(0)) / len(values)
