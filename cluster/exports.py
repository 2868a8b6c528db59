"""Results for other tools: tables of outcomes, and the report files of the SWE-bench harness (schema version 2)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.ledger import LedgerReader, write_table
from cluster.rows import unpack_tests
from cluster.rundir import RunFolder, write_atomically, write_json
from parsimony.execution import TestStatus
from parsimony.scorer import Outcome

Line = Mapping[str, Any]


def write(form: str, lines: Sequence[Line], folder: RunFolder, out: Path) -> list[Path]:
    """Write `lines` (of outcomes.jsonl) below `out`; returns the files that a person wants to know of.

    Args:
        form: `parquet`, `csv` or `swebench`.
    """
    out.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        path = out / "outcomes.parquet"
        write_table(path, [_flat(line) for line in lines])
        return [path]
    if form == "csv":
        path = out / "outcomes.csv"
        write_atomically(path, _csv([_flat(line) for line in lines]))
        return [path]
    return list(_swebench(lines, folder, out))


def _flat(line: Line) -> dict[str, Any]:
    """An outcome line as a row of a table: no nesting, gates as four counts."""
    flat = {k: v for k, v in line.items() if k not in {"score", "reasons"}}
    flat["reasons"] = "; ".join(line["reasons"])
    for gate in ("fail_to_pass", "pass_to_pass"):
        found = (line["score"] or {}).get(gate) or {}
        flat[f"{gate}_total"], flat[f"{gate}_passed"] = found.get("total"), found.get("passed")
    return flat


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["task_id"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


_RUN = {Outcome.RESOLVED.value, Outcome.NOT_RESOLVED.value, Outcome.TAMPERED.value}
_ERRORS = {Outcome.DOES_NOT_APPLY.value, Outcome.TIMED_OUT.value, Outcome.OUT_OF_MEMORY.value}


def _swebench(lines: Sequence[Line], folder: RunFolder, out: Path) -> Iterator[Path]:
    """One report per arm and seed, and a `report.json` per graded instance where the harness would put it.

    Outcomes that the harness has no word for go where it would put them: a patch that does not apply, a time-out and
    out-of-memory are errors; tampered is unresolved; missing is incomplete.
    """
    executions = {row["execution_key"]: row for row in LedgerReader(folder.ledger).rows("execution")}
    for arm, seed in dict.fromkeys((line["arm"], line["seed"]) for line in lines):
        chosen = [x for x in lines if (x["arm"], x["seed"], x["repeat"]) == (arm, seed, 0)]
        by = {x["task_id"]: x["outcome"] for x in chosen}
        run = f"seed-{seed}"
        model = arm.replace("/", "__")

        def ids(*outcomes: str, by: Mapping[str, str] = by) -> list[str]:
            return sorted(task for task, outcome in by.items() if outcome in outcomes)

        lists = {
            "completed_ids": ids(*_RUN),
            "incomplete_ids": ids(Outcome.MISSING.value),
            "empty_patch_ids": ids(Outcome.EMPTY_PATCH.value),
            "submitted_ids": sorted(x["task_id"] for x in chosen if x["patch_ref"]),
            "resolved_ids": ids(Outcome.RESOLVED.value),
            "unresolved_ids": ids(Outcome.NOT_RESOLVED.value, Outcome.TAMPERED.value),
            "error_ids": ids(*_ERRORS),
        }
        counts = {
            "total_instances": len(by),
            **{
                f"{name.removesuffix('_ids')}_instances": len(found)
                for name, found in lists.items()
                if name != "incomplete_ids"
            },
        }
        path = out / f"{model}.{run}.json"
        write_json(path, {**counts, **lists, "schema_version": 2})
        for line in chosen:
            if line["outcome"] in _RUN and line["execution_key"] in executions:
                place = out / "logs" / "run_evaluation" / run / model / line["task_id"]
                place.mkdir(parents=True, exist_ok=True)
                write_json(place / "report.json", _instance_report(line, executions[line["execution_key"]]))
        yield path


def _instance_report(line: Line, execution: Mapping[str, Any]) -> dict[str, Any]:
    """The harness's own per-instance report. It knows test names, so every test of the run is listed by its status."""
    tests = unpack_tests(execution["tests"])
    good = {TestStatus.PASSED, TestStatus.XPASS, TestStatus.XFAIL}
    return {
        line["task_id"]: {
            "patch_is_None": False,
            "patch_exists": True,
            "patch_successfully_applied": True,
            "resolved": line["outcome"] == Outcome.RESOLVED.value,
            "parsimony": {
                "outcome": line["outcome"],
                "score": line["score"],
                "reasons": line["reasons"],
                "tests_passed": sorted(name for name, one in tests.items() if one.status in good),
                "tests_not_passed": sorted(name for name, one in tests.items() if one.status not in good),
            },
        }
    }
