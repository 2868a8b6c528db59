"""Several runs of the same arms as one: more seeds, more tasks, or more repeats of the same candidates."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from parsimony.ab.frozen import row_limit
from parsimony.errors import InputError
from parsimony.runs import Run, Settings, Trial
from parsimony.tasks import Task


@dataclass(frozen=True, slots=True)
class Pooled:
    """What came of pooling. `notes` say in words what was renumbered."""

    run: Run
    notes: tuple[str, ...] = ()


def located(run: Run) -> Run:
    """The same run with paths of logs that can be opened from the current folder."""
    trials = tuple(
        replace(trial, log=os.path.join(run.source, trial.log)) if trial.log else trial  # noqa: PTH118 - 20,000 of them
        for trial in run.trials
    )
    return replace(run, trials=trials)


def pool(runs: Sequence[Run], *, common: bool = False) -> Pooled:
    """One run from several, in their order.

    A seed that comes again with other patches is another sample: it gets the next free number, the same in every arm.
    One that comes again with the same patches is the same candidates executed again: its trials become further
    repeats.

    Args:
        common: tasks need not be the same in all runs; whoever compares keeps the shared ones.

    Raises:
        InputError: a run is there twice, or an arm was not produced and graded under the same settings everywhere.
    """
    first, *others = runs
    notes: list[str] = []
    for number, run in enumerate(runs):
        if run.run_id and any(run.run_id == earlier.run_id for earlier in runs[:number]):
            raise InputError("is pooled twice", mend="name each run once", file=run.source)
    trials = list(first.trials)
    settings = dict(first.settings)
    tasks: dict[str, Task] = dict(first.tasks)
    for run in others:
        _check_same_settings(settings, run, skip=_narrowed_later(first, run) if common else set())
        _check_same_tasks(tasks, run)
        added, told = _joined(trials, run)
        trials += added
        notes += told
        settings = {**run.settings, **settings}
        tasks = {**run.tasks, **tasks}
    source = " + ".join(run.source for run in runs)
    return Pooled(Run(first.run_id, first.name, source, tasks, settings, tuple(trials)), tuple(notes))


def _check_same_settings(known: Mapping[str, Settings], run: Run, *, skip: Collection[str]) -> None:
    """Refuse a run whose arms have other settings than those of the same name in `known`.

    Raises:
        InputError: with the field and both values.
    """
    for arm, settings in run.settings.items():
        for field in fields(Settings):
            earlier = getattr(known.get(arm, settings), field.name)
            if field.name not in skip and (now := getattr(settings, field.name)) != earlier:
                problem = f"is {now!r} for arm {arm!r}, and {earlier!r} in an earlier run"
                mend = "pool only runs that were produced and graded the same way"
                if field.name == "task_set":
                    mend = "pool runs of the same tasks, or give --common to keep the tasks that have every seed"
                raise InputError(problem, mend=mend, file=run.source, field=field.name)


def _narrowed_later(first: Run, run: Run) -> set[str]:
    """Fields that follow from the tasks, and are worked out anew for those that are compared."""
    found = {"task_set", "environment_image"}
    by_rows = [{s.timeout for s in one.settings.values()} == {row_limit(one.tasks.values())} for one in (first, run)]
    return found | {"timeout"} if all(by_rows) else found


def _check_same_tasks(known: Mapping[str, Task], run: Run) -> None:
    for name, task in run.tasks.items():
        other = known.get(name)
        if other is not None and (task.digest, task.gates_digest) != (other.digest, other.gates_digest):
            mend = "grade both with one task file: a task with other tests or another base is another task"
            raise InputError(f"{name} is not the task of that name in an earlier run", mend=mend, file=run.source)


def _joined(known: Sequence[Trial], run: Run) -> tuple[list[Trial], list[str]]:
    """The trials of `run` with seeds and repeats that do not collide with `known`, and what was done in words."""
    patches = {(trial.task_id, trial.arm, trial.seed): trial.patch_ref for trial in known}
    taken: dict[tuple[str, str, int], int] = {}
    for trial in known:
        key = (trial.task_id, trial.arm, trial.seed)
        taken[key] = max(taken.get(key, 0), trial.repeat + 1)
    resampled = {
        trial.seed
        for trial in run.trials
        if (key := (trial.task_id, trial.arm, trial.seed)) in patches and patches[key] != trial.patch_ref
    }
    free = max([trial.seed for trial in (*known, *run.trials)], default=0) + 1
    renamed = {seed: free + number for number, seed in enumerate(sorted(resampled))}
    added, again = [], 0
    for trial in run.trials:
        seed = renamed.get(trial.seed, trial.seed)
        repeats = taken.get((trial.task_id, trial.arm, seed), 0)
        again += repeats > 0
        added.append(replace(trial, seed=seed, repeat=trial.repeat + repeats))
    notes = [f"seed {old} of {run.source} counts as seed {new}" for old, new in renamed.items()]
    if again:
        notes.append(f"{again} executions in {run.source} are repeats of candidates that another run graded too")
    return added, notes
