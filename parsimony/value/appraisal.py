"""A run in money: what each arm earned, what that took, and what a change is worth in dollars."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from parsimony.ab import Clusters
from parsimony.ab.cells import make_grid
from parsimony.ab.inference import clusters_of
from parsimony.cost_ledger import ArmCost
from parsimony.errors import InputError
from parsimony.runs import Run
from parsimony.statistics import Interval, holm, paired_permutation
from parsimony.value.earning import Earning, Key, by_task, earning
from parsimony.value.intervals import effective_number, intervals
from parsimony.value.pricelist import Worth

DRAWS: Final = 10_000
SEED: Final = 20_250_923
FEW: Final = 20
"""Effective clusters under which intervals are known to be too narrow (docs/value.md)."""


@dataclass(frozen=True, slots=True)
class ArmValue:
    """What one arm earned and what producing its candidates took.

    Attributes:
        whole: on all tasks that have a value. kinds: the same for each kind of task, where rows tell kinds.
        spent: micro-dollars of all its candidates, exact; None while the cost of one is not known.
        unknown: how many candidates' cost is not known.
    """

    arm: str
    whole: Earning
    kinds: tuple[Earning, ...]
    spent: Fraction | None
    unknown: int

    @property
    def per_dollar(self) -> tuple[Fraction, Fraction] | None:
        """Dollars earned per dollar spent; None where that is not known or was nothing."""
        if not self.spent:
            return None
        low, high = self.whole.total
        return low / self.spent, high / self.spent


@dataclass(frozen=True, slots=True)
class Contrast:
    """What a candidate arm earned more than the baseline per pass over the tasks. Units: micro-dollars.

    Attributes:
        delta: mean of a seed, candidate less baseline; the two ends differ where verdicts are missing.
        interval: 95 %, paired by task; with missing verdicts it spans both extremes.
        p_value: paired permutation of clusters, adjusted by Holm; None while a verdict of any arm is missing.
        gained, lost: sums over the tasks on which it earned more, and less; None while verdicts are missing.
    """

    baseline: str
    candidate: str
    delta: tuple[Fraction, Fraction]
    interval: Interval | None
    p_value: float | None
    gained: Fraction | None
    lost: Fraction | None


@dataclass(frozen=True, slots=True)
class Appraisal:
    """A run in money.

    Attributes:
        unvalued: tasks of the run without a value: they are in no number here.
        unused: how many values are of tasks that the run does not have.
        effective: how many clusters of equal pay would tell as much as these (`effective_number`).
    """

    name: str
    arms: tuple[ArmValue, ...]
    contrasts: tuple[Contrast, ...]
    clusters: Clusters
    draws: int
    unvalued: tuple[str, ...]
    quarantined: tuple[str, ...]
    unused: int
    effective: float

    @property
    def complete(self) -> bool:
        """Whether every number is a point: no verdict is missing, every task has a value, every cost is known."""
        known = all(not one.whole.missing and one.spent is not None for one in self.arms)
        return known and not self.unvalued


def appraise(
    run: Run,
    worths: Mapping[str, Worth],
    costs: Sequence[ArmCost],
    baseline: str | None = None,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Appraisal:
    """Appraise a run.

    Args:
        run: as it was read; its quarantined tasks are left out. worths: by task.
        costs: of its arms, from `parsimony.cost_ledger.by_arm`; their verdicts are the ones that count.
        baseline: what the other arms are set against; None = the arm called `baseline`, else the first.

    Raises:
        InputError: no task has a value, or the baseline is no arm.
    """
    planned = list(dict.fromkeys(trial.task_id for trial in run.trials if trial.task_id not in run.quarantined))
    tasks = [task for task in planned if task in worths]
    if not tasks:
        mend = "name a file of task_id,dollars with --values" if not worths else f"tasks are called like {planned[:3]}"
        raise InputError("has no task with a value", mend=mend, file=run.source)
    grid = make_grid("", run.settings[run.arms[0]], (one for one in run.trials if one.task_id in set(tasks)), run.tasks)
    clusters = clusters_of(grid)
    of = dict(zip(grid.tasks, clusters.of, strict=True))
    table = _Table(tuple(tasks), {task: worths[task] for task in tasks}, [of[task] for task in tasks], draws, seed)
    arms = [arm for one in costs if (arm := _Arm.of(one, table)).seeds]
    return Appraisal(
        run.name,
        _arm_values(arms, table),
        _contrasts(arms, baseline, table, run.source),
        clusters,
        draws,
        tuple(task for task in planned if task not in worths),
        tuple(sorted(run.quarantined)),
        len(set(worths) - set(planned) - set(run.tasks)),
        effective_number([worths[task].micro_dollars for task in tasks], table.clusters),
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """What arms are appraised on; clusters has one entry per task."""

    tasks: tuple[str, ...]
    worths: Mapping[str, Worth]
    clusters: Sequence[Hashable]
    draws: int
    seed: int

    def only(self, kind: str) -> _Table:
        """The tasks of one kind."""
        kept = [number for number, task in enumerate(self.tasks) if self.worths[task].kind == kind]
        return _Table(
            tuple(self.tasks[n] for n in kept), self.worths, [self.clusters[n] for n in kept], self.draws, self.seed
        )

    @property
    def kinds(self) -> list[str]:
        """Kinds that rows tell, sorted."""
        return sorted({kind for task in self.tasks if (kind := self.worths[task].kind) is not None})

    def intervals(self, columns: Sequence[Sequence[Fraction]]) -> list[Interval | None]:
        """Of sums over these tasks."""
        payouts = [self.worths[task].micro_dollars for task in self.tasks]
        return intervals(columns, payouts, self.clusters, draws=self.draws, seed=self.seed)


@dataclass(frozen=True, slots=True)
class _Arm:
    """An arm as the appraisal needs it."""

    name: str
    seeds: tuple[int, ...]
    verdicts: Mapping[Key, bool | None]
    cost: ArmCost

    @classmethod
    def of(cls, cost: ArmCost, table: _Table) -> _Arm:
        verdicts = {(one.task_id, one.seed): one.verdict for one in cost.each if one.task_id in table.worths}
        return cls(cost.arm, tuple(sorted({seed for _, seed in verdicts})), verdicts, cost)

    def by_task(self, table: _Table) -> tuple[list[Fraction], list[Fraction]]:
        """Mean earned per task, both extremes."""
        return by_task(table.tasks, self.seeds, self.verdicts, table.worths)


def _arm_values(arms: Sequence[_Arm], table: _Table) -> tuple[ArmValue, ...]:
    whole = _earnings(arms, table, None)
    by_kind = [_earnings(arms, table.only(kind), kind) for kind in table.kinds]
    return tuple(
        ArmValue(arm.name, whole[number], tuple(some[number] for some in by_kind), *_spent(arm.cost, table.worths))
        for number, arm in enumerate(arms)
    )


def _earnings(arms: Sequence[_Arm], table: _Table, kind: str | None) -> list[Earning]:
    """What each arm earned on the tasks of a table; the draws are the same for all arms."""
    ends = table.intervals([column for arm in arms for column in arm.by_task(table)])
    return [
        replace(
            earning(table.tasks, arm.seeds, arm.verdicts, table.worths, kind),
            interval=_spanned(ends[2 * number : 2 * number + 2]),
        )
        for number, arm in enumerate(arms)
    ]


def _spanned(ends: Sequence[Interval | None]) -> Interval | None:
    """From the lower end of the lower extreme to the upper end of the upper one."""
    low, high = ends
    return None if low is None or high is None else (low[0], high[1])


def _spent(cost: ArmCost, worths: Mapping[str, Worth]) -> tuple[Fraction | None, int]:
    """Micro-dollars of an arm's candidates for the tasks that count, and how many are not known.

    What is counted is what `parsimony cost` counts: producing, and one grading where computing has a price.
    """
    total, unknown = Fraction(0), 0
    for one in cost.each:
        if one.task_id not in worths:
            continue
        if one.llm is None or (cost.with_grading and one.compute is None):
            unknown += 1
        else:
            total += one.llm + ((one.compute or 0) if cost.with_grading else 0)
    return (None if unknown else total), unknown


def _contrasts(arms: Sequence[_Arm], baseline: str | None, table: _Table, source: str) -> tuple[Contrast, ...]:
    names = [arm.name for arm in arms]
    if baseline is not None and baseline not in names:
        raise InputError(f"has no arm {baseline!r}", mend=f"it has {', '.join(names)[:300]}", file=source)
    base = baseline or ("baseline" if "baseline" in names else names[0])
    before = next(arm for arm in arms if arm.name == base)
    bare = [_contrast(before, arm, table) for arm in arms if arm is not before]
    p_values = [one.p_value for one in bare if one.p_value is not None]
    if len(p_values) < len(bare):
        return tuple(replace(one, p_value=None) for one in bare)  # a family is adjusted whole or not at all
    return tuple(replace(one, p_value=p_value) for one, p_value in zip(bare, holm(p_values), strict=True))


def _contrast(before: _Arm, after: _Arm, table: _Table) -> Contrast:
    base, cand = before.by_task(table), after.by_task(table)
    least = [new - old for new, old in zip(cand[0], base[1], strict=True)]
    most = [new - old for new, old in zip(cand[1], base[0], strict=True)]
    whole = base[0] == base[1] and cand[0] == cand[1]
    p_value = paired_permutation(base[0], cand[0], table.clusters).p_value if whole else None
    return Contrast(
        before.name,
        after.name,
        (sum(least, Fraction(0)), sum(most, Fraction(0))),
        _spanned(table.intervals([least, most])),
        p_value,
        sum((one for one in least if one > 0), Fraction(0)) if whole else None,
        -sum((one for one in least if one < 0), Fraction(0)) if whole else None,
    )
