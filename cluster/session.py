"""One run on one folder, from inputs to results: what `run`, `grade`, `regrade` and `calibrate` share."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import structlog
import yaml

from cluster import results
from cluster.budget import Meter
from cluster.costrows import cost_rows
from cluster.dispatch import Job
from cluster.forecast import complete_forecast, forecast_of_summary
from cluster.ledger import Ledger, LedgerReader
from cluster.ledger.disk import reported_below
from cluster.measuring import wanted
from cluster.plan import Environment, Inputs, Plan, Unit, Work
from cluster.pricefile import read_prices
from cluster.recorder import Judge, Recorder, charged_already
from cluster.rows import execution_from_row
from cluster.rundir import RunFolder, read_jsonl, write_atomically, write_json, write_jsonl
from cluster.sandboxes import labels
from cluster.sweep import Sweep
from cluster.variants import summarise as summarise_variants
from parsimony.errors import InputError, PermanentError, TemporaryError
from parsimony.execution import Execution
from parsimony.runner import PLAIN, GradingOrder, build_order
from parsimony.scorer import Outcome, Verdict
from parsimony.tasks import Task

log = structlog.get_logger(__name__)

LEASE_S = 24 * 3600.0
"""Seconds after which anything that still carries a run's labels is an orphan for the reaper."""


class Observer(Protocol):
    """Who is told how a run goes on."""

    def planned(self, plan: Plan, pending: int, rejected: int) -> None:
        """The plan stands: `pending` jobs are to be done."""
        ...

    def verdict(self, unit: Unit, verdict: Verdict) -> None:
        """A unit has its verdict."""
        ...

    def progress(self, counts: Any) -> None:
        """Jobs by state (`cluster.dispatch.Counts`)."""
        ...

    def message(self, text: str) -> None:
        """Something a person should know now."""
        ...


