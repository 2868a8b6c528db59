"""How wrong a forecast was, once the run that it was made for is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from cluster.forecast.model import Estimate
from parsimony.cost_ledger import Kind, PriceTable
from parsimony.cost_ledger.entries import priced
from parsimony.errors import InputError
from parsimony.runs import Spend

MEASURED = ("wall_seconds", "cpu_hours", "dollars")
"""What is held against the forecast."""


def forecast_error(
    plan: Mapping[str, Any], executions: Iterable[Mapping[str, Any]], wall_seconds: float, prices: PriceTable
) -> dict[str, Any]:
    """Actual beside forecast, for each of `MEASURED`.

    Args:
        plan: of `Forecast.as_json`.
        executions: rows of the jobs that were pending when it was made.
        wall_seconds: from the start of the command to the end of its last job.

    Returns:
        `{jobs, recorded, wall_seconds: {expected, low, high, actual, error, inside}, ...}`; `error` is actual over
        expected less 1. Where not every pending job has an execution nothing can be compared: `error` and `inside` are
        None.
    """
    rows = list(executions)
    pending = plan["jobs"]["pending"]
    complete = len(rows) == pending and pending > 0
    cpu = [row["cpu_seconds"] for row in rows]
    actual: dict[str, float | None] = {
        "wall_seconds": wall_seconds,
        "cpu_hours": sum(x or 0.0 for x in cpu) / 3600 if None not in cpu else None,
        "dollars": _dollars(rows, prices),
    }
    found: dict[str, Any] = {"jobs": pending, "recorded": len(rows)}
    for name in MEASURED:
        estimate = Estimate(**plan[name])
        value = actual[name]
        compared = complete and value is not None and bool(estimate.expected)
        found[name] = {
            "expected": estimate.expected,
            "low": estimate.low,
            "high": estimate.high,
            "actual": value,
            "error": value / estimate.expected - 1 if compared and value is not None and estimate.expected else None,
            "inside": estimate.holds(value) if compared else None,
        }
    return found


def _dollars(rows: Iterable[Mapping[str, Any]], prices: PriceTable) -> float | None:
    today, total = datetime.now(UTC).date(), 0
    for row in rows:
        spend = Spend(
            cpu_seconds=row["cpu_seconds"] or 0.0,
            wall_seconds=row["wall_seconds"] or 0.0,
            peak_memory_bytes=row["peak_memory_bytes"],
        )
        try:
            micro = priced(Kind.COMPUTE, spend, prices, today, name="a grading")[1]
        except InputError:
            return None
        if micro is None:
            return None
        total += micro
    return total / 1e6
