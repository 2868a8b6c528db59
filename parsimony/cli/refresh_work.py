"""What the commands of `parsimony refresh` do."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parsimony import refresh
from parsimony.chain import Chain
from parsimony.cli import CANNOT, DONE, NO, PARTIAL, refresh_screen, screen
from parsimony.cli.refresh_config import Configured, Given, read
from parsimony.errors import InputError
from parsimony.schedules import TIMERS, Schedule, State

MISSED = (
    "A missed refresh loses no task: the next one takes all that came since. Until then tasks stay in the live set "
    "past their window, and newer ones are not in it. Only a refresh in which every source answered counts."
)


def now() -> datetime:
    """The moment, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime | None) -> str | None:
    """`2026-12-01T03:30:00Z`."""
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def run(path: Path, given: Given, *, if_due: bool, as_json: bool) -> int:
    """Refresh once."""
    configured, at = read(path, given), now()
    if if_due and not refresh.interrupted(configured.plan):
        planned = _planned(configured)
        history = refresh.History.of(Chain.open(given.ledger), configured.plan.live.name)
        due = planned.due(history.last, at)
        if at < due:
            if as_json:
                screen.print_json({"refreshed": False, "next_due": stamp(due)})
            else:
                screen.console().print(f"not due before {stamp(due)}")
            return DONE
    found = refresh.refresh(configured.plan, at)
    if as_json:
        screen.print_json(run_json(found))
    else:
        refresh_screen.show_run(found, configured.plan)
    if found.entry is None:
        return CANNOT
    return DONE if found.whole else PARTIAL


def run_json(found: refresh.Refreshed) -> dict[str, Any]:
    """A refresh for machines."""
    answers = [answer.to_json() for answer in found.answers]
    for answer in answers:
        del answer["mark"], answer["asked"]
    return {
        "refreshed": found.entry is not None,
        "entry": None if found.entry is None else found.entry.number,
        "finished": found.finished,
        "added": [] if found.entry is None else [one["task"] for one in found.entry.data["added"]],
        "sources": answers,
        "sets": asdict(found.rotated),
    }


def _planned(configured: Configured) -> Schedule:
    if configured.schedule is None:
        mend = "add `schedule:` with `every: 7d` or `cron: 30 3 * * 1`"
        raise InputError("is missing", mend=mend, file=str(configured.path), field="schedule")
    return configured.schedule


def status(path: Path, given: Given, page: Path | None, *, as_json: bool) -> int:
    """How a refresh stands."""
    configured, at = read(path, given), now()
    found = refresh.status(configured.plan, configured.schedule, at)
    if page is not None:
        _write_page(page, configured, found, at)
    if as_json:
        screen.print_json(status_json(found, configured))
    else:
        refresh_screen.show_status(found, configured.plan)
        if page is not None:
            screen.console().print(f"page: {page}", markup=False, soft_wrap=True)
    return NO if found.state is State.OVERDUE else DONE


def status_json(found: refresh.Status, configured: Configured) -> dict[str, Any]:
    """How a refresh stands, for machines."""
    return {
        "name": configured.plan.live.name,
        "months": {month: dict(counts) for month, counts in found.months.items()},
        "totals": found.totals,
        "sets": [record.to_json() for record in found.records],
        "tasks": {task: dict(one) for task, one in found.tasks.items()},
        "refreshes": len(found.entries),
        "interrupted": found.interrupted,
        "last_refresh": stamp(found.last),
        "next_due": stamp(found.due),
        "state": found.state.value if found.state is not None else "unscheduled",
    }


def _write_page(page: Path, configured: Configured, found: refresh.Status, at: datetime) -> None:
    from cluster.rundir import write_atomically
    from parsimony.report.refresh_page import refresh_page

    if not page.parent.is_dir() or page.is_dir():
        problem = "is a folder" if page.is_dir() else "is in a folder that is not there"
        raise InputError(problem, mend="name a file in a folder that is there", file=str(page))
    words = configured.schedule.words if configured.schedule is not None else None
    write_atomically(page, refresh_page(found, configured.plan, words, at).encode("utf-8", "replace"))


def schedule(path: Path, given: Given, timer: str, *, as_json: bool) -> int:
    """When refreshes are due, and what starts them."""
    configured, at = read(path, given), now()
    planned = _planned(configured)
    last = refresh.History.of(Chain.open(given.ledger), configured.plan.live.name).last
    due, state = planned.due(last, at), planned.state(last, at, at)
    ready = TIMERS[timer](planned, configured.job())
    if as_json:
        told = {"schedule": planned.words, "last_refresh": stamp(last), "next_due": stamp(due), "state": state.value}
        screen.print_json({**told, "missed": MISSED, timer: ready})
        return DONE
    out = screen.console()
    out.print(f"{configured.plan.live.name} is refreshed {planned.words}", markup=False)
    out.print(refresh_screen.due_line(last, due, state), markup=False)
    out.print(MISSED, markup=False)
    out.print()
    out.print(ready.rstrip("\n"), markup=False, soft_wrap=True)
    return DONE
