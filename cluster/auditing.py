"""Execute an audit: gold and base × n and a look at the image, then canaries, mutants and a traced run of the fix.

Canaries and mutants are graded as candidates are: the same plan, the same order, the same judge. What comes of it is
judged in `parsimony.audit`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cluster import results
from cluster.calibration import Runs, plan_runs, reference_of
from cluster.dispatch import RunEnding
from cluster.engines import Engine
from cluster.grading import execute, open_engine, score_stored
from cluster.plan import Environment, Inputs, Plan, Work, load, make_plan, work_for
from cluster.recorder import Judge
from cluster.rundir import write_jsonl
from cluster.session import Observer, Session, environments
from cluster.sweep import Sweep
from parsimony import audit
from parsimony.audit import coverage, flakes, probe
from parsimony.canonical import digest_bytes
from parsimony.execution import Execution
from parsimony.reference import Reference, TaskReference
from parsimony.scorer import Outcome
from parsimony.tasks import Candidate, Task

PROBES = 2
"""How often the image is looked at: gradings must start from the same state each time."""

SLOWER, LEAST_TIMEOUT_S = 5.0, 30.0
"""A canary or a mutant that takes this many times as long as the fix will not end: it is stopped then."""

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit came to.

    Attributes:
        audit: of the tasks that it looked at.
        references: of the same tasks, with what earlier runs taught.
        ending, reason: how it ended; the same command goes on with an audit that did not complete.
    """

    audit: audit.Audit
    references: tuple[TaskReference, ...]
    ending: RunEnding
    reason: str = ""


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A moment as audits write it: ISO 8601, UTC, whole seconds."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def audit_tasks(
    sweep: Sweep,
    folder: Path,
    observer: Observer,
    *,
    mutants: int = 6,
    engine: Callable[[Sweep], Engine] = open_engine,
    clock: Clock = now,
) -> Audited:
    """Audit the tasks of a sweep, `sweep.repeats` runs of gold and base each, in the folder of a run of its own.

    An interrupted audit goes on where it stopped when it is started again with the same folder. Nothing outside of the
    folder is written: the caller stores the audit and the references.

    Args:
        mutants: how many mutants of a fix are run at most.
        engine, clock: for whoever embeds this and for tests.

    Raises:
        InputError, LedgerError, SandboxUnavailable: it cannot run at all.
    """
    sweep = sweep.model_copy(update={"footprint": "off", "variants": ()})
    inputs = load(sweep, with_candidates=False)
    path = sweep.reference
    known = Reference.read(path) if path is not None and path.exists() else Reference()
    with Session.open(sweep, folder) as session:
        auditor = _Auditor(session, engine(sweep), inputs, observer, known, mutants, clock)
        return asyncio.run(auditor.conduct())


@dataclass(frozen=True, slots=True)
class _Subject:
    """One task under audit, after the first round.

    Attributes:
        reference: of these runs and earlier ones.
        facts: of the probes.
        traced: the traced run of the fix; None where there is none.
    """

    runs: Runs
    reference: TaskReference
    facts: tuple[probe.Facts, ...]
    layout: audit.Layout
    canaries: tuple[audit.Canary, ...]
    mutants: audit.Mutants
    traced: Work | None

    @property
    def task(self) -> Task:
        return self.runs.task

    def patches(self) -> Iterable[tuple[str, bytes]]:
        """Every canary and mutant that is to be graded, by its name."""
        yield from ((one.name, one.patch) for one in self.canaries if one.patch is not None)
        yield from ((one.name, one.patch) for one in self.mutants.chosen)

    def stopped_early(self) -> Task:
        """The task with less time, where the fix is quick."""
        limits = self.task.limits
        seconds = self.reference.seconds or limits.timeout_s
        timeout = min(limits.timeout_s, max(LEAST_TIMEOUT_S, SLOWER * seconds))
        return replace(self.task, limits=replace(limits, timeout_s=timeout))


