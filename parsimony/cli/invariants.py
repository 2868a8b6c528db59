"""`parsimony invariants`: the eight invariants of the build spec, on a run and on the code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster import results
from cluster.auditing import now
from cluster.ledger import LedgerReader
from cluster.plan import load
from cluster.rows import execution_from_row
from cluster.rundir import RunFolder, read_jsonl
from cluster.sweep import read_sweep
from parsimony import scorer
from parsimony.cli import DONE, NO, PARTIAL, screen
from parsimony.cli.collecting import no_collections
from parsimony.cli.invariants_audit import audit_faults
from parsimony.cli.materials import open_run
from parsimony.cli.reading import read_summary
from parsimony.invariants import Ground, Invariant, check
from parsimony.runs import Run
from parsimony.scorecard import Measurer
from parsimony.scorer import Outcome
from parsimony.sets import SetStore

Key = tuple[str, str, int, int]


def run(root: Path, ledger: Path | None, *, as_json: bool) -> int:
    """Check them. Exit status 1 when one is broken, 3 when one could not be checked."""
    with no_collections():
        found = check(_ground(root, ledger))
    if as_json:
        screen.print_json([asdict(one) for one in found])
    else:
        _print(found)
    if any(one.holds is False for one in found):
        return NO
    return DONE if all(one.holds for one in found) else PARTIAL


def _ground(root: Path, ledger: Path | None) -> Ground:
    folder = RunFolder.existing(root)
    finished, materials, base = open_run(root)
    notes = Measurer(base).measure(finished, materials)
    return Ground(
        finished,
        _rescored(folder, finished),
        tuple(f"{n.task_id}, arm {n.arm}, seed {n.seed}" for n, card in notes if card is None and not n.missing),
        None if ledger is None else lambda: _sets(ledger),
        audit_faults(read_sweep(folder.sweep), finished.tasks, now()),
        tuple(_not_derived(folder)),
    )


def _rescored(folder: RunFolder, finished: Run) -> dict[Key, Outcome]:
    """The outcome that today's scorer gives to each stored execution, with the sweep's policy and reference."""
    sweep = read_sweep(folder.sweep)
    inputs = load(sweep, with_candidates=False)
    wanted: dict[str, list[Any]] = {}
    for trial in finished.trials:
        if trial.execution_key is not None and trial.resolved is not None:
            wanted.setdefault(trial.execution_key, []).append(trial)
    found: dict[Key, Outcome] = {}
    for row in LedgerReader(folder.ledger).rows("execution"):
        for trial in wanted.pop(row["execution_key"], ()):
            task = finished.tasks[trial.task_id]
            reference = inputs.reference.for_task(task, row["environment_digest"]) if inputs.reference else None
            verdict = scorer.score(
                task,
                trial.patch_ref or "",
                execution_from_row(row),
                reference,
                graded_at=0,
                require_report=sweep.policy.evidence == "report",
            )
            found[trial.task_id, trial.arm, trial.seed, trial.repeat] = verdict.outcome
    return found


def _sets(path: Path) -> str:
    number = len(SetStore.open(path).state.sets)
    return f"{path}: every entry seals those before it, and no burned task is in a holdout ({number} sets)"


def _not_derived(folder: RunFolder) -> Iterator[str]:
    """What the summary says and the ledger does not."""
    summary, lines = read_summary(folder), list(read_jsonl(folder.outcomes))
    quarantined = {one["task_id"]: one["reasons"] for one in summary.get("quarantined", ())}
    again = results.summarise(lines, name=summary["name"], rejected=summary["census"]["rejected_rows"], costs=(),
                              executions=(), wall_seconds=0.0, quarantined=quarantined)  # fmt: skip
    for part in ("census", "outcomes", "arms", "flaky"):
        # Through JSON, as the file has been: tuples are lists there.
        if json.loads(json.dumps(again[part])) != summary[part]:
            yield f"summary.json: {part} does not follow from outcomes.jsonl"
    last: dict[results.Identity, Mapping[str, Any]] = {}
    for score in LedgerReader(folder.ledger).rows("score", ["task_id", "arm", "seed", "repeat", "outcome"]):
        last[results.identity(score)] = score
    for line in lines:
        row = last.get(results.identity(line))
        told = row["outcome"] if row is not None else "nothing"
        if line["outcome"] not in {told, Outcome.MISSING.value}:
            named = f"{line['task_id']}, arm {line['arm']}, seed {line['seed']}"
            yield f"outcomes.jsonl: {named} is {line['outcome']}, the ledger says {told}"


def _print(found: list[Invariant]) -> None:
    table = Table(title="the eight invariants", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("invariant", max_width=34)
    table.add_column("what was seen")
    marks = {True: Text("holds", style="green"), False: Text("broken", style="red"), None: Text("open", style="yellow")}
    for one in found:
        table.add_row(str(one.number), marks[one.holds], one.name, Text(one.saw))
    screen.console().print(table)
