"""A comparison in a terminal: the verdict first, then what it rests on, 100 columns at most."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parsimony import ab
from parsimony.ab import wording
from parsimony.cli import screen
from parsimony.cli.comparing_ledger import Standing
from parsimony.records import Recommendation

LISTED = 12
"""Rows of a list that a screen takes."""

_STYLES = {
    Recommendation.KEEP: "bold green",
    Recommendation.REJECT: "bold red",
    Recommendation.PARE_BACK: "bold yellow",
}


def show(found: Sequence[ab.Comparison]) -> None:
    """Print comparisons."""
    out = screen.console()
    for number, one in enumerate(found):
        if number:
            out.print()
        _verdict(out, one)
        out.print()
        out.print(_arms(one))
        out.print()
        out.print(_costs(one))
        _lists(out, one)
        for note in one.notes:
            out.print(Text(f"note: {note}", style="dim"))
    if len(found) > 1:
        out.print(Text(f"{len(found)} comparisons as one family: p-values by Holm, intervals that hold together"))


def show_standings(found: Sequence[ab.Comparison], standings: Sequence[Standing], *, stderr: bool) -> None:
    """Print what each comparison may be called and where it is written down; once where that is the same for all."""
    out = screen.console(stderr=stderr)
    several = len({(one.claim.label, one.note) for one in standings}) > 1
    for one, standing in zip(found, standings, strict=True):
        named = f"{one.record.change_under_test}: " if several else ""
        style = "bold green" if standing.claim.allowed else ""
        out.print(Text(f"{named}{standing.claim.label}", style=style))
        out.print(Text(f"{named}{standing.note}", style="dim"))
        if not several:
            break


def _verdict(out: Console, one: ab.Comparison) -> None:
    out.print(Text(one.record.change_under_test, style="bold"))
    out.print(Text(wording.headline(one), style=_STYLES[one.record.result.recommendation]))
    told = [wording.finding(one), wording.significance(one), wording.these_tasks(one), wording.cost(one)]
    for line in (*told, wording.outlook(one), wording.basis(one)):
        if line:
            out.print(Text(line))


def _arms(one: ab.Comparison) -> Table:
    table = Table(title="resolve rates", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("arm", overflow="fold", max_width=24)
    table.add_column("per seed", overflow="fold", max_width=22)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("variance", justify="right", no_wrap=True)
    table.add_column(f"over seeds {100 * one.level:.3g} %", no_wrap=True)
    table.add_column("pass@k", justify="right", no_wrap=True)
    table.add_column("pass^k", justify="right", no_wrap=True)
    for arm in one.arms:
        counts = " ".join(
            f"{count}+{missing}?" if missing else str(count)
            for count, missing in zip(arm.resolved, arm.missing, strict=True)
        )
        low, high = arm.interval
        table.add_row(
            Text(arm.label),
            f"{counts} of {len(one.tasks)}",
            wording.rate(arm.bounds),
            f"{arm.variance:.2g}",
            f"[{100 * low:.1f}, {100 * high:.1f}]",
            wording.rate(arm.at_k[-1]),
            wording.rate(arm.hat_k[-1]),
        )
    table.caption = f"k = {len(one.record.seeds)}"
    table.caption_justify = "right"
    return table


def _costs(one: ab.Comparison) -> Table:
    table = Table(title="cost per candidate", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("arm", overflow="fold", max_width=30)
    table.add_column("in", no_wrap=True)
    for heading in ("median", "90 %", "most", "total"):
        table.add_column(heading, justify="right", no_wrap=True)
    for arm, cost in zip(one.arms, one.costs.arms, strict=True):
        for unit, spread in cost.distributions.items():
            numbers = (spread.median, spread.p90, spread.largest, spread.total)
            table.add_row(Text(arm.label), unit, *(wording.number(value, unit) for value in numbers))
    return table


def _lists(out: Console, one: ab.Comparison) -> None:
    if one.changes:
        out.print()
        table = Table(title="tasks that changed", title_justify="left", show_edge=False, pad_edge=False)
        table.add_column("task", overflow="fold", max_width=34)
        table.add_column("side", no_wrap=True)
        table.add_column("seeds", justify="right", no_wrap=True)
        table.add_column("a pair of logs", overflow="fold")
        for change in one.changes[:LISTED]:
            logs = "\n".join(log or "nothing was executed" for log in change.logs)
            seeds = f"{change.baseline} → {change.candidate} of {change.seeds}"
            table.add_row(Text(change.task_id), change.side or "", seeds, Text(logs))
        out.print(table)
        if len(one.changes) > LISTED:
            out.print(Text(f"… and {len(one.changes) - LISTED} more (the page and --details list all)"))
    for flake in one.flakes[:LISTED]:
        told = ", ".join(f"{outcome} × {n}" for outcome, n in flake.outcomes.items())
        out.print(Text(f"flaky: {flake.task_id}, arm {flake.arm}, seed {flake.seed}: {told}", style="yellow"))
    if one.flakes:
        out.print(Text(f"{len(one.flakes)} flaky candidates; --rerun-flaky grades them again before the verdict"))
