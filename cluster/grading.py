"""Grade a sweep, and make verdicts again: the order of things in a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import structlog

from cluster.agent import SandboxSpec
from cluster.budget import check_budget
from cluster.costrows import check_prices
from cluster.dispatch import Policy, RunEnding
from cluster.driver import DriveOptions, drive
from cluster.engines import CountsAgents, Engine, EngineSpec, create_engine
from cluster.forecast import Capacity, Here, forecast, read_history, write_forecast
from cluster.plan import Environment, Inputs, Plan, Unit, load, make_plan
from cluster.pricefile import read_prices
from cluster.recorder import Judge, Recorder
from cluster.rundir import read_jsonl
from cluster.sandboxchoice import sandbox_options
from cluster.session import Observer, Session, environments, environments_of_last_plan, load_report_early
from cluster.sweep import Sweep
from cluster.variants import plan_variants, variant_lines
from parsimony.errors import PermanentError, TemporaryError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Graded:
    """How a command on a run ended.

    Attributes:
        reason: why it did not complete; empty when it did.
        changed: outcomes that are not what they were before.
    """

    summary: dict[str, Any]
    ending: RunEnding
    reason: str = ""
    changed: int = 0


def open_engine(sweep: Sweep) -> Engine:
    """The engine that a sweep asks for, to be used as an asynchronous context manager."""
    spec = EngineSpec(sweep.engine.kind, address=getattr(sweep.engine, "address", None))
    return create_engine(spec, sandbox_spec(sweep), slots=slots(sweep))


def grade_sweep(
    sweep: Sweep, root: Path, observer: Observer, *, engine: Callable[[Sweep], Engine] = open_engine
) -> Graded:
    """Grade `sweep` into the folder `root`; what is durable there already is not done again.

    Args:
        engine: makes the engine; for whoever embeds this and for tests.

    Raises:
        InputError, LedgerError, SandboxUnavailable: it cannot run at all.
    """
    inputs = load(sweep)
    if sweep.prices:
        check_prices(inputs.candidates, read_prices(sweep.prices), datetime.now(UTC).date())
    check_budget(sweep, inputs.candidates, read_prices(sweep.prices))
    with Session.open(sweep, root) as session:
        return asyncio.run(_grade(session, engine(sweep), inputs, observer))


async def _grade(session: Session, engine: Engine, inputs: Inputs, observer: Observer) -> Graded:
    sweep = session.sweep
    async with engine:
        found = await environments(sweep, inputs.tasks.values(), engine.environment_digest)
        plan = make_plan(sweep, inputs, found)
        session.open_meter(plan.work)
        recorder = session.recorder(plan, judge_of(sweep, inputs), observer)
        done = session.executed(plan.work)
        pending = [key for key in plan.work if key not in done]
        session.event(
            "run.planned",
            units=len(plan.units),
            executions=len(plan.work),
            pending=len(pending),
            executed=session.before.count("execution"),
            environments={str(image): one.digest for image, one in found.items()},
        )
        observer.planned(plan, len(pending), len(inputs.rejected))
        recorder.settle(plan.units)
        score_stored(session, recorder, done)
        if pending:
            load_report_early()
            await asyncio.to_thread(_forecast, session, engine, inputs, plan, done)
        ending, reason = await execute(session, engine, recorder, pending, inputs=inputs, observer=observer)
        if pending:
            session.complete_forecast(pending)
        if sweep.variants and ending is RunEnding.COMPLETED:
            resolved = session.resolved(plan, recorder)
            ending, reason = await _grade_variants(
                session, engine, inputs, (resolved, found), before=recorder, observer=observer
            )
        # Before the engine is closed: it waits for the removal of the last sandboxes meanwhile.
        return Graded(session.write_results(plan, recorder, inputs), ending, reason)


def _forecast(session: Session, engine: Engine, inputs: Inputs, plan: Plan, done: set[str]) -> None:
    """Write down what this command is expected to take, to be held against it afterwards."""
    sweep = session.sweep
    repositories = {name: task.repo for name, task in inputs.tasks.items() if task.repo}
    history = read_history((*sweep.against, session.folder.root), repositories)
    nodes = engine.agents if isinstance(engine, CountsAgents) else 1
    images = {work.task.image for work in plan.work.values() if work.task.image is not None}
    here = Here(
        {}, dict.fromkeys(images, 0) if nodes == 1 else None, "agents tell which images they hold, not their size"
    )
    made = forecast(
        sweep,
        inputs,
        plan,
        done,
        history=history,
        here=here,
        capacity=Capacity(nodes, busy_slots(sweep)),
        prices=read_prices(sweep.prices),
    )
    write_forecast(session.folder.plan, made)


async def _grade_variants(
    session: Session,
    engine: Engine,
    inputs: Inputs,
    what: tuple[Sequence[Unit], Mapping[str | None, Environment]],
    *,
    before: Recorder,
    observer: Observer,
) -> tuple[RunEnding, str]:
    """Grade what was resolved once more under the sweep's other conditions, and write what came of it.

    Args:
        before: recorded what was resolved.
    """
    trials, work = plan_variants(session.sweep, inputs, *what)
    judge = judge_of(session.sweep, inputs)
    recorder = session.recorder(Plan((), work), judge, observer)
    recorder.charged = before.charged
    done = session.executed(work)
    pending = [key for key in work if key not in done]
    if pending:
        observer.message(f"{len(pending)} more executions under other conditions: {', '.join(session.sweep.variants)}")
        observer.planned(Plan((), work), len(pending), 0)
    ended = await execute(session, engine, recorder, pending, inputs=inputs, observer=observer)
    executions = session.executions_now(set(work))
    for trial in trials:
        for key in (trial.key, trial.fix):
            if key in executions:
                recorder.charge(trial.unit, executions[key])
    session.write_variants(variant_lines(trials, work, executions, judge))
    return ended


async def execute(
    session: Session,
    engine: Engine,
    recorder: Recorder,
    pending: Sequence[str],
    *,
    inputs: Inputs,
    observer: Observer,
) -> tuple[RunEnding, str]:
    """Have the `pending` keys of the recorder's work executed and recorded.

    What an earlier driver of this run left behind is removed first, and what agents left that were lost, last.
    """
    await _remove_orphans(session, engine)
    if not pending:
        return RunEnding.COMPLETED, ""
    options = DriveOptions(
        policy=Policy(max_faults=session.sweep.policy.max_attempts),
        progress=observer.progress,
        message=observer.message,
        exhausted=session.meter.exhausted if session.meter is not None else None,
    )
    result = await drive(
        session.jobs(recorder.work, pending, inputs),
        lambda job, attempt: session.order(recorder.work[job.key], recorder.first_attempt(job.key) + attempt),
        engine,
        recorder,
        options,
    )
    if recorder.lost:
        try:
            await _remove_orphans(session, engine)
        except (TemporaryError, PermanentError) as error:  # the next command, or `parsimony reap`, tries again
            log.warning("orphans.unknown", problem=str(error))
    return result.ending, result.reason


async def _remove_orphans(session: Session, engine: Engine) -> None:
    orphans = await engine.reap(session.run_id)
    if orphans:
        session.event("orphans.removed", count=len(orphans))


def regrade_run(sweep: Sweep, root: Path, observer: Observer) -> Graded:
    """Verdicts again from stored executions, with today's scorer, gates and reference. Nothing is executed.

    Where the environment of a task cannot be asked for, the one of its newest plan counts.
    """
    inputs = load(sweep)
    with Session.open(sweep, root) as session:
        before = _outcomes(session)
        plan = make_plan(sweep, inputs, environments_of_last_plan(session.before))
        session.open_meter(plan.work, shared=False)
        recorder = session.recorder(plan, judge_of(sweep, inputs), observer)
        done = session.executed(plan.work)
        recorder.settle(plan.units)
        score_stored(session, recorder, done)
        summary = session.write_results(plan, recorder, inputs)
        after = _outcomes(session)
    return Graded(summary, RunEnding.COMPLETED, changed=sum(before.get(k) != v for k, v in after.items()))


def _outcomes(session: Session) -> dict[tuple[str, str, int, int], str]:
    if not session.folder.outcomes.exists():
        return {}
    lines = read_jsonl(session.folder.outcomes)
    return {(x["task_id"], x["arm"], x["seed"], x["repeat"]): x["outcome"] for x in lines}


def judge_of(sweep: Sweep, inputs: Inputs) -> Judge:
    """Who turns executions into verdicts, by the sweep's policy."""
    return Judge(inputs.reference, require_report=sweep.policy.evidence == "report")


