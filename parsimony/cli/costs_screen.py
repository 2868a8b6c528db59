"""Costs in a terminal, 100 columns at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from parsimony.cli import screen
from parsimony.cost_ledger import PriceTable, Ranked, Reconciliation, Total, wording
from parsimony.cost_ledger.prices import MICRO


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to tell.

    Attributes:
        spent: what was executed for each arm. found: the reconciliation, where one was asked for.
        left_out: quarantined tasks, in no number, as `Run.left_out`.
    """

    ranked: Sequence[Ranked]
    spent: Mapping[str, Total]
    table: PriceTable
    left_out: Sequence[Mapping[str, Any]]
    found: Reconciliation | None


def show(told: Told) -> None:
    """Print the costs of arms and, where there is one, their reconciliation."""
    out = screen.console()
    out.print(board(told))
    out.print()
    out.print(worth(told.ranked))
    out.print(Text(f"dollars of {wording.basis(told.ranked)}", style="dim"))
    for note in (*wording.notes(told.ranked), *screen.quarantine_lines({"quarantined": told.left_out})):
        out.print(Text(note))
    if not told.table.compute:
        out.print(Text("grading has no price here: name a file with a price of computing with --prices"))
    if told.found is not None:
        _reconciliation(told.found)


def board(told: Told) -> Table:
    """Dollars: a row per arm, the best first."""
    table = Table(title="cost by arm, in dollars", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("arm", overflow="fold", max_width=18)
    for heading in ("rate", "LLM", "computing", "spent", "a candidate", "a resolved"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for one in told.ranked:
        cost = one.cost
        table.add_row(
            "–" if one.rank is None else str(one.rank),
            Text(cost.arm),
            rate(one),
            amount(cost.llm, known=not cost.untold),
            amount(cost.compute),
            amount(told.spent.get(cost.arm, Total())),
            wording.dollars(None if cost.per_candidate is None else float(cost.per_candidate) / MICRO),
            wording.dollars(cost.ratios()["dollars_per_resolved"]),
            Text(wording.standing(one)),
        )
    return table


def worth(ranked: Sequence[Ranked]) -> Table:
    """Resolved candidates per unit of what was spent, and how the costs of candidates are spread."""
    table = Table(
        title="resolved per unit, and dollars of producing one candidate", title_justify="left",
        show_edge=False, pad_edge=False,
    )  # fmt: skip
    table.add_column("arm", overflow="fold", max_width=18)
    for heading in ("resolved", "/ dollar", "/ M tokens", "/ hour", "/ CPU-s", "median", "95 %", "most"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in ranked:
        cost, ratios, spread = one.cost, one.cost.ratios(), one.cost.spread()
        table.add_row(
            Text(cost.arm),
            f"{cost.resolved} / {cost.candidates}",
            number(ratios["resolved_per_dollar"]),
            number(ratios["resolved_per_million_tokens"]),
            number(ratios["resolved_per_wall_hour"]),
            number(ratios["resolved_per_cpu_second"]),
            *(wording.dollars(None if value is None else value / MICRO) for value in spread.values()),
        )
    return table


def number(value: float | None) -> str:
    """A ratio with three digits; a dash for what is not known."""
    return "–" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def rate(one: Ranked) -> str:
    """The rate, or its bounds while verdicts are missing."""
    if one.cost.rate is not None:
        return screen.percent(float(one.cost.rate))
    if one.cost.bounds is None:
        return "–"
    low, high = map(float, one.cost.bounds)
    return f"{100 * low:.0f}–{100 * high:.0f} %"


def amount(total: Total, *, known: bool = True) -> str:
    """The dollars of a total, a dash where a part of it is not known."""
    if not known or not total.rows or total.unpriced:
        return "–"
    return wording.dollars(total.micro_dollars / MICRO)


ROWS: Final = 10
"""How many rows that differ are printed; `--json` has all."""


def _reconciliation(found: Reconciliation) -> None:
    out = screen.console()
    out.print()
    for line in wording.reconciled(found):
        out.print(Text(line))
    for one in found.differences:
        out.print(Text(f"does not agree: {one}", style="red"))
    for row in found.rows[:ROWS]:
        out.print(Text(f"  {row}"))
    if len(found.rows) > ROWS:
        out.print(Text(f"  and {len(found.rows) - ROWS} rows more; --json has all"))
    if not found.differences:
        out.print(Text("reconciled: candidates and ledger agree to the last micro-dollar, token and call"))
