"""Canary gradings: the own fix of a few tasks, which must be resolved, and patches that fix nothing, which must not.

They are graded as candidates are: the same plan, order, judge and sandbox. The caller says what their verdicts mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from cluster import results
from cluster.engines import Engine
from cluster.grading import execute, judge_of, open_engine, score_stored
from cluster.plan import Environment, Inputs, Plan, Work, load, make_plan, work_for
from cluster.recorder import Recorder
from cluster.rundir import write_jsonl
from cluster.session import Observer, Session, environments
from cluster.sweep import Sweep
from parsimony import audit
from parsimony.audit import probe
from parsimony.canonical import digest_bytes
from parsimony.errors import InputError
from parsimony.tasks import Candidate, Task

GOLD: Final = "gold"
"""Arm of a task's own fix."""


@dataclass(frozen=True, slots=True)
class CanariesGraded:
    """What came of them.

    Attributes:
        lines: outcome lines; the arm is the name of the canary, the repeat the round.
        left_out: canaries that cannot be made for a task, with why.
    """

    lines: Sequence[Mapping[str, Any]]
    left_out: tuple[str, ...] = ()


def chosen(inputs: Inputs, wanted: int | Sequence[str]) -> tuple[str, ...]:
    """The tasks to write canaries for: named ones, or as many as asked for of those that are not quarantined and have a
    fix, by the digest of their names: always the same ones.

    Raises:
        InputError: a named one is not there or has no fix, or no task has one.
    """
    fit = [name for name, task in inputs.tasks.items() if task.patch.strip() and name not in inputs.quarantined]
    if isinstance(wanted, int):
        if not fit:
            mend = "give rows their own fix in `patch`, or write `canaries: {tasks: 0}`"
            raise InputError("no task has a fix that could be a canary", mend=mend, field="canaries.tasks")
        return tuple(sorted(fit, key=lambda name: digest_bytes(name.encode("utf-8", "surrogatepass"))))[:wanted]
    for name in wanted:
        if name not in fit:
            why = "is quarantined or has no fix" if name in inputs.tasks else "is no task of the sweep"
            raise InputError(f"{name!r} {why}", mend="name another task", field="canaries.tasks")
    return tuple(dict.fromkeys(wanted))


def grade_canaries(
    sweep: Sweep,
    root: Path,
    observer: Observer,
    *,
    tasks: int | Sequence[str],
    wrong: Iterable[str],
    rounds: int,
    engine: Callable[[Sweep], Engine] = open_engine,
) -> CanariesGraded:
    """Grade canaries in the folder of a run of their own; what is durable there is not done again.

    Args:
        tasks: see `chosen`. wrong: names of `parsimony.audit.canaries`.
        rounds: how often each is graded; a later call with one more grades the further round alone.

    Raises:
        InputError: see `chosen`, or the inputs of the sweep cannot be read.
    """
    plain: dict[str, Any] = {"footprint": "off", "variants": (), "arms": None, "seeds": None, "prices": ()}
    sweep = sweep.model_copy(update={**plain, "repeats": rounds})
    inputs = load(sweep, with_candidates=False)
    names = chosen(inputs, tasks)
    inputs = replace(inputs, tasks={name: inputs.tasks[name] for name in names}, rejected=())
    with Session.open(sweep, root) as session:
        return asyncio.run(_Canaries(session, engine(sweep), inputs, tuple(wrong), observer).grade())


@dataclass(slots=True)
class _Canaries:
    session: Session
    engine: Engine
    inputs: Inputs
    wrong: tuple[str, ...]
    observer: Observer
    environments: Mapping[str | None, Environment] = field(default_factory=dict)

    async def grade(self) -> CanariesGraded:
        sweep = self.session.sweep
        async with self.engine:
            self.environments = await environments(sweep, self.inputs.tasks.values(), self.engine.environment_digest)
            files = await self._base_files()
            candidates, left_out = self._candidates(files)
            inputs = replace(self.inputs, candidates=candidates)
            plan = make_plan(sweep, inputs, self.environments)
            recorder = await self._carry_out(plan)
        self.session.executions_now(set())
        rows = self.session.before.rows("score")
        lines = results.outcome_lines(plan.units, rows, score_key=recorder.score_key, missing=recorder.missing)
        write_jsonl(self.session.folder.outcomes, lines)
        return CanariesGraded(lines, left_out)

    async def _base_files(self) -> dict[str, dict[str, bytes]]:
        """What the images hold of the files that canaries change, by a look inside (`parsimony.audit.probe`)."""
        looks: dict[str, Work] = {}
        for name, task in self.inputs.tasks.items():
            environment = self.environments[task.image]
            if self.wrong and environment.digest is not None:
                looks[name] = work_for(self.session.sweep, probe.probe_task(task), b"", environment)
        await self._carry_out(Plan((), {one.key: one for one in looks.values()}))
        self.session.executions_now(set())
        logs = {
            row["execution_key"]: (self.session.folder.root / row["log_file"]).read_bytes()
            for row in self.session.before.rows("execution", ["execution_key", "log_file"])
            if row["log_file"]
        }
        return {
            name: probe.read_facts(self.inputs.tasks[name], logs[one.key]).files
            for name, one in looks.items()
            if one.key in logs
        }

    def _candidates(self, files: Mapping[str, Mapping[str, bytes]]) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        found, left_out = [], []
        for name, task in self.inputs.tasks.items():
            found.append(Candidate(name, GOLD, 0, task.patch))
            made = {one.name: one for one in audit.canaries(audit.Layout(task, files.get(name, {})))}
            for canary in self.wrong:
                why = self._why_not(task, made.get(canary), known=name in files)
                if why:
                    left_out.append(f"canary {canary!r} of {name} is left out: {why}")
                else:
                    found.append(Candidate(name, canary, 0, made[canary].patch or b""))
        return tuple(found), tuple(left_out)

    def _why_not(self, task: Task, canary: audit.Canary | None, *, known: bool) -> str:
        if canary is None:
            return f"there is none for {task.language or 'its language'}"
        if canary.patch is None:
            return canary.why_not
        return "" if known or not canary.patch.strip() else "the base tree could not be looked at"

    async def _carry_out(self, plan: Plan) -> Recorder:
        session = self.session
        recorder = session.recorder(plan, judge_of(session.sweep, self.inputs), self.observer)
        done = session.executed(plan.work)
        pending = [key for key in plan.work if key not in done]
        if pending:
            self.observer.planned(plan, len(pending), 0)
        recorder.settle(plan.units)
        score_stored(session, recorder, done)
        await execute(session, self.engine, recorder, pending, inputs=self.inputs, observer=self.observer)
        return recorder
