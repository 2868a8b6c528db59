"""Calibrate tasks: gold × n and base × n, and what every test of the gates does under each (design §3, `reference`)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.engines import Engine
from cluster.grading import execute, judge_of, open_engine
from cluster.ledger import LedgerReader
from cluster.plan import Environment, Inputs, Plan, Work, check_pins, load, work_for
from cluster.session import Observer, Session, environments
from cluster.sweep import Sweep
from parsimony import patches
from parsimony.execution import Execution, ExecutionOutcome
from parsimony.reference import Reference, Statuses, TaskReference, judge
from parsimony.tasks import Task


@dataclass(frozen=True, slots=True)
class Calibration:
    """What calibrating found.

    Attributes:
        tasks: one reference per task that could be run.
        missing: instance id -> why a task could not.
        path: where the reference was written.
    """

    tasks: tuple[TaskReference, ...]
    missing: Mapping[str, tuple[str, ...]]
    path: Path

    @property
    def unsound(self) -> tuple[TaskReference, ...]:
        """Tasks that do not do here what their gates say."""
        return tuple(one for one in self.tasks if one.problems)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "path": str(self.path),
            "tasks": [
                {"instance_id": one.instance_id, "problems": list(one.problems), "unstable": sorted(one.unstable)}
                for one in self.tasks
            ],
            "missing": {name: list(reasons) for name, reasons in self.missing.items()},
        }


@dataclass(frozen=True, slots=True)
class Runs:
    """The keys of a task's runs."""

    task: Task
    environment: str
    gold: tuple[str, ...]
    base: tuple[str, ...]


def calibrate_tasks(
    sweep: Sweep, path: Path, observer: Observer, *, engine: Callable[[Sweep], Engine] = open_engine
) -> Calibration:
    """Run gold and base `sweep.repeats` times each and write the reference to `path`, beside what it held before.

    An interrupted calibration goes on where it stopped: until the reference is written, its runs are kept in a folder
    beside it (`NAME.calibration`).

    Args:
        engine: makes the engine; for whoever embeds this and for tests.
    """
    inputs = load(sweep, with_candidates=False)
    folder = path.with_name(path.name + ".calibration")
    with Session.open(sweep, folder) as session:
        found = asyncio.run(_run(session, engine(sweep), inputs, path, observer))
    known = Reference.read(path) if path.exists() else Reference()
    known.merged(found.tasks).write(path)
    if not found.missing:
        shutil.rmtree(folder)
    return found


async def _run(session: Session, engine: Engine, inputs: Inputs, path: Path, observer: Observer) -> Calibration:
    async with engine:
        known = await environments(session.sweep, inputs.tasks.values(), engine.environment_digest)
        runs, work, missing = plan_runs(session.sweep, inputs, known)
        recorder = session.recorder(Plan((), work), judge_of(session.sweep, inputs), observer)
        done = session.executed(work)
        pending = [key for key in work if key not in done]
        observer.planned(Plan((), work), len(pending), len(inputs.rejected))
        await execute(session, engine, recorder, pending, inputs=inputs, observer=observer)
    session.ledger.flush()
    session.before = LedgerReader(session.folder.ledger)
    executions = session.executions(set(work))
    tasks = []
    for run in runs:
        lacking = [key for key in (*run.gold, *run.base) if key not in executions]
        if lacking:
            missing[run.task.instance_id] = recorder.missing.get(lacking[0], ("interrupted; the same command goes on",))
        else:
            tasks.append(reference_of(run, executions))
    return Calibration(tuple(tasks), missing, path)


def plan_runs(
    sweep: Sweep, inputs: Inputs, known: Mapping[str | None, Environment]
) -> tuple[list[Runs], dict[str, Work], dict[str, tuple[str, ...]]]:
    """The runs of gold and base, their work by key, and the tasks that have none, with the reasons.

    Raises:
        InputError: an image is another than the one that the sweep's lock has.
    """
    check_pins(inputs, known)
    runs: list[Runs] = []
    work: dict[str, Work] = {}
    missing: dict[str, tuple[str, ...]] = {row.instance_id or row.source: (row.problem,) for row in inputs.rejected}
    for task in inputs.tasks.values():
        environment = known[task.image]
        if environment.digest is None:
            missing[task.instance_id] = (environment.problem,)
            continue
        if patches.is_blank(task.patch):
            missing[task.instance_id] = ("the row has no gold patch",)
            continue
        sides = []
        for patch in (task.patch, b""):
            side = [work_for(sweep, task, patch, environment, repeat=n) for n in range(sweep.repeats)]
            work |= {one.key: one for one in side}
            sides.append(tuple(one.key for one in side))
        runs.append(Runs(task, environment.digest, *sides))
    return runs, work, missing


def reference_of(run: Runs, executions: Mapping[str, Execution]) -> TaskReference:
    """What the executions of a task's runs say; all of them must be there."""
    task = run.task
    gold_runs = [executions[key] for key in run.gold]
    gold = _statuses(task, gold_runs)
    base = _statuses(task, [executions[key] for key in run.base])
    problems = [
        f"gold: {one.outcome.value}: {'; '.join(one.reasons)}"
        for one in gold_runs
        if one.outcome is not ExecutionOutcome.COMPLETED
    ]
    peaks = [one.usage.peak_memory_bytes for one in gold_runs if one.usage.peak_memory_bytes is not None]
    return TaskReference(
        instance_id=task.instance_id,
        task_digest=task.digest,
        gates_digest=task.gates_digest,
        environment_digest=run.environment,
        gold=gold,
        base=base,
        problems=(*dict.fromkeys(problems), *judge(task, gold, base)),
        peak_memory_bytes=max(peaks, default=None),
        seconds=max(one.usage.wall_seconds for one in gold_runs),
    )


def _statuses(task: Task, runs: Sequence[Execution]) -> dict[str, Statuses]:
    """Status of each test of the gates in each run; None where it was not seen."""
    return {
        test: tuple(run.tests[test].status if test in run.tests else None for run in runs)
        for test in (*task.fail_to_pass, *task.pass_to_pass)
    }
