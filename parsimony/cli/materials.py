"""From the folder of a run to what its candidates are measured on: patches, test results, base files."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from cluster.basefiles import BaseFiles as Stored
from cluster.basefiles import of_task
from cluster.finished import prices_of, read_run
from cluster.ledger import LedgerReader
from cluster.plan import load
from cluster.rundir import RunFolder, read_jsonl
from cluster.sweep import read_sweep
from parsimony.cost_ledger import with_prices
from parsimony.execution import TestStatus
from parsimony.reference import Reference
from parsimony.runs import Run, Trial
from parsimony.scorecard import Base, BaseFiles, Material, Materials, Trees
from parsimony.scorer import Outcome
from parsimony.tasks import Candidate, Task

_COLUMNS = ["execution_key", "task_id", "environment_digest", "exit_status", "apply_strategy", "tests", "applied_patch",
            "base_files"]  # fmt: skip

_STATUSES = {status.value: status for status in TestStatus}

Row = Mapping[str, Any]
Identity = tuple[str, str, int]


def open_run(root: Path, prices: Iterable[Path] = (), at: date | None = None) -> tuple[Run, Materials, BaseFiles]:
    """A run with its dollars, the material of its trials, and its base files.

    Args:
        prices, at: as `cluster.finished.read_priced_run`.

    Raises:
        InputError: the folder, or the inputs that its sweep names, cannot be read, or a candidate has no price.
    """
    folder = RunFolder.existing(root)
    table = prices_of(root, prices)
    inputs = load(read_sweep(folder.sweep))
    run = with_prices(read_run(root, inputs), table, at)
    candidates = {(one.instance_id, one.arm, one.seed): one for one in inputs.candidates}
    wanted = {trial.execution_key for trial in run.trials}
    rows: dict[str, Row] = {}
    row: Row
    for row in LedgerReader(folder.ledger).rows("execution", _COLUMNS):
        if row["execution_key"] in wanted:
            rows.setdefault(row["execution_key"], row)
    by_task: dict[str, list[Row]] = {}
    for row in rows.values():
        by_task.setdefault(row["task_id"], []).append(row)
    materials = _Materials(run.tasks, candidates, rows, inputs.reference, _variants(folder))
    return run, materials, _Kept(Stored(folder.base), by_task)


def _variants(folder: RunFolder) -> dict[Identity, dict[str, bool]]:
    """Whether a candidate is resolved, by the condition that it was graded under once more. Conditions that the task's
    own fix is not known to stand say nothing."""
    found: dict[Identity, dict[str, bool]] = {}
    for line in read_jsonl(folder.variants) if folder.variants.exists() else ():
        if line["holds"] is True and line["outcome"] != Outcome.MISSING.value:
            resolved = line["outcome"] == Outcome.RESOLVED.value
            found.setdefault((line["task_id"], line["arm"], line["seed"]), {})[line["variant"]] = resolved
    return found


@dataclass(slots=True)
class _Materials:
    """The material of a trial, from the ledger and the inputs of its run."""

    tasks: Mapping[str, Task]
    candidates: Mapping[Identity, Candidate]
    rows: Mapping[str, Row]
    reference: Reference | None
    variants: Mapping[Identity, Mapping[str, bool]]
    _skipped: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def __call__(self, trial: Trial, /) -> Material | None:
        candidate = self.candidates.get((trial.task_id, trial.arm, trial.seed))
        if candidate is None or candidate.patch_ref != trial.patch_ref:
            return None
        row = self.rows.get(trial.execution_key or "")
        if row is None:
            return Material(candidate.patch)
        return Material(
            candidate.patch,
            row["applied_patch"] if row["apply_strategy"] else None,
            _statuses(row["tests"]),
            self._skipped_by_gold(self.tasks[trial.task_id], row["environment_digest"]),
            row["exit_status"],
            self.variants.get((trial.task_id, trial.arm, trial.seed), {}),
        )

    def _skipped_by_gold(self, task: Task, environment: str) -> frozenset[str]:
        """Tests that every run of the task's own fix skips."""
        key = (task.instance_id, environment)
        if key not in self._skipped:
            found = self.reference.for_task(task, environment) if self.reference else None
            runs = found.gold.items() if found else ()
            self._skipped[key] = frozenset(test for test, seen in runs if set(seen) == {TestStatus.SKIPPED})
        return self._skipped[key]


def _statuses(packed: bytes | None) -> dict[str, TestStatus]:
    """Statuses by test, without the times: as `cluster.rows.unpack_tests`, for many rows."""
    if not packed:
        return {}
    return {name: _STATUSES[one[0]] for name, one in json.loads(zlib.decompress(packed)).items()}


@dataclass(slots=True)
class _Kept:
    """Base files: from the trees that tasks bring, else those that the gradings of a run brought back."""

    stored: Stored
    rows: Mapping[str, Sequence[Row]]
    _trees: Trees = field(default_factory=Trees)
    _task: str = ""
    _files: Base = field(default_factory=dict)

    def __call__(self, task: Task, paths: Sequence[str], /) -> Base:
        if task.tree is not None:
            return self._trees(task, paths)
        if self._task != task.instance_id:
            self._task, self._files = task.instance_id, of_task(self.rows.get(task.instance_id, ()), self.stored)
        return self._files