@dataclass(frozen=True, slots=True)
class _Round:
    """How the execution of a plan ended, why keys have no execution, and an outcome line per unit."""

    ending: RunEnding = RunEnding.COMPLETED
    reason: str = ""
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lines: Sequence[Mapping[str, Any]] = ()


@dataclass(slots=True)
class _Auditor:
    session: Session
    engine: Engine
    inputs: Inputs
    observer: Observer
    known: Reference
    mutants: int
    clock: Clock
    environments: Mapping[str | None, Environment] = field(default_factory=dict)
    executions: Mapping[str, Execution] = field(default_factory=dict)

    async def conduct(self) -> Audited:
        started = self.clock()
        async with self.engine:
            sweep = self.session.sweep
            self.environments = await environments(sweep, self.inputs.tasks.values(), self.engine.environment_digest)
            subjects, missing, first = await self._first_round()
            judge = self._judge(one.reference for one in subjects)
            second = _Round(first.ending, first.reason)
            if first.ending is RunEnding.COMPLETED and subjects:
                second = await self._second_round(subjects, judge)
        tasks = self._judged(subjects, judge, second, stamp(started))
        found = audit.Audit(
            stamp(started),
            stamp(self.clock()),
            {one.instance_id: one for one in tasks},
            missing,
            audit.reporting(tasks),
            sweep.tasks.only or (),
        )
        return Audited(found, tuple(one.reference for one in subjects), second.ending, second.reason)

    # ---- what is executed

    async def _first_round(self) -> tuple[list[_Subject], dict[str, tuple[str, ...]], _Round]:
        """Gold, base and probes."""
        runs, work, missing = plan_runs(self.session.sweep, self.inputs, self.environments)
        probes = {run.task.instance_id: self._probes(run.task) for run in runs}
        work |= {one.key: one for each in probes.values() for one in each}
        ended = await self._carry_out(Plan((), work), self._judge())
        self.executions = self.session.executions(set(work))
        subjects = []
        for run in runs:
            lacking = [key for key in (*run.gold, *run.base) if key not in self.executions]
            if lacking:
                reasons = ended.missing.get(lacking[0], ("interrupted; the same command goes on",))
                missing[run.task.instance_id] = reasons
            else:
                subjects.append(self._subject(run, probes[run.task.instance_id]))
        return subjects, missing, ended

    def _probes(self, task: Task) -> tuple[Work, ...]:
        looking, environment = probe.probe_task(task), self.environments[task.image]
        return tuple(work_for(self.session.sweep, looking, b"", environment, repeat=n) for n in range(PROBES))

    def _subject(self, run: Runs, probes: Sequence[Work]) -> _Subject:
        task = run.task
        new = reference_of(run, self.executions)
        reference = flakes.remembering(task, new, self.known.tasks.get(task.instance_id))
        logs = self._logs(one.key for one in probes)
        facts = tuple(probe.read_facts(task, logs[one.key]) for one in probes if one.key in logs)
        layout = audit.Layout(task, facts[0].files if facts else {})
        traced = None
        if not coverage.why_not(layout):
            under_tracer = coverage.coverage_task(layout)
            traced = work_for(self.session.sweep, under_tracer, task.patch, self.environments[task.image])
        made = audit.canaries(layout), audit.mutants(layout, self.mutants)
        return _Subject(run, reference, facts, layout, *made, traced)

    async def _second_round(self, subjects: Sequence[_Subject], judge: Judge) -> _Round:
        """Canaries and mutants as candidates of arms that are called like them, and the traced runs."""
        tasks = {one.task.instance_id: one.stopped_early() for one in subjects}
        candidates = tuple(
            Candidate(one.task.instance_id, name, 0, patch) for one in subjects for name, patch in one.patches()
        )
        once = self.session.sweep.model_copy(update={"repeats": 1})
        plan = make_plan(once, replace(self.inputs, tasks=tasks, candidates=candidates), self.environments)
        traced = {one.traced.key: one.traced for one in subjects if one.traced is not None}
        ended = await self._carry_out(Plan(plan.units, {**plan.work, **traced}), judge)
        write_jsonl(self.session.folder.outcomes, ended.lines)
        return ended

    async def _carry_out(self, plan: Plan, judge: Judge) -> _Round:
        session = self.session
        recorder = session.recorder(plan, judge, self.observer)
        done = session.executed(plan.work)
        pending = [key for key in plan.work if key not in done]
        self.observer.planned(plan, len(pending), len(self.inputs.rejected))
        recorder.settle(plan.units)
        score_stored(session, recorder, done)
        ending, reason = await execute(
            session, self.engine, recorder, pending, inputs=self.inputs, observer=self.observer
        )
        session.executions_now(set())
        rows = session.before.rows("score")
        lines = results.outcome_lines(plan.units, rows, score_key=recorder.score_key, missing=recorder.missing)
        return _Round(ending, reason, recorder.missing, lines)

    def _logs(self, keys: Iterable[str]) -> dict[str, bytes]:
        """What executions printed, by key."""
        wanted, found = set(keys), {}
        for row in self.session.before.rows("execution", ["execution_key", "log_file"]):
            if row["execution_key"] in wanted and row["log_file"]:
                found[row["execution_key"]] = (self.session.folder.root / row["log_file"]).read_bytes()
        return found

    # ---- what comes of it

    def _judge(self, references: Iterable[TaskReference] = ()) -> Judge:
        strict = self.session.sweep.policy.evidence == "report"
        return Judge(Reference().merged(references), require_report=strict)

    def _judged(self, subjects: Sequence[_Subject], judge: Judge, ended: _Round, at: str) -> list[audit.TaskAudit]:
        graded: dict[str, dict[str, audit.Graded]] = {}
        for line in ended.lines:
            one = audit.Graded(Outcome(line["outcome"]), tuple(line["reasons"]), line["execution_key"])
            graded.setdefault(line["task_id"], {})[line["arm"]] = one
        logs = self._logs(one.traced.key for one in subjects if one.traced is not None)
        return [self._task_audit(one, judge, graded.get(one.task.instance_id, {}), logs, at) for one in subjects]

    def _task_audit(
        self,
        subject: _Subject,
        judge: Judge,
        graded: Mapping[str, audit.Graded],
        logs: Mapping[str, bytes],
        at: str,
    ) -> audit.TaskAudit:
        task, runs = subject.task, subject.runs
        covered: coverage.Coverage | str = coverage.why_not(subject.layout)
        if subject.traced is not None:
            covered = coverage.read_coverage(subject.layout, logs.get(subject.traced.key, b""))
        checks = audit.judge(
            audit.Seen(
                task=task,
                reference=subject.reference,
                gold=self._verdicts(runs, runs.gold, task.patch, judge),
                base=self._verdicts(runs, runs.base, b"", judge),
                facts=subject.facts,
                canaries=subject.canaries,
                mutants=subject.mutants,
                graded=graded,
                coverage=covered,
            )
        )
        return audit.TaskAudit(
            instance_id=task.instance_id,
            task_digest=task.digest,
            gates_digest=task.gates_digest,
            environment_digest=runs.environment,
            audited_at=at,
            checks=(*checks, *audit.checklist(task, runs.environment, checks)),
            unstable=flakes.evidence(subject.reference),
        )

    def _verdicts(self, runs: Runs, keys: Iterable[str], patch: bytes, judge: Judge) -> tuple[audit.Graded, ...]:
        found = []
        for key in keys:
            work = Work(key, runs.task, patch, runs.task.limits, runs.environment)
            verdict = judge.verdict(work, self.executions[key], digest_bytes(patch))
            found.append(audit.Graded(verdict.outcome, verdict.reasons, key))
        return tuple(found)
