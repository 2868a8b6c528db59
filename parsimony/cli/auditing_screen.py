"""What people see of an audit: a table of tasks and groups of checks, and what was found below it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rich.table import Table
from rich.text import Text

from parsimony.audit import Audit, Check, Group, TaskAudit, Verdict
from parsimony.cli import screen

SIGNS: Final = {
    Verdict.PASS: Text("✓", style="green"),
    Verdict.FAIL: Text("✗", style="bold red"),
    Verdict.FINDING: Text("!", style="yellow"),
    Verdict.NOT_MEASURED: Text("?", style="magenta"),
    Verdict.NOT_APPLICABLE: Text("·", style="dim"),
}
LEGEND: Final = "✓ pass  ✗ fail  ! finding  ? not measured  · not applicable; ABC: the Agentic Benchmark Checklist"
_SHORT: Final = {Group.CHECKLIST: "ABC", Group.STATEMENT: "text"}


def print_audit(audit: Audit) -> None:
    """The table, then every check that does not pass, task by task."""
    out = screen.console()
    if audit.tasks:
        out.print(_table(audit))
    for name, task in audit.tasks.items():
        found = [check for check in task.checks if _is_told(check)]
        if found:
            out.print()
            out.print(Text(name, style="bold"))
        for check in found:
            out.print(Text.assemble("  ", SIGNS[check.verdict], f" {check.id}: {_printable(check.evidence)}"))
    for name, reasons in audit.missing.items():
        out.print(Text.assemble(Text("missing", style="yellow"), f"  {name}: {'; '.join(reasons)}"))


def print_end(audit: Audit, ending: str, reason: str, place: Path) -> None:
    """How many failed, and where all of it is."""
    out = screen.console()
    failed = len(audit.quarantined)
    out.print()
    if ending != "completed":
        why = f"{ending}: {reason}" if reason else ending
        out.print(Text(f"not finished ({why}); nothing was stored, and the same command goes on"))
        return
    total = len(audit.tasks)
    out.print(
        Text(f"{total - failed} of {total} tasks can be trusted; {failed} quarantined, {len(audit.missing)} missing")
    )
    out.print(Text(f"{place / 'audit.json'}; look at one with `parsimony show {place} TASK --arm CANARY`"))


def _table(audit: Audit) -> Table:
    table = Table(show_edge=False, pad_edge=False, caption=LEGEND, caption_justify="left")
    table.add_column("task", overflow="fold", max_width=34)
    for group in Group:
        table.add_column(_SHORT.get(group, group.value), justify="center", no_wrap=True)
    for name, task in audit.tasks.items():
        style = "red" if task.reasons else ""
        table.add_row(Text(name, style=style), *(_sign(task, group) for group in Group))
    return table


def _sign(task: TaskAudit, group: Group) -> Text:
    verdict = task.state(group)
    return SIGNS[verdict]


def _is_told(check: Check) -> bool:
    """The checklist repeats what the other checks say, but for what only it asks."""
    if check.group is Group.CHECKLIST:
        return check.verdict is Verdict.FINDING and check.id in {"T.1", "T.6"}
    return check.verdict in {Verdict.FAIL, Verdict.FINDING, Verdict.NOT_MEASURED}


def _printable(text: str) -> str:
    """Without signs that move a terminal, and without lone surrogates, which none takes."""
    clean = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return clean if len(clean) <= 600 else clean[:597] + "..."
