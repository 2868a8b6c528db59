"""Which arms are compared, and on what: the same tasks and the same seeds on both sides, or a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from parsimony.ab.cells import Grid, make_grid
from parsimony.ab.frozen import narrowed
from parsimony.errors import InputError
from parsimony.runs import Run

_SHOWN = 5
"""How many names a message lists."""


@dataclass(frozen=True, slots=True)
class Source:
    """A run to take arms from.

    Attributes:
        images: digest by image of the environments that graded it; empty where nobody knows.
    """

    run: Run
    images: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))

    def grid(self, arm: str, label: str | None = None) -> Grid:
        """An arm of the run.

        Raises:
            InputError: it has none of that name.
        """
        if arm not in self.run.arms:
            known = ", ".join(repr(name) for name in self.run.arms)
            raise InputError(f"has no arm {arm!r}", mend=f"it has {known}", file=self.run.source)
        return make_grid(label or arm, self.run.settings[arm], self.run.of(arm), self.run.tasks)


def choose(run: Run, baseline: str | None, candidates: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The baseline and the candidates of one run.

    Without names, the baseline is the arm called `baseline`, or the first of two; the candidates are all others.

    Raises:
        InputError: there are not two arms, no name says which is the baseline, or a name is no arm.
    """
    arms = run.arms
    listed = ", ".join(repr(arm) for arm in arms)
    if len(arms) < 2:
        mend = "name a second run, or grade a second arm"
        raise InputError(f"has the one arm {listed}; a comparison needs two", mend=mend, file=run.source)
    if baseline is None:
        others = [arm for arm in arms if arm not in candidates]
        if "baseline" in others:
            baseline = "baseline"
        elif len(others) == 1 or (len(arms) == 2 and not candidates):
            baseline = others[0]
        else:
            raise InputError(f"has the arms {listed}", mend="name one with --baseline", file=run.source)
    chosen = tuple(candidates) or tuple(arm for arm in arms if arm != baseline)
    for arm in (baseline, *chosen):
        if arm not in arms:
            raise InputError(f"has no arm {arm!r}", mend=f"it has {listed}", file=run.source)
    if baseline in chosen or len(set(chosen)) != len(chosen):
        twice = baseline if baseline in chosen else next(arm for arm in chosen if chosen.count(arm) > 1)
        raise InputError(f"names the arm {twice!r} twice", mend="compare different arms", file=run.source)
    return baseline, chosen


def only_arm(run: Run, named: str | None, role: str) -> str:
    """The arm of a run that stands for one side: the named one, the only one, or the one called like its role.

    Args:
        role: `baseline` or `candidate`.

    Raises:
        InputError: there are several.
    """
    if named is not None:
        return named
    if len(run.arms) == 1:
        return run.arms[0]
    if role in run.arms:
        return role
    listed = ", ".join(repr(arm) for arm in run.arms) or "no arm"
    raise InputError(f"has {listed}", mend=f"name one with --{role}", file=run.source)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two arms on one grid of tasks and seeds. `notes` say in words what was left out to get there."""

    baseline: Grid
    candidate: Grid
    notes: tuple[str, ...] = ()


def align(
    baseline: Grid,
    candidate: Grid,
    *,
    common: bool = False,
    images: tuple[Mapping[str, str | None], Mapping[str, str | None]] = (MappingProxyType({}), MappingProxyType({})),
) -> Pair:
    """Both arms on one grid.

    Args:
        common: keep the tasks and seeds that both have, and the tasks that have every seed.
        images: of `Source`, for the baseline and the candidate.

    Raises:
        InputError: tasks or seeds differ, or some tasks have fewer seeds than others, and `common` is not given; or
            nothing is shared.
    """
    tasks = [name for name in baseline.tasks if name in set(candidate.tasks)]
    seeds = [seed for seed in baseline.seeds if seed in set(candidate.seeds)]
    notes: list[str] = []
    for what, kept, ours, theirs in (
        ("task", tasks, baseline.tasks, candidate.tasks),
        ("seed", seeds, baseline.seeds, candidate.seeds),
    ):
        notes += _left_out(what, kept, (baseline.label, ours), (candidate.label, theirs), common=common)
    whole = [t for t in tasks if all((t, s) in baseline.cells or (t, s) in candidate.cells for s in seeds)]
    if len(whole) != len(tasks):
        short = next(t for t in tasks if t not in set(whole))
        told = f"{len(tasks) - len(whole)} of {len(tasks)} tasks were not planned for every seed, for example {short}"
        if not common:
            mend = "plan every task for every seed, or give --common to keep the tasks that have every seed"
            raise InputError(told, mend=mend, field="seeds")
        notes.append(f"left out: {told}")
    if not whole:
        raise InputError("the arms share no task that has every seed", mend="compare arms of the same tasks")
    if not common:
        return Pair(_on(baseline, whole, seeds), _on(candidate, whole, seeds))
    return Pair(_cut(baseline, whole, seeds, images[0]), _cut(candidate, whole, seeds, images[1]), tuple(notes))


def _left_out(
    what: str,
    kept: Sequence[object],
    ours: tuple[str, Iterable[object]],
    theirs: tuple[str, Iterable[object]],
    *,
    common: bool,
) -> list[str]:
    """What only one side has, in words; a refusal when that was not asked for."""
    notes = []
    for label, names in (ours, theirs):
        extra = [name for name in names if name not in set(kept)]
        if extra:
            shown = ", ".join(str(name) for name in extra[:_SHOWN]) + (", …" if len(extra) > _SHOWN else "")
            notes.append(f"only {label!r} has the {what}{'s' if len(extra) > 1 else ''} {shown}")
    if notes and (not common or not kept):
        mend = f"give --common to compare on the {what}s that both have" if kept else f"compare arms that share {what}s"
        raise InputError("; ".join(notes), mend=mend, field=f"{what}s")
    return [f"left out: {note}" for note in notes]


def _on(grid: Grid, tasks: Sequence[str], seeds: Sequence[int]) -> Grid:
    """The grid in the given order of tasks."""
    same = grid.tasks == tuple(tasks) and grid.seeds == tuple(seeds)
    return grid if same else replace(grid, tasks=tuple(tasks), seeds=tuple(seeds))


def _cut(grid: Grid, tasks: Sequence[str], seeds: Sequence[int], images: Mapping[str, str | None]) -> Grid:
    part = grid.restricted(tasks, seeds)
    return replace(part, settings=narrowed(grid.settings, grid, part, images))
