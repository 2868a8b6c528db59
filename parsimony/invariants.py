"""The eight invariants of the build spec, §9, checked on a run and on the code (docs/ablations.md).

Each check looks at what is there and says what it saw. Where there is nothing to look at (no ledger of sets, no audit)
an invariant is neither kept nor broken, and that is said too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from parsimony.errors import ParsimonyError
from parsimony.runs import Run, Settings, Trial
from parsimony.scorer import Outcome
from parsimony.zero_learned import LEARNED, NETWORK, offences


@dataclass(frozen=True, slots=True)
class Invariant:
    """One invariant as found.

    Attributes:
        holds: None where there was nothing to check it on.
        saw: what was looked at, or what is wrong, in words.
    """

    number: int
    name: str
    holds: bool | None
    saw: str


@dataclass(frozen=True, slots=True)
class Ground:
    """What the invariants are checked on.

    Attributes:
        rescored: by trial the outcome that today's scorer gives for its stored execution.
        unexplained: trials whose stages are neither known nor told why not.
        sets: checks the ledger of sets; None where no ledger is named. Raises what is wrong with it.
        audited: None where there is no audit, else what is wrong with it ("" = nothing).
        reported: numbers of the report that do not follow from the ledger.
    """

    run: Run
    rescored: Mapping[tuple[str, str, int, int], Outcome] = field(default_factory=dict, repr=False)
    unexplained: tuple[str, ...] = ()
    sets: Callable[[], str] | None = None
    audited: str | None = None
    reported: tuple[str, ...] = ()


def check(ground: Ground) -> list[Invariant]:
    """All eight, in the order of the build spec."""
    return [one(ground) for one in _CHECKS]


def _zero_learned(_: Ground) -> Invariant:
    found = [*offences(LEARNED), *offences(NETWORK)]
    saw = "no import on any way from a patch to a verdict reaches a learned component or the network"
    return Invariant(1, "zero learned entries in the scoring path", not found, _first(found) or saw)


def _judged(ground: Ground) -> Invariant:
    """Every verdict follows from its execution by today's scorer: nobody else had a hand in it."""
    wrong = [
        f"{_named(trial)} is {trial.outcome}, its execution says {again}"
        for trial in ground.run.trials
        if (again := ground.rescored.get((trial.task_id, trial.arm, trial.seed, trial.repeat))) is not None
        and again is not trial.outcome
    ]
    holds = None if not ground.rescored else not wrong
    saw = f"{len(ground.rescored)} verdicts follow from their stored executions"
    return Invariant(2, "produce, then be judged; never judge", holds, _first(wrong) or saw)


def _two_sided(ground: Ground) -> Invariant:
    """Resolved means both gates, whole, of the sizes that the task states."""
    wrong = []
    graded = [trial for trial in ground.run.trials if _has_gates(trial)]
    for trial in graded:
        task = ground.run.tasks.get(trial.task_id)
        gates = (trial.fail_to_pass or (0, 0)), (trial.pass_to_pass or (0, 0))
        sizes = (len(task.fail_to_pass), len(task.pass_to_pass)) if task else None
        if trial.resolved and any(passed != total for passed, total in gates):
            wrong.append(f"{_named(trial)} is resolved with {gates[0]} and {gates[1]}")
        if sizes is not None and (gates[0][1] > sizes[0] or gates[1][1] > sizes[1]):
            wrong.append(f"{_named(trial)} was graded by other gates than the task's")
    resolved = [trial for trial in ground.run.trials if trial.resolved]
    wrong += [f"{_named(trial)} is resolved without both gates" for trial in resolved if not _has_gates(trial)]
    holds = None if not graded else not wrong
    return Invariant(3, "the two-sided gate is binding", holds, _first(wrong) or f"{len(resolved)} of {len(graded)} "
                     "graded candidates are resolved, each by both gates in full")  # fmt: skip


def _has_gates(trial: Trial) -> bool:
    return bool(trial.fail_to_pass and trial.pass_to_pass)


def _attributable(ground: Ground) -> Invariant:
    holds = None if not ground.run.trials else not ground.unexplained
    saw = f"the stages of {len(ground.run.trials)} candidates are known, or it is said why not"
    return Invariant(4, "a gain is attributable", holds, _first(ground.unexplained) or saw)


def _structural(ground: Ground) -> Invariant:
    if ground.sets is None:
        return Invariant(5, "contamination is structural", None, "no ledger of sets; name one with --ledger")
    try:
        return Invariant(5, "contamination is structural", True, ground.sets())
    except ParsimonyError as error:
        return Invariant(5, "contamination is structural", False, str(error))


def _controlled(ground: Ground) -> Invariant:
    """All arms of a run are produced and graded under one configuration; only what produced them differs."""
    differing = []
    arms = list(ground.run.settings.items())
    for name in (one.name for one in fields(Settings) if one.name != "harness_version"):
        values = {arm: getattr(settings, name) for arm, settings in arms}
        if len(set(values.values())) > 1:
            told = ", ".join(f"{arm}: {value}" for arm, value in values.items())
            differing.append(f"{name} differs between arms ({told})")
    holds = None if len(arms) < 2 else not differing
    saw = f"{len(arms)} arms share model, budgets, tasks, images, limits and number of candidates"
    return Invariant(6, "comparison is controlled", holds, _first(differing) or saw)


def _audited(ground: Ground) -> Invariant:
    name = "the instrument is audited"
    if ground.audited is None:
        return Invariant(7, name, None, "no audit of these tasks is known; `parsimony audit run` makes one")
    return Invariant(
        7, name, not ground.audited, ground.audited or "every task was audited as it is now, and no audit is overdue"
    )


def _derived(ground: Ground) -> Invariant:
    saw = "every number of the summary follows from the ledger: runtime is the only witness, here as well"
    return Invariant(8, "the scoreboard reads no essays", not ground.reported, _first(ground.reported) or saw)


_CHECKS: Final = (_zero_learned, _judged, _two_sided, _attributable, _structural, _controlled, _audited, _derived)


def _named(trial: Trial) -> str:
    return f"{trial.task_id}, arm {trial.arm}, seed {trial.seed}"


def _first(wrong: Iterable[str]) -> str:
    found = list(wrong)
    return "" if not found else found[0] + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")
