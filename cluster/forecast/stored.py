"""The forecast in the folder of a run (`plan.json`): written when it starts, completed with its own error after it."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from cluster.forecast.error import forecast_error
from cluster.forecast.model import SCHEMA, Forecast
from cluster.ledger import LedgerReader
from cluster.rundir import write_json
from parsimony.cost_ledger import PriceTable
from parsimony.errors import InputError


def write_forecast(path: Path, forecast: Forecast) -> None:
    """Keep `forecast` as the one that the run which starts now is held against."""
    write_json(path, forecast.as_json())


def complete_forecast(
    path: Path, reader: LedgerReader, keys: Collection[str], wall_seconds: float, prices: PriceTable
) -> None:
    """Write down what came of a forecast.

    Args:
        keys: of the jobs that were pending when it was made.
        wall_seconds: from the start of the command to the end of its last job.
    """
    plan = read_forecast(path)
    if plan is None:
        return
    columns = ["execution_key", "cpu_seconds", "wall_seconds", "peak_memory_bytes"]
    rows = {row["execution_key"]: row for row in reader.rows("execution", columns) if row["execution_key"] in keys}
    actual = forecast_error(plan, rows.values(), wall_seconds, prices)
    write_json(path, {**plan, "actual": {"at": time.time(), **actual}})


def read_forecast(path: Path) -> dict[str, Any] | None:
    """The forecast of a run; None where there is none, or one that this version cannot read.

    Raises:
        InputError: it is damaged.
    """
    try:
        plan = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise InputError("is damaged", mend="remove it; the next run writes it again", file=str(path)) from None
    return plan if isinstance(plan, dict) and plan.get("schema") == SCHEMA else None


def forecast_of_summary(path: Path) -> dict[str, Any] | None:
    """What a summary says of the forecast: its error; None where no run has completed one."""
    plan = read_forecast(path)
    return None if plan is None else plan.get("actual")
