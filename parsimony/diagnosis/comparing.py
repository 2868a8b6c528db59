"""Two arms side by side, stage by stage: what is a gain, and what is noise.

A measure is compared task by task (the mean over seeds and repeats of each side, tasks where both sides have it), with
repositories as clusters (Miller 2024, arXiv:2411.00640). A gain or a loss is called by the paired permutation test over
repositories, as `significant` is in a comparison of arms; over the measures of the stages its p-values are adjusted by
Holm's method, so that among many stages noise is not called a gain either. That of `resolved`, which is asked for
anyway, stands by itself. Beside them stands the 95 % interval of the cluster jackknife.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from parsimony.diagnosis.funnel import DRAWS, SEED, Funnel, funnel
from parsimony.diagnosis.measures import RESOLVED, STAGES, Measure, by_task
from parsimony.errors import InputError
from parsimony.scorecard.note import Note
from parsimony.statistics import holm, paired_difference, paired_permutation

ALPHA: Final = 0.05
FEWEST: Final = 6
"""Repositories without which no permutation test decides at 5 %: the smallest p-value of n is 2 / 2^n."""

Pairs = Mapping[str, tuple[Fraction, Fraction]]


class Change(StrEnum):
    """What a difference is. UNKNOWN: so few repositories that nothing tells it from noise."""

    GAIN = "gain"
    LOSS = "loss"
    FLAT = "flat"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure on both sides.

    Attributes:
        baseline, candidate: means over the tasks that both sides have.
        delta: candidate − baseline; low, high: its 95 % interval, None where there is none.
        p_value: of the permutation test; for the measures of stages adjusted by Holm's method.
        tasks, clusters: how many there are.
    """

    measure: Measure
    baseline: float
    candidate: float
    delta: float
    low: float | None
    high: float | None
    p_value: float
    tasks: int
    clusters: int

    @property
    def change(self) -> Change:
        """What the difference is."""
        if self.p_value < ALPHA:
            return Change.GAIN if self.delta > 0 else Change.LOSS
        return Change.UNKNOWN if self.delta and self.clusters < FEWEST else Change.FLAT


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Two arms, compared.

    Attributes:
        stages: the measures of stages that both sides have, in the order of the loop.
        resolved: the headline; None where no task has verdicts on both sides.
        warnings: what keeps the sides from being like for like.
    """

    baseline: str
    candidate: str
    stages: tuple[Difference, ...]
    resolved: Difference | None
    funnels: tuple[Funnel, Funnel]
    warnings: tuple[str, ...]


def diagnose(
    baseline: Sequence[Note], candidate: Sequence[Note], *, names: tuple[str, str], draws: int = DRAWS, seed: int = SEED
) -> Diagnosis:
    """Compare the notes of two arms.

    Args:
        names: of both, for people.
        draws, seed: of the bootstrap behind the certainty of a bottleneck.

    Raises:
        InputError: no task is on both sides.
    """
    repos = {note.task_id: note.repo or note.task_id for note in (*baseline, *candidate)}
    if not {note.task_id for note in baseline} & {note.task_id for note in candidate}:
        raise InputError("the two sides have no task in common", mend="compare runs of one set of tasks")
    pairs = [(measure, _pairs(measure, baseline, candidate)) for measure in STAGES]
    known = [(measure, found, _p_value(found, repos)) for measure, found in pairs if found]
    adjusted = holm([p_value for _, _, p_value in known])
    resolved = _pairs(RESOLVED, baseline, candidate)
    return Diagnosis(
        names[0],
        names[1],
        tuple(_difference(measure, found, repos, p) for (measure, found, _), p in zip(known, adjusted, strict=True)),
        _difference(RESOLVED, resolved, repos, _p_value(resolved, repos)) if resolved else None,
        (funnel(baseline, draws=draws, seed=seed), funnel(candidate, draws=draws, seed=seed)),
        tuple(_warnings(baseline, candidate, names)),
    )


def _pairs(measure: Measure, baseline: Sequence[Note], candidate: Sequence[Note]) -> Pairs:
    """The means of both sides by task, in the order of the baseline."""
    mine, theirs = by_task(baseline, measure), by_task(candidate, measure)
    return {task: (value, theirs[task]) for task, value in mine.items() if task in theirs}


def _p_value(pairs: Pairs, repos: Mapping[str, str]) -> float:
    before, after = zip(*pairs.values(), strict=True)
    return paired_permutation(before, after, [repos[task] for task in pairs]).p_value


def _difference(measure: Measure, pairs: Pairs, repos: Mapping[str, str], p_value: float) -> Difference:
    before, after = ([float(value) for value in side] for side in zip(*pairs.values(), strict=True))
    found = paired_difference(before, after, [repos[task] for task in pairs])
    assert found is not None, "measures without a pair are not compared"
    low, high = found.interval or (None, None)
    count = len(pairs)
    return Difference(
        measure, sum(before) / count, sum(after) / count, found.mean, low, high, p_value, count, found.clusters
    )


def _warnings(baseline: Sequence[Note], candidate: Sequence[Note], names: tuple[str, str]) -> list[str]:
    warnings = []
    sources = [sorted({note.files.source for note in side if note.files}) for side in (baseline, candidate)]
    if sources[0] != sources[1] and all(sources):
        told = (f"{' and '.join(found)} in {name}" for found, name in zip(sources, names, strict=True))
        warnings.append("localization is not like for like: from " + ", from ".join(told))
    for name, side in zip(names, (baseline, candidate), strict=True):
        unknown = sum(note.resolved is None for note in side)
        if unknown:
            warnings.append(f"{unknown} of {len(side)} verdicts of {name} are missing; they take no part")
        blind = sum(note.resolved is not None and note.files is None for note in side)
        if blind:
            warnings.append(f"{blind} of {len(side)} candidates of {name} have a verdict, but no stages are known")
    return warnings
