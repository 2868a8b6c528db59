"""Footprints of a run as records: one per candidate, in the format of results files (docs/footprint-commands.md)."""

from __future__ import annotations

import json
import platform
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster.basefiles import BaseFiles
from cluster.ledger import LedgerReader
from cluster.measuring import wanted
from cluster.rundir import RunFolder
from parsimony.artifacts.records import analyzer_commit, record_track
from parsimony.artifacts.submission import evaluation_result
from parsimony.footprint import ANALYZER_VERSION, source_sha256
from parsimony.footprint.graded import measure_graded
from parsimony.measurements import Record
from parsimony.measurements.record import SCHEMA_VERSION
from parsimony.runner import FootprintWanted
from parsimony.scorer import Outcome
from parsimony.tasks import Task

Row = Mapping[str, Any]

_LONGEST_KEPT: Final = 1 << 20
"""Bytes of an applied patch that the ledger keeps; a longer one cannot be measured again."""

_CATEGORIES: Final = {Outcome.RESOLVED: (), Outcome.EMPTY_PATCH: ("no_generation",), Outcome.MISSING: ()}


@dataclass(frozen=True, slots=True)
class Measured:
    """What the ledger of a run says of the footprints of its executions, by execution key."""

    found: Mapping[str, Mapping[str, Any] | None]

    @classmethod
    def read(
        cls, reader: LedgerReader, folder: RunFolder, tasks: Mapping[str, Task], keys: set[str], track: str
    ) -> Measured:
        """Read them; what was measured by another track or another analyzer is measured again from what was kept."""
        found: dict[str, Mapping[str, Any] | None] = {}
        stale: dict[str, FootprintWanted] = {}
        for row in reader.rows("execution", ["execution_key", "task_id", "footprint", "base_files", "apply_strategy"]):
            key, task = row["execution_key"], tasks.get(row["task_id"])
            if key not in keys or key in found or task is None:
                continue
            how = wanted(task, track)
            stored = json.loads(row["footprint"]) if row["footprint"] else None
            found[key] = stored if how is not None else None
            if how is not None and row["apply_strategy"] and row["base_files"] and not _current(stored, how):
                stale[key] = how
        files = BaseFiles(folder.base)
        for key, how in stale.items():
            if (again := _again(next(iter(reader.find("execution", "execution_key", key))), how, files)) is not None:
                found[key] = again
        return cls(found)


def _current(stored: Mapping[str, Any] | None, how: FootprintWanted) -> bool:
    if stored is None or "provenance" not in stored:
        # An error stays what it is until the candidate is graded again, but a parser may be here by now.
        return stored is not None and "parser_missing" not in stored
    made = stored["provenance"]
    same_analyzer = (made["analyzer_version"], made["analyzer_source_sha256"]) == (ANALYZER_VERSION, source_sha256())
    return same_analyzer and (made["track"], made["language"]) == (how.track, how.language)


def _again(row: Row, how: FootprintWanted, files: BaseFiles) -> dict[str, Any] | None:
    applied = row["applied_patch"] or b""
    if not applied or len(applied) >= _LONGEST_KEPT:
        return None
    base = {
        path: None if digest is None else files.get(digest)
        for path, digest in json.loads(row["base_files"] or "{}").items()
    }
    return measure_graded(base, applied, how.fix, track=how.track, language=how.language)


def records(
    lines: Sequence[Row], tasks: Mapping[str, Task], measured: Measured, track: str
) -> Iterator[dict[str, Any]]:
    """A record per candidate (repeats share theirs), sorted by arm, task and seed.

    Args:
        lines: of `outcomes.jsonl`.
        track: of the sweep.
    """
    first = [line for line in lines if line["repeat"] == 0]
    planned = Counter((line["arm"], line["seed"]) for line in first)
    resolved = Counter((x["arm"], x["seed"]) for x in first if x["outcome"] == Outcome.RESOLVED.value)
    for line in sorted(first, key=lambda x: (x["arm"], x["task_id"], x["seed"])):
        task = tasks.get(line["task_id"])
        how = wanted(task, track) if task is not None else None
        if task is None or how is None:
            continue
        yield {
            **_finding(line, measured.found.get(line["execution_key"])),
            "provenance": {
                "instance_id": task.instance_id,
                "repo": task.repo,
                "base_commit": task.base_commit,
                "patch_sha256": (line["patch_ref"] or "").removeprefix("sha256:") or None,
            },
            **_identity(how),
            **_outcome(line),
            "agent": line["arm"],
            "task_id": line["task_id"],
            "seed": line["seed"],
            "benchmark_tasks": planned[line["arm"], line["seed"]],
            "published_resolved_count": resolved[line["arm"], line["seed"]],
            "resolve_rate": resolved[line["arm"], line["seed"]] / planned[line["arm"], line["seed"]],
        }


def _finding(line: Row, found: Mapping[str, Any] | None) -> dict[str, Any]:
    """The measurement, or why there is none, and what made it."""
    nothing = {"metrics": None, "human_metrics": None, "model_human_ratio": None}
    made = {"analyzer_version": ANALYZER_VERSION, "analyzer_source_sha256": source_sha256(),
            "python_version": platform.python_version()}  # fmt: skip
    if found is None:
        if line["outcome"] in {Outcome.EMPTY_PATCH, Outcome.MISSING}:
            return {**made, **nothing, "analysis_status": "missing_patch"}
        return {**made, **nothing, "analysis_status": "error", "analysis_error": _why(line)}
    told = found.get("provenance") or {}
    return {**nothing, **found, **{name: told.get(name, here) for name, here in made.items()}}


def _why(line: Row) -> str:
    if line["outcome"] == Outcome.DOES_NOT_APPLY:
        return "the patch does not apply"
    return "no base files are kept of this grading; it was made by an older runner, or without footprints"


def _identity(how: FootprintWanted) -> dict[str, Any]:
    track = record_track(how.track, how.language)
    return {
        "analyzer_commit": analyzer_commit(),
        "schema_version": SCHEMA_VERSION,
        **({} if track is None else {"measurement_track": dict(track)}),
    }


def _outcome(line: Row) -> dict[str, Any]:
    outcome = Outcome(line["outcome"])
    categories = _CATEGORIES.get(outcome, ("not_resolved",))
    return {
        "outcome": outcome.value,
        "resolved": outcome is Outcome.RESOLVED,
        "published_result_categories": list(categories),
        "evaluation_result": evaluation_result(categories, resolved=outcome is Outcome.RESOLVED),
    }


def summarise(raw: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Footprints per arm and language for the summary: means over solved attempts that are measured and in scope."""
    arms: dict[str, dict[str, list[Record]]] = {}
    for record in map(Record.from_json, raw):
        language = str(record.track["language"]) if record.track else "python"
        arms.setdefault(record.agent, {}).setdefault(language, []).append(record)
    return {arm: {name: _means(found) for name, found in sorted(one.items())} for arm, one in arms.items()}


def _means(found: Sequence[Record]) -> dict[str, Any]:
    solved = [record for record in found if record.resolved]
    counted = [m for record in solved if (m := record.measured) is not None and not m.out_of_scope]
    ratios = [record.model_human_ratio for record in solved if record.model_human_ratio is not None]
    return {
        "attempts": len(found),
        "solved": len(solved),
        "measured": len(counted),
        "mean_net_units": statistics.fmean(m.net_units or 0 for m in counted) if counted else None,
        "mean_churn": statistics.fmean(m.churn or 0 for m in counted) if counted else None,
        "median_model_human_ratio": statistics.median(ratios) if ratios else None,
    }
