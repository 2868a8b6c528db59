"""Executions and verdicts as rows of the ledger, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cluster.plan import Unit, Work
from parsimony.canonical import canonical_json
from parsimony.execution import (
    ApplyRecord,
    CapturedOutput,
    Evidence,
    Execution,
    ExecutionOutcome,
    ResourceUsage,
    TestResult,
    TestStatus,
)
from parsimony.scorer import SCORER_VERSION, Verdict
from parsimony.tasks import Usage

Row = dict[str, Any]


def execution_row(
    execution: Execution,
    work: Work,
    *,
    patch_ref: str,
    log_file: str,
    recorded_at: float,
    base_files: Mapping[str, str | None] = MappingProxyType({}),
) -> Row:
    """A row of kind `execution`.

    Args:
        base_files: path -> digest of the content before the patch, None where there was no file.
    """
    return {
        "execution_key": execution.execution_key,
        "task_id": work.task.instance_id,
        "patch_ref": patch_ref,
        "task_digest": work.task.digest,
        "environment_digest": work.environment,
        "image_digest": execution.image_digest,
        "sandbox": execution.sandbox,
        "runner_version": execution.runner_version,
        "repeat": work.repeat,
        "variant": work.variant,
        "outcome": execution.outcome.value,
        "exit_status": execution.exit_status,
        "evidence": execution.evidence.value,
        "reasons": list(execution.reasons),
        "apply_strategy": execution.apply.strategy,
        "repairs": list(execution.apply.repairs),
        "restored": list(execution.apply.restored),
        "apply_messages": execution.apply.messages,
        "wall_seconds": execution.usage.wall_seconds,
        "cpu_seconds": execution.usage.cpu_seconds,
        "peak_memory_bytes": execution.usage.peak_memory_bytes,
        "phases": json.dumps(dict(execution.phases)),
        "tests": pack_tests(execution.tests),
        "applied_patch": execution.applied_patch,
        "log_bytes": execution.log.total_bytes,
        "log_file": log_file,
        "started_at": execution.started_at,
        "recorded_at": recorded_at,
        "footprint": json.dumps(execution.footprint) if execution.footprint is not None else None,
        "base_files": json.dumps(dict(base_files)) if base_files else None,
    }


def execution_from_row(row: Mapping[str, Any]) -> Execution:
    """The execution of a row; its log is in `log_file` and not part of it."""
    return Execution(
        execution_key=row["execution_key"],
        outcome=ExecutionOutcome(row["outcome"]),
        exit_status=row["exit_status"],
        tests=unpack_tests(row["tests"]),
        evidence=Evidence(row["evidence"]),
        reasons=tuple(row["reasons"] or ()),
        apply=ApplyRecord(
            strategy=row["apply_strategy"],
            repairs=tuple(row["repairs"] or ()),
            restored=tuple(row["restored"] or ()),
            messages=row["apply_messages"] or "",
        ),
        usage=ResourceUsage(row["wall_seconds"], row["cpu_seconds"], row["peak_memory_bytes"]),
        phases=json.loads(row["phases"] or "{}"),
        log=CapturedOutput(total_bytes=row["log_bytes"] or 0),
        sandbox=row["sandbox"],
        runner_version=row["runner_version"],
        started_at=epoch(row["started_at"]),
        image_digest=row["image_digest"],
        applied_patch=row["applied_patch"] or b"",
    )


def epoch(value: Any) -> float:
    """Epoch seconds of a time as the ledger gives it."""
    return float(value.timestamp() if hasattr(value, "timestamp") else value)


def pack_tests(tests: Mapping[str, TestResult]) -> bytes:
    """Test results as compressed canonical JSON: {id: [status, seconds]}."""
    plain = {name: [one.status.value, one.seconds] for name, one in tests.items()}
    return zlib.compress(canonical_json(plain), 6)


def unpack_tests(data: bytes | None) -> dict[str, TestResult]:
    """What `pack_tests` packed."""
    if not data:
        return {}
    plain = json.loads(zlib.decompress(data))
    return {name: TestResult(TestStatus(status), seconds) for name, (status, seconds) in plain.items()}


def score_row(
    unit: Unit, verdict: Verdict, *, score_key: str, execution: Execution | None, attempts: int, recorded_at: float
) -> Row:
    """A row of kind `score`: the terminal record of a unit."""
    return {
        "task_id": unit.task.instance_id,
        "arm": unit.arm,
        "seed": unit.seed,
        "repeat": unit.repeat,
        "execution_key": unit.key,
        "score_key": score_key,
        "patch_ref": unit.candidate.patch_ref if unit.candidate else None,
        "outcome": verdict.outcome.value,
        "evidence": verdict.evidence.value,
        "reasons": list(verdict.reasons),
        "attempts": attempts,
        "wall_seconds": execution.usage.wall_seconds if execution else None,
        "cpu_seconds": execution.usage.cpu_seconds if execution else None,
        "peak_memory_bytes": execution.usage.peak_memory_bytes if execution else None,
        "apply_strategy": execution.apply.strategy if execution else None,
        "score": json.dumps(verdict.score.to_json()) if verdict.score else None,
        "scorer_version": SCORER_VERSION,
        "recorded_at": recorded_at,
    }


def llm_cost_row(unit: Unit, usage: Usage, *, recorded_at: float) -> Row:
    """A row of kind `cost`: what producing the candidate cost, as its prediction told."""
    return {
        **_cost_identity(unit, "llm", recorded_at),
        "model": usage.model,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "calls": usage.calls,
        "cpu_seconds": usage.cpu_seconds,
        "wall_seconds": usage.wall_seconds,
        "micro_dollars": round(usage.dollars * 1_000_000) if usage.dollars is not None else None,
        "day": usage.day.isoformat() if usage.day is not None else None,
    }


def compute_cost_row(unit: Unit, execution: Execution, *, spent: bool, recorded_at: float) -> Row:
    """A row of kind `cost`: what grading cost. `spent` once per execution; `attributed` to every unit it decided, as
    if each had been graded alone."""
    return {
        **_cost_identity(unit, "compute_spent" if spent else "compute_attributed", recorded_at),
        "execution_key": execution.execution_key,  # under another condition it is not the unit's
        "cpu_seconds": execution.usage.cpu_seconds,
        "wall_seconds": execution.usage.wall_seconds,
    }


def _cost_identity(unit: Unit, kind: str, recorded_at: float) -> Row:
    return {
        "task_id": unit.task.instance_id,
        "arm": unit.arm,
        "seed": unit.seed,
        "repeat": unit.repeat,
        "execution_key": unit.key,
        "kind": kind,
        "recorded_at": recorded_at,
    }
