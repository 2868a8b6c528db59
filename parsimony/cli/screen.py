"""What people see in a terminal: one console, tables that fit 100 columns, numbers as people write them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from parsimony.cost_ledger.wording import dollars
from parsimony.errors import InputError

WIDTH = 100

OUTCOME_STYLES: Mapping[str, str] = {
    "resolved": "green",
    "not_resolved": "red",
    "tampered": "bold magenta",
    "timed_out": "yellow",
    "out_of_memory": "yellow",
    "does_not_apply": "red",
    "empty_patch": "dim",
    "missing": "bold yellow",
}


def console(*, stderr: bool = False) -> Console:
    """A console of at most `WIDTH` columns; as wide as that where there is no terminal to ask."""
    plain = Console(stderr=stderr, highlight=False)
    width = min(WIDTH, plain.width) if plain.is_terminal else WIDTH
    return Console(stderr=stderr, highlight=False, width=width)


def make_bar(console: Console, doing: str) -> tuple[Progress, TaskID]:
    """A bar that goes when all is done, and its one row; the row's field `note` stands at its end."""
    bar = Progress(
        TextColumn(doing),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        transient=True,
    )
    return bar, bar.add_task(doing, total=None, note="reading inputs")


def print_json(value: Any) -> None:
    """JSON on stdout, for machines."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=True)
    sys.stdout.write("\n")


def writable(path: Path) -> Path:
    """A path that a file can be written to.

    Raises:
        InputError: it is a folder, or in none.
    """
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a folder" if path.is_dir() else "is in a folder that is not there"
        raise InputError(problem, mend="name a file in a folder that is there", file=str(path))
    return path


def percent(rate: float | None) -> str:
    """`41.7 %`, or a dash for what is not known."""
    return "–" if rate is None else f"{100 * rate:.1f} %"


def rate(part: Mapping[str, Any]) -> str:
    """A resolve rate with its Wilson interval, or its bounds where something is missing."""
    if part["rate"] is not None:
        low, high = part["wilson_95"]
        return f"{percent(part['rate'])}  [{100 * low:.1f}, {100 * high:.1f}]"
    if part["bounds"] is None:
        return "–"
    low, high = part["bounds"]
    return f"between {100 * low:.1f} and {100 * high:.1f} %"


def seconds(value: float | None) -> str:
    """`0.84 s`, `93 s`, `2 h 05 min`."""
    if value is None:
        return "–"
    if value < 10:
        return f"{value:.2f} s"
    if value < 120:
        return f"{value:.0f} s"
    if value < 7200:
        return f"{value / 60:.0f} min"
    return f"{int(value // 3600)} h {int(value % 3600 // 60):02d} min"


def mebibytes(value: int | None) -> str:
    """`131 MiB`."""
    return "–" if value is None else f"{value / (1 << 20):,.0f} MiB"


def outcome_text(outcome: str) -> Text:
    """An outcome in its colour."""
    return Text(outcome, style=OUTCOME_STYLES.get(outcome, ""))


def scoreboard(summary: Mapping[str, Any]) -> Table:
    """A row per arm: how many resolved, the rate with its interval, what came of the rest."""
    table = Table(
        title=f"{summary['name']}: resolve rate by arm", title_justify="left", show_edge=False, pad_edge=False
    )
    table.add_column("arm", overflow="fold", max_width=26)
    for heading in ("tasks", "seeds", "resolved"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("rate [Wilson 95 %]", no_wrap=True)
    footprint = summary.get("footprint") or {}
    if footprint:
        table.add_column("net units", justify="right", no_wrap=True)
    table.add_column("not resolved by", overflow="fold")
    for name, arm in summary["arms"].items():
        others = ", ".join(f"{outcome} {n}" for outcome, n in arm["outcomes"].items() if outcome != "resolved")
        table.add_row(
            Text(name),
            str(arm["tasks"]),
            str(len(arm["seeds"])),
            f"{arm['resolved']}/{arm['planned']}",
            rate(arm),
            *([_net_units(footprint.get(name, {}))] if footprint else []),
            others,
        )
    if footprint:
        table.caption = "net units: mean footprint of resolved candidates"
        table.caption_justify = "left"
    return table


def _net_units(languages: Mapping[str, Mapping[str, Any]]) -> str:
    """Mean net units of an arm; by language where there are several, which are never pooled."""
    known = {name: one["mean_net_units"] for name, one in languages.items() if one["mean_net_units"] is not None}
    if len(known) < 2:
        return next((f"{mean:+.1f}" for mean in known.values()), "–")
    return "\n".join(f"{name} {mean:+.1f}" for name, mean in known.items())


def census_line(summary: Mapping[str, Any]) -> str:
    """The census equation in words."""
    census = summary["census"]
    line = f"{census['planned']} planned = {census['recorded']} with a verdict + {census['missing']} missing"
    if census["rejected_rows"]:
        line += f"; {census['rejected_rows']} rows rejected (rejects.jsonl)"
    return line


def quarantine_lines(summary: Mapping[str, Any]) -> Sequence[str]:
    """Tasks that failed their audit and are in no rate, with the first reason."""
    return [
        f"quarantined, in no rate: {one['task_id']} ({one['planned']} planned): {one['reasons'][0]}"
        for one in summary.get("quarantined", ())
    ]


def robustness_lines(summary: Mapping[str, Any]) -> Sequence[str]:
    """How many resolved candidates stay resolved under each other condition, by arm."""
    lines = []
    for arm, variants in summary.get("robustness", {}).items():
        parts = [f"{name} {one['resolved']}/{one['tried']}" for name, one in variants.items()]
        void = sum(one["void"] for one in variants.values())
        lines.append(f"still resolved, {arm}: {', '.join(parts)}" + (f" ({void} say nothing)" if void else ""))
    return lines


def budget_lines(summary: Mapping[str, Any]) -> Sequence[str]:
    """What was spent of each cap of the budget."""
    found = summary.get("budget")
    if not found:
        return []
    spent, caps = found["spent"], found["caps"]
    told = {
        "dollars": lambda cap: f"${spent['micro_dollars'] / 1e6:,.2f} of ${cap:,.2f}",
        "tokens": lambda cap: f"{spent['tokens']:,} of {cap:,} tokens",
        "wall_time": lambda cap: f"{seconds(spent['wall_seconds'])} of {seconds(cap)}",
    }
    parts = [told[name](cap) for name, cap in caps.items() if cap is not None]
    team = [f"team {found['team']}"] if found["team"] else []
    return [f"budget: {', '.join(parts + team)}"]


def forecast_lines(summary: Mapping[str, Any]) -> Sequence[str]:
    """How wrong the forecast of the newest run was (docs/planning.md)."""
    found = summary.get("forecast")
    if not found:
        return []
    named = {"wall_seconds": "wall time", "cpu_hours": "CPU-hours", "dollars": "dollars of grading"}
    where = {True: "inside the interval", False: "outside the interval", None: "no interval"}
    parts = [
        f"{name} {100 * found[field]['error']:+.0f} % ({where[found[field]['inside']]})"
        for field, name in named.items()
        if found[field]["error"] is not None
    ]
    return [f"against its forecast: {', '.join(parts)}"] if parts else []


def spent_lines(summary: Mapping[str, Any]) -> Sequence[str]:
    """What producing and grading cost."""
    kinds = summary["cost"]["kinds"]
    lines = []
    if "compute_spent" in kinds:
        spent, alone = kinds["compute_spent"], kinds["compute_attributed"]
        lines.append(
            f"grading: {seconds(spent['wall_seconds'])} in sandboxes, {seconds(spent['cpu_seconds'])} of CPU"
            f" ({seconds(alone['wall_seconds'])} if every candidate had been graded alone){_paid(spent, '; ')}"
        )
    if "llm" in kinds:
        llm = kinds["llm"]
        told = _paid(llm) or "dollars are not known: no price file (`prices:` in the sweep, or `cost --prices`)"
        lines.append(f"producing: {llm['tokens']:,} tokens in {llm['calls']:,} calls, {told}")
    return lines


def _paid(total: Mapping[str, Any], before: str = "") -> str:
    """The dollars of a kind of cost, "" where none are known."""
    if total["micro_dollars"] is None:
        return ""
    unpriced = total.get("unpriced", 0)
    return before + dollars(total["micro_dollars"] / 1e6) + (f" and {unpriced} without a price" if unpriced else "")
