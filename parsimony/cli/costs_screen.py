"""Costs in a terminal, 100 columns at most."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.table import Table
from rich.text import Text

from parsimony.cli import screen
from parsimony.cost_ledger import PriceTable, Ranked, Reconciliation, Total, wording
from parsimony.cost_ledger.prices import MICRO


def show(
    ranked: Sequence[Ranked], table: PriceTable, quarantined: Collection[str], found: Reconciliation | None
) -> None:
    """Print the costs of arms and, where there is one, their reconciliation."""
    out = screen.console()
    out.print(board(ranked))
    out.print(Text(f"dollars of {wording.basis(ranked)}", style="dim"))
    for note in wording.notes(ranked):
        out.print(Text(note))
    if quarantined:
        out.print(Text(f"quarantined, in no rate and no sum above: {', '.join(sorted(quarantined))}"))
    if not table.compute:
        out.print(Text("grading has no price here: name a file with a price of computing with --prices"))
    if found is not None:
        _reconciliation(found)


def board(ranked: Sequence[Ranked]) -> Table:
    """A row per arm, the best first."""
    table = Table(title="cost by arm", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("arm", overflow="fold", max_width=18)
    for heading in ("rate", "producing", "grading", "$/resolved", "tokens/res.", "res./hour"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for one in ranked:
        cost, ratios = one.cost, one.cost.ratios()
        million, hour = ratios["resolved_per_million_tokens"], ratios["resolved_per_wall_hour"]
        table.add_row(
            "–" if one.rank is None else str(one.rank),
            Text(cost.arm),
            rate(one),
            amount(cost.llm, known=not cost.untold),
            amount(cost.compute),
            wording.dollars(ratios["dollars_per_resolved"]),
            f"{MICRO / million:,.0f}" if million else "–",
            f"{hour:.1f}" if hour else "–",
            Text(wording.standing(one)),
        )
    return table


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


def _reconciliation(found: Reconciliation) -> None:
    out = screen.console()
    out.print()
    for line in wording.reconciled(found):
        out.print(Text(line))
    for one in found.differences:
        out.print(Text(f"does not agree: {one}", style="red"))
    if not found.differences:
        out.print(Text("reconciled: candidates and ledger agree to the last micro-dollar, token and call"))
