"""Nights in a terminal: the verdict first, 100 columns at most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from parsimony.cli import screen
from parsimony.nightly import Account, Flip, Point, State, due
from parsimony.nightly.markdown import cause, cost, difference
from parsimony.schedules import Schedule

LISTED = 12
"""Rows of a list that a screen takes."""
NIGHTS = 30
"""Nights that a screen takes."""

STYLES = {
    "passed": "bold green",
    "regression": "bold red",
    "void": "bold magenta",
    "incomplete": "bold yellow",
    "refused": "bold yellow",
    "missed": "dim",
}


def stamp(moment: datetime | None) -> str | None:
    """`2026-12-01T03:30:00Z`."""
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def standing(planned: Schedule | None, held: Collection[date], gone: Collection[date], at: datetime) -> str:
    """`unscheduled`, `current`, `due` or `overdue` (the newest night that was due is missed)."""
    if planned is None:
        return "unscheduled"
    if gone and max(gone) > max(held):
        return "overdue"
    return "current" if due(planned, held, at) is None else "due"


def show_night(account: Account, folder: Path, *, already: bool) -> None:
    """Print what came of a night."""
    out, conclusion = screen.console(), account.conclusion
    state = conclusion.state
    told = " (was over already; nothing was graded)" if already else ""
    against = conclusion.data["baseline"]
    out.print(Text.assemble(f"{account.name} {account.day}: ", Text(state.value, style=STYLES[state.value]), told))
    out.print(f"compared with the accepted night {against}" if against else "compared with no accepted night")
    for reason in conclusion.reasons:
        out.print(Text(f"  · {reason}"))
    if state is State.REGRESSION:
        nights = ", ".join(f"{point.day} {point.state}" for point in account.suspects)
        since = f"since the last good night, {account.last_good}" if account.last_good else "no good night before"
        out.print(Text(f"suspects ({since}): {nights}"))
    if conclusion.data["arms"]:
        out.print()
        out.print(_arms(conclusion.data))
    _tasks(account)
    for task, owner, reasons in account.quarantined[:LISTED]:
        out.print(Text(f"quarantined, in no rate: {task} ({owner}): {reasons[0]}"))
    for note in account.notes:
        out.print(Text(f"note: {note}", style="dim"))
    out.print(f"page: {folder / 'trend.html'}", markup=False, soft_wrap=True)


def _arms(data: Mapping[str, Any]) -> Table:
    compared = {one["arm"]: one for one in data["comparisons"]}
    table = Table(title="resolve rates", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("arm", overflow="fold", max_width=24)
    table.add_column("resolved [95 %]", no_wrap=True)
    table.add_column("against the baseline", no_wrap=True)
    table.add_column("p (Holm)", justify="right", no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    for name, arm in data["arms"].items():
        low, high = arm["interval"]
        one = compared.get(name)
        rate = f"{screen.percent(arm['rate'])} [{100 * low:.1f}, {100 * high:.1f}]"
        p_value = "–" if one is None else f"{one['p_value']:.2g}"
        table.add_row(Text(name), Text(rate), Text(difference(one)), p_value, cost(arm["cost"]))
    return table


def _tasks(account: Account) -> None:
    out = screen.console()
    for title, found in (("newly broken", account.broken), ("flaky", account.of_kind(Flip.FLAKY))):
        if not found:
            continue
        table = Table(title=f"{title}: {len(found)}", title_justify="left", show_edge=False, pad_edge=False)
        table.add_column("task", overflow="fold", max_width=30)
        table.add_column("arm", overflow="fold", max_width=14)
        table.add_column("owner", overflow="fold", max_width=18)
        table.add_column("last change", no_wrap=True)
        table.add_column("nights", overflow="fold")
        for one in found[:LISTED]:
            changed = f"{one.changed}" if one.changed else "–"
            cells = (one.task_id, one.arm, account.owner(one.task_id, one.repo), changed, f"{one.marks}  {cause(one)}")
            table.add_row(*(Text(cell) for cell in cells))
        out.print()
        out.print(table)
        if len(found) > LISTED:
            out.print(f"… and {len(found) - LISTED} more (junit.xml and --json list all)")


def show_status(told: Mapping[str, Any], trend: Sequence[Point], missed_means: str) -> None:
    """Print how a nightly stands."""
    out = screen.console()
    out.print(Text(f"{told['name']}: baseline {told['baseline'] or 'none accepted yet'}"))
    following = f"next due {told['next_due']}: {told['state']}" if told["next_due"] else "no schedule"
    out.print(following)
    if trend:
        out.print()
        out.print(_nights(trend[-NIGHTS:]))
        if len(trend) > NIGHTS:
            out.print(f"{len(trend) - NIGHTS} earlier dates are in --json")
    if told["suspects"]:
        nights = ", ".join(f"{one['date']} {one['state']}" for one in told["suspects"])
        out.print(Text(f"suspects of the regression: {nights}"))
    if told["missed"]:
        out.print(Text(f"missed: {', '.join(told['missed'][-LISTED:])}"))
        out.print(missed_means, markup=False)


def _nights(trend: Sequence[Point]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("night", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("resolved", overflow="fold")
    table.add_column("why", overflow="fold")
    for point in trend:
        marks = " baseline" if point.baseline else " accepted" if point.accepted else ""
        rates = ", ".join(f"{name} {screen.percent(arm['rate'])}" for name, arm in point.arms.items())
        state = Text.assemble(Text(point.state, style=STYLES[point.state]), marks)
        table.add_row(str(point.day), state, Text(rates), Text(point.reasons[0] if point.reasons else ""))
    return table
