"""Our own record beside each `Scorecard`: what was measured, from what, and why there is no card where there is none.

None in a measure means that it is not known, or that there is nothing to measure (`vacuous` names the latter); means
leave it out. The exact record has no such value: see `parsimony.scorecard.card`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

CUTS: Final = (1, 3, 5, 10)
"""The k of Recall@k."""


@dataclass(frozen=True, slots=True)
class Found:
    """How well files, or symbols, were found.

    Attributes:
        source: where the ranking is from: `trace`, or `patch` for what the patch touches, in its order.
        targets, ranked: how many there are to find, and how many distinct items were ranked.
        recall: among all that was ranked; rank: of the first target, 0 = never.
        recall_at: by k.
    """

    source: str
    targets: int
    ranked: int
    recall: float | None
    rank: int
    recall_at: Mapping[int, float | None]


@dataclass(frozen=True, slots=True)
class Planned:
    """Obligations: how many the task requires, how many the trace has of them. `recovered` is their fraction, None
    where the task states none, or the trace tells of none at all."""

    required: int
    matched: int
    recovered: float | None


@dataclass(frozen=True, slots=True)
class Patched:
    """Whether the patch applies, parses and builds.

    Attributes:
        build_by: what says that it builds: `build_cmd` (the task's own command), `compiler` (of Python, to byte code),
            `parser` (of another language), `nothing` where the patch changes no implementation file, or "" where it
            did not apply.
    """

    apply: bool
    parse: bool | None
    build: bool | None
    build_by: str


@dataclass(frozen=True, slots=True)
class Structured:
    """Entities that the patch touches: those that gold touches too, the others, and how many gold touches.

    Attributes:
        places: how many of the places in the base that gold changes are changed, and
        of: how many these are.
    """

    correct: int
    unnecessary: int
    gold: int
    places: int
    of: int


@dataclass(frozen=True, slots=True)
class Exercised:
    """Tests of a gate: how many were run, of how many that can be (those that gold's own runs skip are left out)."""

    ran: int
    of: int


@dataclass(frozen=True, slots=True)
class Robust:
    """Success under perturbation.

    Attributes:
        rate: resolved runs / runs with a verdict; runs: how many these are.
        source: `variants`, or `repeats` of the same candidate where there is no variant.
    """

    rate: float
    runs: int
    source: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What one candidate and its grading cost. Seconds; millionths of a US dollar; None where nobody told."""

    tokens: int | None
    calls: int | None
    cpu: float | None
    wall_time: float | None
    micro_dollars: int | None


@dataclass(frozen=True, slots=True)
class Note:
    """One trial, measured.

    Attributes:
        run_id: that of the `Scorecard`: one pass of an arm over the tasks, `RUN/ARM/SEED/REPEAT`.
        resolved: None when the verdict is missing.
        missing: why there is no `Scorecard`; empty when there is one.
        vacuous: measures of which the task has nothing to measure.
    """

    run_id: str
    task_id: str
    arm: str
    seed: int
    repeat: int
    outcome: str
    repo: str = ""
    resolved: bool | None = None
    regressions: int | None = None
    files: Found | None = None
    symbols: Found | None = None
    planning: Planned | None = None
    patching: Patched | None = None
    structure: Structured | None = None
    bug_tests: Exercised | None = None
    regression_tests: Exercised | None = None
    robustness: Robust | None = None
    economics: Spent | None = None
    missing: tuple[str, ...] = ()
    vacuous: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object."""
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}


def _plain(value: Any) -> Any:
    """A part of a note as JSON has it. Parts hold no parts, so that this needs no search for them as `asdict` makes."""
    names = getattr(type(value), "__dataclass_fields__", None)
    return {name: getattr(value, name) for name in names} if names else value
