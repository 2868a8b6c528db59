"""Read the folder of a run as `parsimony.runs.Run`: what comparisons, scorecards, cost and difficulty start from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from cluster.costrows import cost_rows
from cluster.ledger import LedgerReader
from cluster.plan import Inputs, load
from cluster.pricefile import read_prices
from cluster.results import Identity, identity
from cluster.rundir import RunFolder, read_jsonl
from cluster.sweep import Sweep, read_sweep
from parsimony.canonical import digest_json
from parsimony.cost_ledger import PriceTable, with_prices
from parsimony.cost_ledger.rows import CostRow, RowKind
from parsimony.errors import InputError
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task, Trace


def read_run(root: Path, inputs: Inputs | None = None) -> Run:
    """The run in the folder `root`, as its results stand.

    Args:
        inputs: what its sweep names, where that was read already.

    Raises:
        InputError: no run is there, it has no results yet, or its task or prediction files are gone or damaged.
    """
    folder = RunFolder.existing(root)
    sweep = read_sweep(folder.sweep)
    reader = LedgerReader(folder.ledger)
    lines = list(read_jsonl(folder.outcomes))
    if not lines:
        mend = "run `parsimony regrade` to write it again"
        raise InputError("holds no outcome", mend=mend, file=str(folder.outcomes))
    inputs = inputs or load(sweep)
    traces = {(c.instance_id, c.arm, c.seed): c.trace for c in inputs.candidates}
    executed = list(reader.rows("execution", ["execution_key", "log_file", "peak_memory_bytes"]))
    logs = {row["execution_key"]: row["log_file"] for row in executed}
    llm, compute = _spends(cost_rows(reader, {row["execution_key"]: row["peak_memory_bytes"] for row in executed}))
    trials = tuple(_trial(line, llm, compute, traces, logs) for line in lines)
    tasks = {trial.task_id: inputs.tasks[trial.task_id] for trial in trials if trial.task_id in inputs.tasks}
    run_id, environment = _recorded(reader)
    shared = Settings(
        temperature=sweep.frozen.temperature,
        token_budget=sweep.frozen.token_budget,
        tool_budget=sweep.frozen.tool_budget,
        task_set=_task_set(tasks),
        environment_image=environment,
        timeout=max((sweep.limits.over(task.limits).timeout_s for task in tasks.values()), default=None),
        candidate_count=sweep.frozen.candidate_count,
    )
    arms = dict.fromkeys(trial.arm for trial in trials)
    settings = {arm: _settings(arm, shared, sweep, trials) for arm in arms}
    quarantined = {name: reasons for name, reasons in inputs.quarantined.items() if name in tasks}
    return Run(run_id, sweep.name, str(root), tasks, settings, trials, quarantined)


def read_priced_run(root: Path, prices: Iterable[Path] = (), at: date | None = None) -> Run:
    """The run in the folder `root` with its dollars, where predictions tell tokens only. Arguments and errors as
    `prices_of` and `parsimony.cost_ledger.with_prices`."""
    return with_prices(read_run(root), prices_of(root, prices), at)


def prices_of(root: Path, prices: Iterable[Path] = ()) -> PriceTable:
    """The prices of some files; without any those that the run's sweep names."""
    return read_prices(tuple(prices) or read_sweep(RunFolder.existing(root).sweep).prices)


def _trial(
    line: Mapping[str, Any],
    llm: Mapping[Identity, Spend],
    compute: Mapping[tuple[Identity, str | None], Spend],
    traces: Mapping[tuple[str, str, int], Trace | None],
    logs: Mapping[str, str | None],
) -> Trial:
    score, key = line["score"] or {}, line["execution_key"]
    key_of_candidate = (line["task_id"], line["arm"], line["seed"])
    fail_to_pass, pass_to_pass = _gate(score.get("fail_to_pass")), _gate(score.get("pass_to_pass"))
    return Trial(
        *identity(line),
        outcome=Outcome(line["outcome"]),
        patch_ref=line["patch_ref"],
        execution_key=key,
        regressions=pass_to_pass[1] - pass_to_pass[0] if pass_to_pass and key in logs else None,
        fail_to_pass=fail_to_pass,
        pass_to_pass=pass_to_pass,
        llm=llm.get((*key_of_candidate, 0)),
        compute=compute.get((identity(line), key)),
        trace=traces.get(key_of_candidate),
        log=logs.get(key),
    )


def _gate(gate: Mapping[str, Any] | None) -> tuple[int, int] | None:
    return (gate["passed"], gate["total"]) if gate else None


def _spends(
    rows: Iterable[CostRow],
) -> tuple[dict[Identity, Spend], dict[tuple[Identity, str | None], Spend]]:
    """What was spent on models, by candidate (repeat 0 stands for all), and on grading, by unit and execution: a unit
    that was graded under another condition, or after a change, has rows of several executions."""
    llm: dict[Identity, Spend] = {}
    compute: dict[tuple[Identity, str | None], Spend] = {}
    for row in rows:
        if row.kind is RowKind.LLM:
            llm[row.task_id, row.arm, row.seed, 0] = row.spend
        elif row.kind is RowKind.ATTRIBUTED:
            compute[row.identity, row.execution_key] = row.spend
    return llm, compute


def _recorded(reader: LedgerReader) -> tuple[str, str | None]:
    """The run's id, and the digest of the environments of its newest plan."""
    run_id, environment = "", None
    for row in reader.rows("event", ["name", "data"]):
        if row["name"] == "run.started":
            run_id = run_id or str(json.loads(row["data"])["run_id"])
        elif row["name"] == "run.planned":
            environment = digest_json(json.loads(row["data"])["environments"])
    return run_id, environment


def _task_set(tasks: Mapping[str, Task]) -> str:
    return digest_json({name: [task.digest, task.gates_digest] for name, task in sorted(tasks.items())})


def _settings(arm: str, shared: Settings, sweep: Sweep, trials: Iterable[Trial]) -> Settings:
    """The settings of an arm: what the sweep says, and the models that its candidates name."""
    models = {trial.llm.model for trial in trials if trial.arm == arm and trial.llm is not None and trial.llm.model}
    model = sweep.frozen.model or (" + ".join(sorted(models)) or None)
    stated = (sweep.arms or {}).get(arm)
    return replace(shared, harness_version=stated.harness_version if stated else None, model=model)
