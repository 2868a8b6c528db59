"""What was paid for executing things, by the arm that asked first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date

from parsimony.cost_ledger.entries import Kind, Total, priced
from parsimony.cost_ledger.prices import PriceTable
from parsimony.cost_ledger.rows import CostRow, RowKind
from parsimony.runs import Spend


def spent_by_arm(
    rows: Iterable[CostRow], tasks: Collection[str], table: PriceTable, at: date | None = None
) -> dict[str, Total]:
    """Every execution once, with the arm of the candidate that it decided first.

    Args:
        rows: of a run's ledger. tasks: those that count.

    Raises:
        InputError: an execution cannot be priced.
    """
    found: dict[str, list[tuple[Spend, int | None]]] = {}
    for row in rows:
        if row.kind is RowKind.SPENT and row.task_id in tasks:
            name = f"{row.task_id}, arm {row.arm}, seed {row.seed} (in the ledger)"
            dollars = priced(Kind.COMPUTE, row.spend, table, at, name=name)[1]
            found.setdefault(row.arm, []).append((row.spend, dollars))
    return {arm: Total.of(some) for arm, some in found.items()}
