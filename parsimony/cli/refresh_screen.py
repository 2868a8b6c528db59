"""Refreshes in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text

from parsimony import refresh
from parsimony.cli import screen
from parsimony.cli.sets_work import few
from parsimony.schedules import State

LISTED = 10
"""Lines of a list that a screen takes."""


def show_run(found: refresh.Refreshed, plan: refresh.Plan) -> None:
    """What a refresh did."""
    out = screen.console()
    if found.finished is not None:
        out.print(Text(f"first finished: the refresh of {found.finished}, which was interrupted"))
    out.print(_answers(found.answers))
    for answer in found.answers:
        if answer.error is not None:
            out.print(Text(f"failed: {answer.source}: {answer.error}", style="red"))
        _list("rejected", answer.found.rejected)
        _list("conflict", [str(conflict) for conflict in answer.found.conflicts])
    done = found.rotated
    moved = f"{len(done.moved)} went to {plan.live.retired}"
    out.print(Text(f"{plan.live.live}: {len(done.joined)} came, {len(done.left)} left; {moved}"))
    _list("left", _by_reason(done.left))
    _list("not in the live set", _by_reason(done.refused))
    if found.entry is None:
        out.print(Text("no source answered: nothing came, nothing is lost", style="red"))
    else:
        out.print(Text(f"written down as entry {found.entry.number} of {plan.ledger}", style="dim"))


def _answers(answers: Sequence[refresh.Answer]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("source", overflow="fold", max_width=30)
    table.add_column("", no_wrap=True)
    for heading in ("new", "known", "too old", "rejected", "conflicts"):
        table.add_column(heading, justify="right", no_wrap=True)
    for answer in answers:
        found = answer.found
        counts = (len(found.new), found.known, found.too_old, len(found.rejected), len(found.conflicts))
        table.add_row(Text(answer.source), answer.state, *map(str, counts))
    return table


def _by_reason(reasons: Mapping[str, str]) -> list[str]:
    """A line for each reason, with the first of its tasks."""
    tasks: dict[str, list[str]] = {}
    for task, reason in reasons.items():
        tasks.setdefault(reason, []).append(task)
    return [f"{few(names)}: {reason}" for reason, names in tasks.items()]


def _list(what: str, lines: Sequence[str]) -> None:
    out = screen.console()
    for line in lines[:LISTED]:
        out.print(Text(f"{what}: {line}"))
    if len(lines) > LISTED:
        out.print(Text(f"{what}: … and {len(lines) - LISTED} more (--json lists them)"))


def show_status(found: refresh.Status, plan: refresh.Plan) -> None:
    """How a refresh stands."""
    out = screen.console()
    if found.interrupted:
        out.print(Text("a refresh was interrupted; `parsimony refresh run` finishes it", style="yellow"))
    for record in found.records:
        burned = ", some burned" if record.burned else ""
        told = f"{record.set_id}: {len(record.task_ids)} tasks, {record.role}, {record.contamination_status}{burned}"
        out.print(Text(told))
    if not found.records:
        out.print(Text(f"{plan.live.live}: not made yet; it is with its first tasks"))
    out.print(_months(found.months))
    out.print(Text(due_line(found.last, found.due, found.state)))


def _months(months: Mapping[str, Mapping[str, int]]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("created", no_wrap=True)
    for heading in (*refresh.STANDS, "all"):
        table.add_column(heading, justify="right", no_wrap=True)
    for month, counts in months.items():
        table.add_row(month, *(str(counts[stand]) for stand in refresh.STANDS), str(sum(counts.values())))
    if len(months) > 1:
        table.add_section()
        totals = [sum(counts[stand] for counts in months.values()) for stand in refresh.STANDS]
        table.add_row("all", *map(str, totals), str(sum(totals)))
    return table


def due_line(last: datetime | None, due: datetime | None, state: State | None) -> str:
    """When the next refresh is due, in words."""
    told = "never refreshed" if last is None else f"last refreshed {_moment(last)}"
    return f"{told}; no schedule" if due is None or state is None else f"{told}; next due {_moment(due)}: {state.value}"


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
