"""What a run learns goes into its ledger here: attempts, executions, and a score for every unit that an execution
decides. The driver calls it as its sink."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from cluster.basefiles import BaseFiles
from cluster.dispatch import Ending, Job
from cluster.ledger import Ledger
from cluster.plan import Unit, Work
from cluster.rows import compute_cost_row, execution_row, llm_cost_row, score_row
from cluster.rundir import RunFolder
from parsimony import scorer
from parsimony.canonical import digest_bytes
from parsimony.execution import Evidence, Execution
from parsimony.reference import Reference, TaskReference
from parsimony.scorer import Outcome, Verdict
from parsimony.tasks import Task

log = structlog.get_logger(__name__)

CANONICAL: Final = (
    "execution_key", "task_id", "repeat", "variant", "outcome", "evidence", "apply_strategy", "exit_status",
    "wall_seconds", "cpu_seconds", "peak_memory_bytes", "log_bytes", "sandbox", "image_digest", "log_file",
)  # fmt: skip
"""The fields of an execution that stand in its one line of the log, `job.finished`."""


@dataclass(slots=True)
class Judge:
    """Turns executions into verdicts, by the reference and the policy of a sweep."""

    reference: Reference | None = None
    require_report: bool = False

    def of(self, task: Task, environment: str) -> TaskReference | None:
        """The reference that holds for a task here."""
        return self.reference.for_task(task, environment) if self.reference else None

    def key(self, work: Work) -> str:
        """The score key of a piece of work."""
        return scorer.score_key(
            work.key, work.task, self.of(work.task, work.environment), require_report=self.require_report
        )

    def verdict(self, work: Work, execution: Execution, patch_ref: str) -> Verdict:
        """The verdict on an execution, now."""
        return scorer.score(
            work.task,
            patch_ref,
            execution,
            self.of(work.task, work.environment),
            graded_at=int(time.time()),
            require_report=self.require_report,
        )


def settled_verdict(unit: Unit) -> Verdict:
    """The verdict on a unit that needs no execution."""
    now = int(time.time())
    if unit.candidate is None or unit.settled is Outcome.MISSING:
        return Verdict(Outcome.MISSING, None, Evidence.NONE, unit.reasons)
    if unit.settled is Outcome.EMPTY_PATCH:
        return scorer.score_empty(unit.task, unit.candidate.patch_ref, graded_at=now)
    return scorer.score_refused(unit.task, unit.candidate.patch_ref, unit.reasons, graded_at=now)


@dataclass(slots=True)
class Recorder:
    """The sink of a driver.

    Attributes:
        units: units by the key of the execution that decides them.
        scored: (identity, score key) of the units that have their verdict already.
        before: attempts per job that earlier drivers ended.
        attempts: attempts per job so far, those of earlier drivers included.
        lost: attempts of which nobody knows what became of their sandbox, since their agent was lost.
        missing: reasons by key of the jobs that ended without an execution in this run.
        on_verdict: told of each verdict, for progress.
        on_cost: told of each cost row that is new, and of the execution that it is for, for budgets.
    """

    ledger: Ledger
    folder: RunFolder
    judge: Judge
    work: Mapping[str, Work]
    units: Mapping[str, list[Unit]]
    scored: set[tuple[object, ...]] = field(default_factory=set)
    charged: set[tuple[object, ...]] = field(default_factory=set)
    before: Mapping[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    on_verdict: Callable[[Unit, Verdict], None] = lambda unit, verdict: None
    on_cost: Callable[[Mapping[str, Any], Execution | None], None] = lambda row, execution: None
    _started: dict[tuple[str, int], tuple[float, str]] = field(default_factory=dict)

    def first_attempt(self, key: str) -> int:
        """How many attempts earlier drivers made at a job: numbers are never used twice."""
        return self.before.get(key, 0)

    def attempt_started(self, job: Job, attempt: int, agent: str) -> None:
        """Remember when and where; the row is written at the end."""
        self._started[job.key, attempt] = (time.time(), agent)

    def attempt_ended(self, job: Job, attempt: int, ending: str, fault: str, message: str) -> None:
        """A row per attempt, whatever became of it: evidence of earlier attempts is never lost."""
        started_at, agent = self._started.pop((job.key, attempt), (time.time(), ""))
        self.attempts[job.key] = self.attempts.get(job.key, 0) + 1
        self.lost += ending == Ending.LOST
        self.ledger.append(
            "attempt",
            {
                "job_key": job.key,
                "attempt": self.first_attempt(job.key) + attempt,
                "agent": agent,
                "started_at": started_at,
                "ended_at": time.time(),
                "ending": ending,
                "fault": fault or None,
                "message": message[:4000] or None,
            },
        )
        if fault:
            log.warning("attempt.fault", job=job.key, attempt=attempt, agent=agent, fault=fault, message=message[:400])

    def terminal(self, job: Job, execution: Execution | None, reasons: tuple[str, ...]) -> None:
        """The end of a job: its execution and the verdicts that it decides, or the reasons why there is none."""
        if execution is None:
            self.missing[job.key] = reasons
            log.warning("job.missing", job=job.key, attempts=self.attempts.get(job.key, 0), reasons=reasons[-3:])
            self._event("job.missing", {"key": job.key, "reasons": list(reasons)})
            return
        work = self.work[job.key]
        name = self.folder.log_name(work.task.instance_id, job.key, self.attempts.get(job.key, 1))
        self.folder.write_log(name, execution.log)
        patch_ref = digest_bytes(work.patch)
        base = BaseFiles(self.folder.base).keep(execution.base_files)
        row = execution_row(
            execution, work, patch_ref=patch_ref, log_file=name, recorded_at=time.time(), base_files=base
        )
        self.ledger.append("execution", row)
        self.score(job.key, execution)
        log.info("job.finished", **{name: row[name] for name in CANONICAL}, attempts=self.attempts.get(job.key, 0))

    def score(self, key: str, execution: Execution) -> None:
        """Verdicts for every unit that `execution` decides and that has none yet by the same score key."""
        work = self.work[key]
        score_key = self.judge.key(work)
        verdict: Verdict | None = None
        for unit in self.units.get(key, ()):
            if unit.candidate is None:
                continue
            if (unit.identity, score_key) in self.scored:
                self._charge(unit, execution, time.time())
                continue
            verdict = verdict or self.judge.verdict(work, execution, unit.candidate.patch_ref)
            self._record(unit, verdict, score_key, execution)

    def is_complete(self, unit: Unit) -> bool:
        """Whether the ledger has the verdict on a unit that an execution decides, and everything that it cost: a write
        that a power cut, or a kill, stopped half way has some of the rows."""
        told = unit.candidate is not None and unit.candidate.usage is not None and unit.repeat == 0
        return (
            (unit.identity, self.score_key(unit)) in self.scored
            and ("compute_spent", unit.key) in self.charged
            and ("compute_attributed", *unit.identity, unit.key) in self.charged
            and (not told or ("llm", *unit.identity) in self.charged)
        )

    def score_key(self, unit: Unit) -> str:
        """The key of the score that holds for a unit today."""
        if unit.key is not None:
            return self.judge.key(self.work[unit.key])
        patch_ref = unit.candidate.patch_ref if unit.candidate else ""
        return f"{unit.settled}:{patch_ref}:{unit.task.gates_digest}"

    def settle(self, units: Iterable[Unit]) -> None:
        """Records for the units that need no execution. What is missing gets none: it may be there next time."""
        for unit in units:
            if unit.settled is None or unit.settled is Outcome.MISSING:
                continue
            score_key = self.score_key(unit)
            if (unit.identity, score_key) in self.scored:
                self._charge(unit, None, time.time())
            else:
                self._record(unit, settled_verdict(unit), score_key, None)

    def _record(self, unit: Unit, verdict: Verdict, score_key: str, execution: Execution | None) -> None:
        now = time.time()
        attempts = self.attempts.get(unit.key or "", 0)
        row = score_row(unit, verdict, score_key=score_key, execution=execution, attempts=attempts, recorded_at=now)
        self.ledger.append("score", row)
        self.scored.add((unit.identity, score_key))
        self._charge(unit, execution, now)
        self.on_verdict(unit, verdict)

    def charge(self, unit: Unit, execution: Execution) -> None:
        """Cost rows of an execution that decides nothing: a unit under another condition."""
        self._charge(unit, execution, time.time())

    def _charge(self, unit: Unit, execution: Execution | None, now: float) -> None:
        """Cost rows, once per unit and once per execution, however often verdicts are made again."""
        if unit.candidate is not None and unit.candidate.usage is not None and unit.repeat == 0:
            told = llm_cost_row(unit, unit.candidate.usage, recorded_at=now)
            self._charge_once(("llm", *unit.identity), told, None)
        if execution is not None:
            spent = compute_cost_row(unit, execution, spent=True, recorded_at=now)
            self._charge_once(("compute_spent", execution.execution_key), spent, execution)
            alone = compute_cost_row(unit, execution, spent=False, recorded_at=now)
            self._charge_once(("compute_attributed", *unit.identity, execution.execution_key), alone, execution)

    def _charge_once(self, identity: tuple[object, ...], row: Mapping[str, Any], execution: Execution | None) -> None:
        if identity not in self.charged:
            self.charged.add(identity)
            self.ledger.append("cost", row)
            self.on_cost(row, execution)

    def _event(self, name: str, data: Mapping[str, Any]) -> None:
        self.ledger.append("event", {"at": time.time(), "name": name, "data": json.dumps(data)})

    def flush_if_due(self) -> None:
        """Make what was recorded durable, at most some 200 ms after it was."""
        self.ledger.flush_if_due()

    def flush(self) -> None:
        """Make everything durable now."""
        self.ledger.flush()


def charged_already(rows: Iterable[Mapping[str, Any]]) -> set[tuple[object, ...]]:
    """What the cost rows of a ledger stand for, as `Recorder.charged` has it."""
    charged: set[tuple[object, ...]] = set()
    for row in rows:
        identity = (row["task_id"], row["arm"], row["seed"], row["repeat"])
        if row["kind"] == "compute_spent":
            charged.add(("compute_spent", row["execution_key"]))
        elif row["kind"] == "compute_attributed":
            charged.add(("compute_attributed", *identity, row["execution_key"]))
        else:
            charged.add((row["kind"], *identity))
    return charged
