"""The page of costs: what a resolved task costs each arm, what is worth its price, where the money went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from parsimony import __version__
from parsimony.cost_ledger import MICRO, PriceTable, Ranked, Reconciliation, Total, point, wording
from parsimony.report.pareto_plot import pareto_plot
from parsimony.report.plots import STYLE, short, svg_of
from parsimony.runs import Run
from parsimony.statistics import wilson

PRODUCING, GRADING = "#5b8db8", "#d9b44a"
MOST: Final = 25
"""How many of the dearest candidates the page names."""


def cost_page(
    run: Run,
    ranked: Sequence[Ranked],
    spent: Mapping[str, Total],
    table: PriceTable,
    found: Reconciliation | None,
) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        run: with its quarantined tasks. ranked: without. spent: what was executed for each arm.
        found: its reconciliation, where one was asked for.
    """
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"dollars": wording.dollars, "number": _number, "percent": _percent}
    points = [one for ranking in ranked if (one := point(ranking.cost)) is not None]
    return environment.get_template("cost.html.j2").render(
        run=run,
        tasks=len({trial.task_id for trial in run.trials} - run.quarantined.keys()),
        rows=[_row(one, spent.get(one.cost.arm, Total())) for one in ranked],
        basis=wording.basis(ranked),
        notes=wording.notes(ranked),
        headline=headline(ranked),
        pareto=pareto_plot(points, intervals=_intervals(ranked)) if points else "",
        parts=_parts(ranked),
        spread=_spread(ranked),
        dearest=_dearest(ranked),
        colours={"producing": PRODUCING, "grading": GRADING},
        prices=[*table.models, *table.compute],
        reconciled=wording.reconciled(found) if found else [],
        found=found,
        quarantined=run.left_out(),
        version=__version__,
    )


def headline(ranked: Sequence[Ranked]) -> str:
    """The best arm and what it costs, in one sentence."""
    known = [one for one in ranked if one.rank is not None and one.cost.dollars is not None]
    if not known:
        return "No arm has both a rate and a known cost: what follows is what is known."
    best = known[0]
    ratios = best.cost.ratios()
    told = f"{best.cost.arm} resolves {_percent(best.cost.rate)}"
    if ratios["dollars_per_resolved"] is not None:
        told += f" at {wording.dollars(ratios['dollars_per_resolved'])} a resolved task"
    cheapest = min(known, key=lambda one: one.cost.ratios()["dollars_per_resolved"] or float("inf"))
    dominated = [one.cost.arm for one in known if one.dominated_by]
    if cheapest is not best:
        least = wording.dollars(cheapest.cost.ratios()["dollars_per_resolved"])
        told += f"; the least is {least} with {cheapest.cost.arm}, which resolves {_percent(cheapest.cost.rate)}"
    if dominated:
        told += f". Not worth their price: {', '.join(dominated)}"
    return told + "."


def _row(one: Ranked, spent: Total) -> dict[str, Any]:
    cost = one.cost
    spread = {name: None if value is None else value / MICRO for name, value in cost.spread().items()}
    return {
        "it": one,
        "cost": cost,
        "ratios": cost.ratios(),
        "standing": wording.standing(one),
        "interval": None if cost.missing else wilson(cost.resolved, cost.candidates),
        "each": None if cost.per_candidate is None else float(cost.per_candidate) / MICRO,
        "producing": None if cost.untold else _dollars(cost.llm),
        "grading": _dollars(cost.compute),
        "spent": _dollars(spent),
        "executions": spent.rows,
        **spread,
    }


def _dollars(total: Total) -> float | None:
    """Dollars of a total; None where a part of it is not known."""
    return None if total.unpriced or not total.rows else total.micro_dollars / MICRO


def _intervals(ranked: Sequence[Ranked]) -> dict[str, tuple[float, float]]:
    found = {one.cost.arm: wilson(one.cost.resolved, one.cost.candidates) for one in ranked if not one.cost.missing}
    return {name: interval for name, interval in found.items() if interval is not None}


def _parts(ranked: Sequence[Ranked]) -> str:
    """Dollars per candidate: producing and grading once, stacked."""
    known = [one.cost for one in ranked if one.cost.per_candidate is not None]
    if not known:
        return ""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 1.0 + 0.5 * len(known)))
        axes = figure.subplots()
        for row, cost in enumerate(known):
            llm = sum(one.llm or 0 for one in cost.each) / cost.candidates / MICRO
            whole = float(cost.per_candidate or 0) / MICRO
            axes.barh(row, llm, color=PRODUCING, height=0.58)
            axes.barh(row, whole - llm, left=llm, color=GRADING, height=0.58)
            axes.text(whole, row, f" {wording.dollars(whole)}", va="center", fontsize=9)
        axes.set_yticks(range(len(known)), [short(cost.arm) for cost in known])
        axes.set_ylim(len(known) - 0.4, -0.6)
        axes.set_xlim(0, 1.22 * max(float(cost.per_candidate or 0) / MICRO for cost in known) or 1)
        axes.set_xlabel("dollars per candidate")
        return svg_of(figure, "Dollars per candidate, producing and grading")


def _spread(ranked: Sequence[Ranked]) -> str:
    """How producing costs are spread over candidates: for each arm, the share of candidates that cost no more."""
    known = [(one.cost.arm, sorted(c.llm / MICRO for c in one.cost.each if c.llm is not None)) for one in ranked]
    known = [(arm, values) for arm, values in known if len(values) > 1][:8]
    if not known:
        return ""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 2.9))
        axes = figure.subplots()
        palette = ("#2e8b57", "#5b8db8", "#c0504d", "#d9b44a", "#8e44ad", "#5b6b7b", "#d98c5f", "#1b9e9e")
        for (arm, values), colour in zip(known, palette, strict=False):
            shares = [100 * (n + 1) / len(values) for n in range(len(values))]
            axes.step([values[0], *values], [0, *shares], where="post", lw=1.5, color=colour, label=short(arm, 24))
        axes.set_ylim(0, 100)
        axes.set_xlim(left=0)
        axes.set_xlabel("dollars of producing a candidate")
        axes.set_ylabel("candidates at no more, %")
        axes.legend(frameon=False, fontsize=8.5, loc="lower right")
        axes.grid(color="#8a949e", alpha=0.2, lw=0.6)
        return svg_of(figure, "How costs are spread over candidates")


def _dearest(ranked: Sequence[Ranked]) -> list[tuple[str, Any]]:
    """The candidates that cost most to produce, with their arm."""
    every = [(one.cost.arm, c) for one in ranked for c in one.cost.each if c.llm]
    return sorted(every, key=lambda item: (-(item[1].llm or 0), item[0], item[1].task_id, item[1].seed))[:MOST]


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _percent(value: Any) -> str:
    return "–" if value is None else f"{100 * float(value):.1f} %"
