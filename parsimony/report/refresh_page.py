"""The page of a refresh: what is in the live set, what each refresh brought, and when the next one is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.chain import Entry
from parsimony.refresh import STANDS, Plan, Status
from parsimony.report import refresh_plots as plots

LISTED: Final = 300
"""Tasks that the page shows."""
REFRESHES: Final = 60
"""The newest refreshes that the page shows."""
COUNTS: Final = ("new", "known", "too_old", "rejected", "conflicting")


def refresh_page(found: Status, plan: Plan, schedule: str | None, now: datetime) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        schedule: in words; None when there is none.
    """
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    refreshes = [_refresh(entry) for entry in found.entries[-REFRESHES:]]
    order = {stand: number for number, stand in enumerate(STANDS)}
    tasks = sorted(found.tasks.items(), key=lambda item: (order[item[1]["stand"]], item[1]["created_at"], item[0]))
    return environment.get_template("refresh.html.j2").render(
        it=found,
        live=plan.live,
        cutoffs=[f"{one.model} ({one.moment.text})" if one.model else one.moment.text for one in plan.cutoffs],
        sources=[(source.name, source.place) for source in plan.sources],
        schedule=schedule,
        now=_day(now),
        last=_day(found.last),
        due=_day(found.due),
        totals=found.totals,
        months=plots.months(found.months) if found.months else "",
        brought=plots.brought([(one["at"][:10], one["counts"]) for one in refreshes]) if refreshes else "",
        refreshes=refreshes[::-1],
        earlier=max(0, len(found.entries) - REFRESHES),
        problems=refreshes[-1]["problems"] if refreshes else [],
        tasks=tasks[:LISTED],
        more=max(0, len(tasks) - LISTED),
        stand_colours=plots.STAND_COLOURS,
        brought_colours=plots.BROUGHT_COLOURS,
        version=__version__,
    )


def _refresh(entry: Entry) -> dict[str, Any]:
    """A refresh as a row: when, how much, which sources failed, what could not be used."""
    counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
    problems: list[tuple[str, str]] = []
    for source in entry.data["sources"]:
        counts.update({name: source[name] for name in COUNTS})
        problems += [("rejected", problem) for problem in source["problems"]]
        problems += [("conflict", _conflict(conflict)) for conflict in source["conflicts"]]
        if source["error"] is not None:
            problems.append(("failed", f"{source['source']}: {source['error']}"))
    states = Counter(source["state"] for source in entry.data["sources"])
    return {
        "at": entry.data["refresh"][:16].replace("T", " "),
        "number": entry.number,
        "counts": counts,
        "states": ", ".join(f"{count} {state}" for state, count in states.items()),
        "problems": problems,
    }


def _conflict(conflict: Mapping[str, Any]) -> str:
    fields = ", ".join(conflict["fields"])
    return f"{conflict['at']}: {conflict['task']} differs from the one at {conflict['stored']} in {fields}"


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
