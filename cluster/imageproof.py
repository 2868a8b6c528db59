"""Prove images of tasks by grading: in each, the task's own fix must be resolved, the base tree must not, and its
repository must hide what came after.

It is the normal path of a grading, and the audit's own look into the image (`parsimony.audit.probe`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.calibration import Runs, plan_runs, reference_of
from cluster.engines import Engine
from cluster.grading import execute, open_engine
from cluster.plan import Environment, Inputs, Plan, Work, load, work_for
from cluster.recorder import Judge
from cluster.session import Observer, Session, environments
from cluster.sweep import Sweep
from parsimony import audit
from parsimony.audit import probe
from parsimony.canonical import digest_bytes
from parsimony.execution import Execution
from parsimony.reference import Reference

CHECKS: Final = ("gold", "base", "image.objects", "image.copies")
"""Of the audit: what has to do with the image. The whole audit has canaries and mutants besides."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of one task.

    Attributes:
        image: as the task is graded; None where it names none.
        missing: why there is no result; empty where there is one.
    """

    instance_id: str
    image: str | None
    checks: tuple[audit.Check, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the image cannot be relied on."""
        return bool(self.missing) or any(check.verdict is audit.Verdict.FAIL for check in self.checks)


def prove(
    sweep: Sweep, folder: Path, observer: Observer, *, engine: Callable[[Sweep], Engine] = open_engine
) -> tuple[Proof, ...]:
    """Prove the image of every task of a sweep, in the folder of a run of its own. Interrupted, it goes on there.

    Args:
        engine: makes the engine; for whoever embeds this and for tests.

    Raises:
        InputError, LedgerError, SandboxUnavailable: it cannot run at all.
    """
    sweep = sweep.model_copy(update={"footprint": "off", "variants": (), "repeats": 1})
    inputs = load(sweep, with_candidates=False)
    with Session.open(sweep, folder) as session:
        return asyncio.run(_prove(session, engine(sweep), inputs, observer))


async def _prove(session: Session, engine: Engine, inputs: Inputs, observer: Observer) -> tuple[Proof, ...]:
    sweep = session.sweep
    async with engine:
        known = await environments(sweep, inputs.tasks.values(), engine.environment_digest)
        runs, work, missing = plan_runs(sweep, inputs, known)
        probes = {run.task.instance_id: _probe(sweep, run, known) for run in runs}
        work |= {one.key: one for one in probes.values()}
        judge = Judge(Reference(), require_report=sweep.policy.evidence == "report")
        recorder = session.recorder(Plan((), work), judge, observer)
        done = session.executed(work)
        pending = [key for key in work if key not in done]
        observer.planned(Plan((), work), len(pending), len(inputs.rejected))
        await execute(session, engine, recorder, pending, inputs=inputs, observer=observer)
    executions = session.executions_now(set(work))
    logs = _logs(session, {one.key for one in probes.values()})
    images = {name: task.image for name, task in inputs.tasks.items()}
    proofs = {name: Proof(name, images.get(name), missing=why) for name, why in missing.items()}
    for run in runs:
        name = run.task.instance_id
        lacking = [key for key in (*run.gold, *run.base) if key not in executions]
        if lacking:
            why = recorder.missing.get(lacking[0], ("interrupted; the same command goes on",))
            proofs[name] = Proof(name, run.task.image, missing=why)
        else:
            proofs[name] = _proof(run, executions, logs.get(probes[name].key), judge)
    return tuple(proofs[name] for name in sorted(proofs))


def _probe(sweep: Sweep, run: Runs, known: Mapping[str | None, Environment]) -> Work:
    return work_for(sweep, probe.probe_task(run.task), b"", known[run.task.image])


def _logs(session: Session, keys: Iterable[str]) -> dict[str, bytes]:
    wanted, found = set(keys), {}
    for row in session.before.rows("execution", ["execution_key", "log_file"]):
        if row["execution_key"] in wanted and row["log_file"]:
            found[row["execution_key"]] = (session.folder.root / row["log_file"]).read_bytes()
    return found


def _proof(run: Runs, executions: Mapping[str, Execution], log: bytes | None, judge: Judge) -> Proof:
    task = run.task
    seen = audit.Seen(
        task=task,
        reference=reference_of(run, executions),
        gold=_graded(run, run.gold, task.patch, executions, judge),
        base=_graded(run, run.base, b"", executions, judge),
        facts=(probe.read_facts(task, log),) if log is not None else (),
        canaries=(),
        mutants=audit.Mutants(problem="not asked for"),
        coverage="not asked for",
    )
    return Proof(task.instance_id, task.image, tuple(check for check in audit.judge(seen) if check.id in CHECKS))


def _graded(
    run: Runs, keys: Iterable[str], patch: bytes, executions: Mapping[str, Execution], judge: Judge
) -> tuple[audit.Graded, ...]:
    graded = []
    for key in keys:
        work = Work(key, run.task, patch, run.task.limits, run.environment)
        verdict = judge.verdict(work, executions[key], digest_bytes(patch))
        graded.append(audit.Graded(verdict.outcome, verdict.reasons, key))
    return tuple(graded)
