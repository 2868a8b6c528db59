"""The cost rows of a run's ledger, as `parsimony.cost_ledger` reckons with them, and prices before a run starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from cluster.ledger import LedgerReader
from cluster.rows import epoch
from parsimony.cost_ledger import Kind, PriceTable
from parsimony.cost_ledger.entries import priced
from parsimony.cost_ledger.rows import CostRow, RowKind
from parsimony.runs import Spend
from parsimony.tasks import Candidate


def cost_rows(reader: LedgerReader, peaks: Mapping[str, int | None]) -> list[CostRow]:
    """All of them, in the order in which they were recorded.

    A grading has the day on which it was executed, also where it decides a candidate that came later: that day it was
    paid for.

    Args:
        peaks: peak of memory in bytes by execution key.
    """
    rows = list(reader.rows("cost"))
    days = {row["execution_key"]: _day(row) for row in reversed(rows) if row["kind"] == RowKind.SPENT}
    return [_row(row, peaks, days) for row in rows]


def check_prices(candidates: Iterable[Candidate], table: PriceTable, today: date) -> None:
    """See that whatever a run will have to price has a price: before hours of grading, not after.

    Raises:
        InputError: a candidate that tells its usage, or computing, has none; names the row, the model and the file.
    """
    table.processor(today)
    for one in candidates:
        if one.usage is None:
            continue
        spend = Spend(
            input_tokens=one.usage.input_tokens or 0,
            cached_tokens=one.usage.cached_tokens or 0,
            output_tokens=one.usage.output_tokens or 0,
            micro_dollars=None if one.usage.dollars is None else 0,  # as told, whatever it is
            model=one.usage.model,
        )
        name = f"{one.instance_id}, arm {one.arm}, seed {one.seed} ({one.source})"
        priced(Kind.LLM, spend, table, one.usage.day or today, name=name)


def _row(row: Mapping[str, Any], peaks: Mapping[str, int | None], days: Mapping[str | None, date | None]) -> CostRow:
    kind, key = RowKind(row["kind"]), row["execution_key"]
    llm = kind is RowKind.LLM
    day = _produced(row) if llm else days.get(key, _day(row))
    spend = spend_of(row, None if llm else peaks.get(key), day)
    return CostRow(kind, row["task_id"], row["arm"], row["seed"], row["repeat"], key, spend)


def spend_of(row: Mapping[str, Any], peak: int | None, day: date | None) -> Spend:
    """What a row of kind `cost` tells.

    Args:
        peak: of memory in bytes, for what is graded. day: of which prices count.
    """
    return Spend(
        input_tokens=row["input_tokens"] or 0,
        cached_tokens=row["cached_tokens"] or 0,
        output_tokens=row["output_tokens"] or 0,
        calls=row["calls"] or 0,
        cpu_seconds=row["cpu_seconds"] or 0.0,
        wall_seconds=row["wall_seconds"] or 0.0,
        micro_dollars=row["micro_dollars"],
        model=row["model"],
        peak_memory_bytes=peak,
        day=day,
    )


def _produced(row: Mapping[str, Any]) -> date | None:
    """The day that the prediction tells, else the one on which it came into the run."""
    return date.fromisoformat(row["day"]) if row["day"] else _day(row)


def _day(row: Mapping[str, Any]) -> date | None:
    at = row["recorded_at"]
    return None if at is None else datetime.fromtimestamp(epoch(at), UTC).date()