def score_stored(session: Session, recorder: Recorder, done: set[str]) -> None:
    """Verdicts and costs of units whose execution is there and they are not (a new unit, another reference, a kill)."""
    incomplete = {key for key in done for unit in recorder.units.get(key, ()) if not recorder.is_complete(unit)}
    if incomplete:
        for key, execution in session.executions(incomplete).items():
            recorder.score(key, execution)


PODS_AT_ONCE: Final = 32
"""Executions that an agent has in flight in a cluster when a sweep does not say."""


def sandbox_spec(sweep: Sweep) -> SandboxSpec:
    """The sandbox that a sweep asks for, as data."""
    return SandboxSpec(sweep.sandbox.kind, sandbox_options(sweep.sandbox))


def slots(sweep: Sweep) -> int:
    """Executions at once on one node: as the sweep says, else as many as its processors carry at the CPU limit. Pods
    run on other machines, whose processors a scheduler gives out: a fixed number of them is asked for."""
    if sweep.concurrency != "auto":
        return sweep.concurrency
    if sweep.sandbox.kind == "kubernetes":
        return PODS_AT_ONCE
    return max(1, int(len(os.sched_getaffinity(0)) / (sweep.limits.cpus or 1.0)))


def busy_slots(sweep: Sweep) -> int:
    """Executions that really run at once on one node: no more than its processors carry (decision 0011)."""
    processors = len(os.sched_getaffinity(0))
    return max(1, min(slots(sweep), int(processors / min(sweep.limits.cpus or 1.0, processors))))
