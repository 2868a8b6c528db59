"""Costs in words, the same in a terminal and on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from parsimony.cost_ledger.entries import Total
from parsimony.cost_ledger.prices import MICRO
from parsimony.cost_ledger.ranking import Ranked
from parsimony.cost_ledger.reconcile import Reconciliation


def dollars(value: float | None) -> str:
    """An amount with three digits that tell something: `$1,234.50`, `$0.0142`; a dash for what is not known."""
    if value is None:
        return "–"
    if value < 0:
        return f"−{dollars(-value)}"
    if value == 0 or value >= 10:
        return f"${value:,.2f}"
    return f"${value:.{min(9, 2 - math.floor(math.log10(value)))}f}"


def exact(micro_dollars: int) -> str:
    """An amount to the last micro-dollar: `$12.345678`."""
    whole, rest = divmod(abs(micro_dollars), MICRO)
    return f"{'−' if micro_dollars < 0 else ''}${whole:,}.{rest:06d}"


def standing(one: Ranked) -> str:
    """What the ranking says about an arm beside its rank."""
    if one.cost.missing:
        return f"{one.cost.missing} verdicts missing"
    if one.cost.per_candidate is None:
        return "cost not known"
    if one.dominated_by:
        return f"dominated by {one.dominated_by}"
    return "worth its price" if one.convex else "a mix does as well"


def basis(ranked: Sequence[Ranked]) -> str:
    """What the dollars are made of, and of which days their prices are."""
    graded = any(one.cost.with_grading for one in ranked)
    what = "producing and grading once" if graded else "producing alone: no price of computing"
    days = sorted({day for one in ranked if one.cost.days for day in one.cost.days})
    if not days:
        return f"{what}; dollars as told"
    return f"{what}; prices of {days[0]}" + (f" to {days[-1]}" if days[-1] != days[0] else "")


def notes(ranked: Sequence[Ranked]) -> list[str]:
    """What is not known, an arm each."""
    told = []
    for one in ranked:
        cost = one.cost
        if cost.missing:
            told.append(
                f"{cost.arm}: {cost.missing} of {cost.candidates} verdicts are missing: bounds, no rate, rank or ratio"
            )
        if cost.untold:
            why = "tell no usage, or tokens without a price: their cost is not known"
            told.append(f"{cost.arm}: {cost.untold} candidates {why}")
        if cost.with_grading and cost.compute.unpriced:
            told.append(
                f"{cost.arm}: {cost.compute.unpriced} gradings have no peak of memory, which has a price; what they"
                " cost is not known"
            )
    return told


def reconciled(found: Reconciliation) -> list[str]:
    """The reconciliation as equations; what does not agree is not among them."""
    (ours, ledger), (ours_graded, graded) = found.llm, found.grading
    lines = [
        f"producing: {_exact(ours)} by candidates, {_exact(ledger)} in {ledger.rows:,} rows of the ledger",
        f"grading: {_exact(ours_graded)} by candidates, {_exact(graded)} in {graded.rows:,} rows",
    ]
    spent = f"{_exact(found.spent)} spent on {found.spent.rows:,} executions"
    again = f"{_exact(found.shared)} again for {found.shared.rows:,} rows that share one of them"
    lines.append(f"{_exact(found.attributed)} attributed = {spent} + {again}")
    for why, total in found.other.items():
        lines.append(f"beside the candidates: {_exact(total)} in {total.rows:,} rows for {why}")
    return lines


def _exact(total: Total) -> str:
    """The dollars of a total; the seconds of processor time where none of its rows has a price."""
    if total.rows and total.unpriced == total.rows:
        return f"{total.cpu_seconds:,.3f} CPU-s"
    return exact(total.micro_dollars)