@dataclass(slots=True)
class Session:
    """A run under way: its folder, its open ledger, and a reader of what the ledger held when it was opened.

    Attributes:
        meter: of its budget, where it has one.

    Use it as a context manager; it holds the ledger's lock.
    """

    folder: RunFolder
    sweep: Sweep
    ledger: Ledger
    run_id: str
    before: LedgerReader
    started: float = field(default_factory=time.monotonic)
    meter: Meter | None = None

    @classmethod
    def open(cls, sweep: Sweep, root: Path) -> Session:
        """Open the folder `root` for writing, making it where it is not there.

        Raises:
            LedgerLocked: another process works on it. InputError: it can be no folder; see also `Ledger.open`.
        """
        folder = RunFolder(root)
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            mend = "name a path where a folder can be made"
            raise InputError(f"can be no folder ({error.strerror})", mend=mend, file=str(root)) from None
        with reported_below(root):
            ledger = Ledger.open(folder.ledger)
            try:
                return cls._begun(sweep, folder, ledger)
            except BaseException:
                ledger.abandon()
                raise

    @classmethod
    def _begun(cls, sweep: Sweep, folder: RunFolder, ledger: Ledger) -> Session:
        folder.remove_drafts()
        reader = LedgerReader(folder.ledger)
        run_id = recorded_run_id(reader)
        session = cls(folder, sweep, ledger, run_id or secrets.token_hex(6), reader)
        text = yaml.safe_dump(sweep.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        session.event("run.resumed" if run_id else "run.started", run_id=session.run_id, sweep=sweep.name)
        ledger.flush()
        write_atomically(folder.sweep, text.encode())
        return session

    def event(self, name: str, **data: Any) -> None:
        """Note something in the ledger."""
        self.ledger.append("event", {"at": time.time(), "name": name, "data": json.dumps(data)})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.ledger.close()
        finally:
            if isinstance(error, OSError):
                with reported_below(self.folder.root):
                    raise error

    # ---- what the ledger knows already

    def executed(self, keys: Iterable[str]) -> set[str]:
        """Those of `keys` that have a durable execution."""
        wanted = set(keys)
        rows = self.before.rows("execution", ["execution_key"])
        return {row["execution_key"] for row in rows if row["execution_key"] in wanted}

    def executions(self, keys: set[str]) -> dict[str, Execution]:
        """The executions of `keys`; the first terminal record of a job wins."""
        found: dict[str, Execution] = {}
        for row in self.before.rows("execution"):
            key = row["execution_key"]
            if key in keys and key not in found:
                found[key] = execution_from_row(row)
        return found

    def executions_now(self, keys: set[str]) -> dict[str, Execution]:
        """The executions of `keys`, with those that were recorded since the run was opened."""
        self.ledger.flush()
        self.before = LedgerReader(self.folder.ledger)
        return self.executions(keys)

    def resolved(self, plan: Plan, recorder: Recorder) -> list[Unit]:
        """The units of the plan (their first repeat) that are resolved."""
        self.ledger.flush()
        scores = LedgerReader(self.folder.ledger).rows("score")
        lines = results.outcome_lines(plan.units, scores, score_key=recorder.score_key, missing={})
        return [
            unit
            for unit, line in zip(plan.units, lines, strict=True)
            if unit.repeat == 0 and line["outcome"] == Outcome.RESOLVED.value
        ]

    def recorder(self, plan: Plan, judge: Judge, observer: Observer) -> Recorder:
        """A recorder that knows what the ledger holds."""
        units: dict[str, list[Unit]] = {}
        for unit in plan.units:
            if unit.key is not None:
                units.setdefault(unit.key, []).append(unit)
        attempts: dict[str, int] = {}
        for row in self.before.rows("attempt", ["job_key"]):
            attempts[row["job_key"]] = attempts.get(row["job_key"], 0) + 1
        columns = ["task_id", "arm", "seed", "repeat", "score_key"]
        scored = {(results.identity(row), row["score_key"]) for row in self.before.rows("score", columns)}
        costs = ["task_id", "arm", "seed", "repeat", "kind", "execution_key"]
        if self.meter is not None:
            self.meter.work = {**self.meter.work, **plan.work}
        return Recorder(
            ledger=self.ledger,
            folder=self.folder,
            judge=judge,
            work=plan.work,
            units=units,
            scored=set(scored),
            charged=charged_already(self.before.rows("cost", costs)),
            before=dict(attempts),
            attempts=attempts,
            on_verdict=observer.verdict,
            on_cost=self.meter.count if self.meter is not None else lambda row, execution: None,
        )

    def open_meter(self, work: Mapping[str, Work], *, shared: bool = True) -> None:
        """Begin to hold what is spent against the sweep's budget, where it has one. Before `recorder`.

        Args:
            shared: the account of the team is looked at and told, too.
        """
        since = time.time() - (time.monotonic() - self.started)
        self.meter = Meter.open(self.sweep, self.run_id, self.before, work, since, shared=shared)

    def expected_seconds(self, inputs: Inputs) -> dict[str, float]:
        """How long a task runs, from its past executions here, else from its reference."""
        seconds: dict[str, float] = {}
        if inputs.reference is not None:
            seconds = {n: one.seconds for n, one in inputs.reference.tasks.items() if one.seconds is not None}
        for row in self.before.rows("execution", ["task_id", "wall_seconds"]):
            if row["wall_seconds"] is not None:
                seconds[row["task_id"]] = max(row["wall_seconds"], seconds.get(row["task_id"], 0.0))
        return seconds

    # ---- work

    def jobs(self, work: Mapping[str, Work], pending: Iterable[str], inputs: Inputs) -> list[Job]:
        """Jobs for the keys that are still to be executed."""
        seconds = self.expected_seconds(inputs)
        return [
            Job(key, work[key].task.image, seconds.get(work[key].task.instance_id), rank)
            for rank, key in enumerate(pending)
        ]

    def order(self, work: Work, attempt: int) -> GradingOrder:
        """What an agent runs for attempt `attempt` at `work`."""
        marks = {
            labels.MANAGED_BY: labels.OURS,
            labels.RUN: self.run_id,
            labels.EXECUTION: work.key.removeprefix("sha256:")[:63],
            labels.ATTEMPT: str(attempt),
            labels.EXPIRES: str(int(time.time() + LEASE_S)),
        }
        return build_order(
            work.task,
            work.patch,
            key=work.key,
            run_id=self.run_id,
            attempt=attempt,
            limits=work.limits,
            policy=self.sweep.policy.runner,
            labels=marks,
            footprint=wanted(work.task, self.sweep.footprint) if work.variant == PLAIN else None,
            variant=work.variant,
        )

    # ---- results

    def complete_forecast(self, keys: Iterable[str]) -> None:
        """Hold what the jobs `keys` took against the forecast that was made for them."""
        self.ledger.flush()
        wall_seconds, prices = time.monotonic() - self.started, read_prices(self.sweep.prices)
        complete_forecast(self.folder.plan, LedgerReader(self.folder.ledger), set(keys), wall_seconds, prices)

    def write_variants(self, lines: list[dict[str, Any]]) -> None:
        """Write what came of the candidates under other conditions."""
        write_jsonl(self.folder.variants, lines)

    def write_results(self, plan: Plan, recorder: Recorder, inputs: Inputs) -> dict[str, Any]:
        """Derive every file of the folder from the ledger. Returns the summary."""
        self.event("run.ended", wall_seconds=time.monotonic() - self.started, planned=len(plan.units))
        self.ledger.flush()
        self.ledger.seal()
        reader = LedgerReader(self.folder.ledger)
        lines = results.outcome_lines(
            plan.units, reader.rows("score"), score_key=recorder.score_key, missing=recorder.missing
        )
        missing = sum(line["outcome"] == Outcome.MISSING.value for line in lines)
        self.event("run.census", planned=len(lines), missing=missing)
        keys = {line["execution_key"] for line in lines if line["execution_key"]}
        identities = {results.identity(line) for line in lines}
        executed = list(reader.rows("execution", ["execution_key", "phases", "peak_memory_bytes"]))
        peaks = {row["execution_key"]: row["peak_memory_bytes"] for row in executed}
        summary = results.summarise(
            lines,
            name=self.sweep.name,
            rejected=len(inputs.rejected),
            costs=[row for row in cost_rows(reader, peaks) if row.identity in identities],
            prices=read_prices(self.sweep.prices),
            executions=[row for row in executed if row["execution_key"] in keys],
            wall_seconds=sum(
                json.loads(row["data"])["wall_seconds"] for row in reader.rows("event") if row["name"] == "run.ended"
            ),
            quarantined=inputs.quarantined,
        )
        if self.meter is not None:
            self.meter.settle()
            summary["budget"] = self.meter.as_json()
        if (forecast := forecast_of_summary(self.folder.plan)) is not None:
            summary["forecast"] = forecast
        records: list[dict[str, Any]] = []
        if self.sweep.footprint != "off":
            from cluster import footprints  # noqa: PLC0415 - measuring loads numpy and parsers

            measured = footprints.Measured.read(reader, self.folder, inputs.tasks, keys, self.sweep.footprint)
            records = list(footprints.records(lines, inputs.tasks, measured, self.sweep.footprint))
            write_jsonl(self.folder.footprints, records)
            summary["footprint"] = footprints.summarise([r for r in records if r["task_id"] not in inputs.quarantined])
        if self.sweep.variants and self.folder.variants.exists():
            variants = read_jsonl(self.folder.variants)
            summary["robustness"] = summarise_variants(x for x in variants if x["task_id"] not in inputs.quarantined)
        write_jsonl(self.folder.outcomes, lines)
        write_jsonl(self.folder.scores, (line["score"] for line in lines if line["score"]))
        rejects = [{"source": r.source, "problem": r.problem, "instance_id": r.instance_id} for r in inputs.rejected]
        write_jsonl(self.folder.rejects, rejects)
        write_json(self.folder.summary, summary)
        _write_report(self.folder, summary, lines, records)
        return summary


def load_report_early() -> None:
    """Import what the page needs while tests run: a second that the end of the run need not wait for."""

    def load() -> None:
        with contextlib.suppress(ImportError):
            importlib.import_module("parsimony.report")

    threading.Thread(target=load, name="load-report", daemon=True).start()


def _write_report(
    folder: RunFolder, summary: Mapping[str, Any], lines: list[dict[str, Any]], footprints: list[dict[str, Any]]
) -> None:
    try:
        from parsimony.report import write_report  # noqa: PLC0415 - the page needs an extra that a run does not
    except ImportError:
        log.warning("report.skipped", mend="install parsimony-grading[report], then `parsimony report DIR`")
        return
    write_report(folder.report, summary, lines, footprints)


def recorded_run_id(reader: LedgerReader) -> str | None:
    """The id that a run got when it was started, which its containers and pods carry; None before that."""
    for row in reader.rows("event"):
        if row["name"] == "run.started":
            return str(json.loads(row["data"])["run_id"])
    return None


class _Remembered(dict[str | None, Environment]):
    """Environments by image; one that the last plan did not have is unknown, not an error."""

    def __missing__(self, image: str | None) -> Environment:
        return Environment(None, f"the run never saw the image {image}")


def environments_of_last_plan(reader: LedgerReader) -> Mapping[str | None, Environment]:
    """What each image was when the run of a ledger was planned last."""
    found = _Remembered()
    for row in reader.rows("event", ["name", "data"]):
        if row["name"] == "run.planned":
            for image, digest in json.loads(row["data"])["environments"].items():
                problem = "" if digest else "it was not to be had when the run was planned"
                found[None if image == "None" else image] = Environment(digest, problem)
    return found


async def environments(
    sweep: Sweep, tasks: Iterable[Task], resolve: Resolver, *, at_once: int = 8
) -> dict[str | None, Environment]:
    """What each image of the tasks is, asked once per image.

    An image that is not here makes its tasks missing, with the reason, and does not stop the others.
    """
    limit = asyncio.Semaphore(at_once)

    async def one(image: str | None, with_tree: bool) -> Environment:
        if sweep.sandbox.kind == "process" and not with_tree:
            return Environment(None, f"needs the image {image}; grade it with the docker sandbox")
        if sweep.sandbox.kind != "process" and image is None:
            return Environment(None, "names no image; give one with `tasks: {defaults: {image: …}}` or --image")
        async with limit:
            try:
                return Environment(await resolve(image if sweep.sandbox.kind != "process" else None))
            except (PermanentError, TemporaryError) as error:
                return Environment(None, f"{type(error).__name__}: {error}")

    trees = {task.image: task.tree is not None for task in tasks}
    found = await asyncio.gather(*(one(image, trees[image]) for image in trees))
    return dict(zip(trees, found, strict=True))


class Resolver(Protocol):
    """Gives the environment digest of an image."""

    async def __call__(self, image: str | None) -> str:
        """See `Sandbox.environment_digest`."""
        ...
