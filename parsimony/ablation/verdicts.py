"""Ablations of what makes a verdict: the plane itself, the two sides of the gate, the audit of the evidence, zero-L."""

from __future__ import annotations

import difflib
from typing import Final

from parsimony.ablation.model import Ablation, Evidence, key_of
from parsimony.scorer import Outcome

PLAUSIBLE: Final = 0.5
"""Likeness to the reference from which a patch looks right to the stand-in of a learned judge."""


def plane(evidence: Evidence) -> Ablation:
    """Nothing is executed: whoever hands in a patch says that it works, and nothing says otherwise."""
    claims = [trial for trial in evidence.run.trials if trial.resolved is not None and trial.outcome != "empty_patch"]
    false = sum(not trial.resolved for trial in claims)
    return Ablation(
        0,
        "the measurement plane",
        "claims of success that executed tests refute",
        0.0 if claims else None,
        float(false) if claims else None,
        f"{len(claims)} patches claim to work; executed, {len(claims) - false} do and {false} do not",
    )


def two_sides(evidence: Evidence) -> Ablation:
    """Only FAIL_TO_PASS counts: a fix that breaks something else is recorded as resolved."""
    graded = [trial for trial in evidence.run.trials if trial.fail_to_pass and trial.pass_to_pass]
    broken = [
        trial
        for trial in graded
        if trial.outcome is Outcome.NOT_RESOLVED
        and _whole(trial.fail_to_pass)
        and not _whole(trial.pass_to_pass)
        and trial.execution_key
    ]
    lost = sum(trial.regressions or 0 for trial in broken)
    return Ablation(
        1,
        "the two-sided gate",
        "patches recorded as resolved that break passing tests",
        0.0 if graded else None,
        float(len(broken)) if graded else None,
        f"by FAIL_TO_PASS alone, {len(broken)} more candidates are resolved, which break {lost} tests",
    )


def _whole(gate: tuple[int, int] | None) -> bool:
    return gate is not None and gate[0] == gate[1]


def audit(evidence: Evidence) -> Ablation:
    """Nobody audits the instrument: a scorer that reads printed results goes unnoticed, and forgeries count."""
    executed = [trial for trial in evidence.run.trials if key_of(trial) in evidence.read_from_log]
    accepted = [trial for trial in executed if evidence.read_from_log[key_of(trial)] and not trial.resolved]
    canaries = sum(trial.outcome is Outcome.TAMPERED for trial in executed)
    honest = sum(bool(trial.resolved) for trial in executed)
    return Ablation(
        7,
        "the audit of the instrument",
        "forged successes that a scorer with a defect accepts unnoticed",
        0.0 if executed else None,
        float(len(accepted)) if executed else None,
        f"a scorer that reads the printed log accepts {len(accepted)} patches beside the {honest} that work; canaries "
        f"and witness caught {canaries} of the run's forgeries in the act",
    )


def zero_learned(evidence: Evidence) -> Ablation:
    """A judge by plausibility decides: likeness to the reference stands in for a learned grader.

    No model is called, here or anywhere; what is shown is what any grader that does not execute inherits.
    """
    wrong = judged = 0
    for trial in evidence.run.trials:
        patch, task = evidence.patches.get(key_of(trial)), evidence.run.tasks.get(trial.task_id)
        if patch is None or task is None or not task.patch or trial.resolved is None:
            continue
        judged += 1
        wrong += (likeness(patch, task.patch) >= PLAUSIBLE) != trial.resolved
    return Ablation(
        8,
        "zero learned entries in the scoring path",
        "verdicts of a judge by plausibility that execution refutes",
        0.0 if judged else None,
        float(wrong) if judged else None,
        f"judged by likeness to the reference, {wrong} of {judged} verdicts are wrong",
    )


def likeness(patch: bytes, reference: bytes) -> float:
    """How alike the changed lines of two patches are, 0 to 1."""
    ours, theirs = ([line for line in one.splitlines() if _changes(line)] for one in (patch, reference))
    return difflib.SequenceMatcher(None, ours, theirs, autojunk=False).ratio()


def _changes(line: bytes) -> bool:
    return line[:1] in {b"+", b"-"} and line[:3] not in {b"+++", b"---"}
