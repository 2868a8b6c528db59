"""Robustness: every resolved candidate graded once more under other conditions, beside its task's own fix.

A condition counts for a task only where the task's own fix resolves it under that condition: tests that need the pinned
time zone are a property of the task and say nothing about a candidate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster.plan import Environment, Inputs, Unit, Work, work_for
from cluster.recorder import Judge
from cluster.sweep import Sweep
from parsimony import patches
from parsimony.canonical import digest_bytes
from parsimony.execution import Execution
from parsimony.runner import applies
from parsimony.scorer import Outcome

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """One resolved candidate under one condition.

    Attributes:
        key: its execution. fix: that of the task's own fix under the same condition.
    """

    unit: Unit
    variant: str
    key: str
    fix: str


def plan_variants(
    sweep: Sweep, inputs: Inputs, units: Iterable[Unit], known: Mapping[str | None, Environment]
) -> tuple[list[Trial], dict[str, Work]]:
    """What is executed for the units that were resolved. Units without a fix of their task beside them are left out."""
    trials: list[Trial] = []
    work: dict[str, Work] = {}
    for unit in units:
        task, environment = unit.task, known[unit.task.image]
        if unit.candidate is None or environment.digest is None or patches.is_blank(task.patch):
            continue
        for variant in sweep.variants:
            if not applies(variant, task.log_format):
                continue
            both = [work_for(sweep, task, p, environment, variant=variant) for p in (unit.candidate.patch, task.patch)]
            work |= {one.key: one for one in both}
            trials.append(Trial(unit, variant, both[0].key, both[1].key))
    return trials, work


def variant_lines(
    trials: Sequence[Trial], work: Mapping[str, Work], executions: Mapping[str, Execution], judge: Judge
) -> list[dict[str, Any]]:
    """A line per trial. `outcome` is `missing` where there is no execution; `holds` says whether the task's own fix is
    resolved under the condition, null where that is not known."""
    outcomes = {
        key: judge.verdict(one, executions[key], digest_bytes(one.patch)).outcome if key in executions else None
        for key, one in work.items()
    }
    return [
        {
            "task_id": trial.unit.task.instance_id,
            "arm": trial.unit.arm,
            "seed": trial.unit.seed,
            "variant": trial.variant,
            "execution_key": trial.key,
            "outcome": (outcomes[trial.key] or Outcome.MISSING).value,
            "holds": None if (fix := outcomes[trial.fix]) is None else fix is Outcome.RESOLVED,
        }
        for trial in trials
    ]


def summarise(lines: Iterable[Row]) -> dict[str, dict[str, dict[str, int]]]:
    """Per arm and condition: candidates that were resolved plainly (`tried`), those still `resolved`, and those where
    the condition says nothing (`void`: the own fix fails, or an execution is missing)."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for line in lines:
        one = found.setdefault(line["arm"], {}).setdefault(line["variant"], {"tried": 0, "resolved": 0, "void": 0})
        void = not line["holds"] or line["outcome"] == Outcome.MISSING
        one["void" if void else "tried"] += 1
        one["resolved"] += not void and line["outcome"] == Outcome.RESOLVED
    return found
