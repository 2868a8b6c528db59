"""What the commands of `parsimony contamination` do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from parsimony import contamination
from parsimony.cli import DONE, NO, PARTIAL, ledgerfile, screen
from parsimony.cli.sets_work import Chosen
from parsimony.contamination import ArmDecay, Cutoff, Decay, Moment, Side
from parsimony.errors import InputError
from parsimony.sets import SetStore
from parsimony.tasks import Task


@dataclass(frozen=True, slots=True)
class Asked:
    """Which cutoff: a date, or that of a model in a table."""

    date: str | None
    model: str | None
    table: Path

    def cutoff(self) -> Cutoff:
        """The cutoff.

        Raises:
            InputError: not exactly one is asked for, it is no date, or the model's is unknown.
        """
        if (self.date is None) == (self.model is None):
            problem = "no cutoff is given" if self.date is None else "--cutoff and --model are both given"
            raise InputError(problem, mend="give --cutoff DATE or --model NAME")
        if self.date is not None:
            return Cutoff("", Moment.parse(self.date, field="--cutoff"), "given")
        assert self.model is not None
        known = ledgerfile.read_models(self.table).of(self.model)
        if known is None:
            mend = "add it with the source that published it, or give --cutoff; an unknown cutoff is not guessed"
            raise InputError(f"knows no cutoff of {self.model!r}", mend=mend, file=str(self.table))
        return known


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a finding goes: a ledger (None = nowhere), a page (None = none), and JSON or people."""

    ledger: Path | None
    as_json: bool
    page: Path | None = None

    def show(self, what: str, data: Mapping[str, Any], summary: str, page: Callable[[], str]) -> None:
        """Write it down and print what machines read; people get their tables from the command.

        Args:
            page: makes the page, where one is wanted.
        """
        number = None
        if self.page is not None:
            _write_page(self.page, page())
        if self.ledger is not None:
            number = SetStore.open(self.ledger).record_finding(what, {"summary": summary, **data}).number
        if self.as_json:
            screen.print_json({**data, "summary": summary, "entry": number})
            return
        screen.console().print(Text(summary))
        if number is not None:
            screen.console().print(Text(f"recorded as entry {number} of {self.ledger}", style="dim"))
        if self.page is not None:
            screen.console().print(Text(f"page: {self.page}"))


def _write_page(path: Path, page: str) -> None:
    from cluster.rundir import write_atomically

    if not path.parent.is_dir() or path.is_dir():
        problem = "is a folder" if path.is_dir() else "is in a folder that is not there"
        raise InputError(problem, mend="name a file in a folder that is there", file=str(path))
    write_atomically(path, page.encode("utf-8", "replace"))


def gate(file: Path, names: tuple[str, ...], asked: Asked, finding: Finding) -> int:
    """The date gate over a task file."""
    cutoff = asked.cutoff()
    tasks, rejected = Chosen(file, names).read()
    found = contamination.gate(tasks, cutoff)
    eligible = [one.task_id for one in found if one.eligible]
    refused = {one.task_id: one.reason for one in found if not one.eligible}
    if not finding.as_json:
        for task, reason in refused.items():
            screen.console().print(Text(f"not eligible: {task}: {reason}"))
    told = {"file": str(file), "cutoff": cutoff_json(cutoff), "eligible": eligible, "refused": refused}
    summary = f"{len(eligible)} of {len(found)} tasks were made after {named(cutoff)} for certain"
    finding.show("gate", told, summary, lambda: _gate_page(file, tasks, refused, summary))
    return NO if refused else PARTIAL if rejected else DONE


def _gate_page(file: Path, tasks: Sequence[Task], refused: Mapping[str, str], summary: str) -> str:
    from parsimony.report.contamination_page import list_page

    rows = [
        (task.instance_id, task.created_at or "–", refused.get(task.instance_id, "eligible"))
        for task in sorted(tasks, key=lambda task: (task.instance_id not in refused, task.instance_id))
    ]
    cards = [(str(len(tasks) - len(refused)), "eligible"), (str(len(refused)), "not eligible")]
    return list_page(f"{file.name}: date gate", summary, cards, (("task", "created", "verdict"), rows))


def decay(folder: Path, arms: tuple[str, ...], asked: Asked, finding: Finding) -> int:
    """The decay curves of a run."""
    from cluster.finished import read_run

    cutoff = asked.cutoff()
    run = read_run(folder)
    found = contamination.decay(run, cutoff, arms or None)
    if not finding.as_json:
        for arm in found.arms:
            screen.console().print(_curve(arm, named(cutoff)))
            screen.console().print(Text(f"{arm.arm}: {difference_text(arm)}\n"))
        if found.undated:
            shown = ", ".join(found.undated[:5])
            screen.console().print(Text(f"{len(found.undated)} tasks have no readable created_at: {shown}"))
    told = {
        "run": run.run_id,
        "cutoff": cutoff_json(cutoff),
        "arms": [asdict(arm) for arm in found.arms],
        "undated": list(found.undated),
    }
    summary = f"{run.name}: " + "; ".join(f"{arm.arm} {difference_text(arm)}" for arm in found.arms)
    finding.show("decay", told, summary, lambda: _decay_page(found, run.name))
    missing = any(arm.before.missing or arm.after.missing for arm in found.arms)
    return PARTIAL if missing or found.undated else DONE


def _decay_page(found: Decay, name: str) -> str:
    from parsimony.report.contamination_page import decay_page

    return decay_page(found, name, named(found.cutoff), {arm.arm: difference_text(arm) for arm in found.arms})


def _curve(arm: ArmDecay, cutoff: str) -> Table:
    table = Table(title=f"{arm.arm}: pass rate by month", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("created", no_wrap=True)
    table.add_column("of them after", justify="right")
    for heading in ("tasks", "trials", "resolved", "missing"):
        table.add_column(heading, justify="right")
    table.add_column("rate [Wilson 95 %]", no_wrap=True)
    for month in arm.months:
        table.add_row(month.month, str(month.after), *_cells(month.side))
    table.add_section()
    table.add_row("before", "", *_cells(arm.before))
    table.add_row("after", "", *_cells(arm.after))
    table.caption = f"after: made after {cutoff} for certain; before: all others. A task's trials are one rate."
    table.caption_justify = "left"
    return table


def _cells(side: Side) -> list[str]:
    counts = [str(side.tasks), str(side.trials), str(side.resolved), str(side.missing)]
    if side.rate is None or side.wilson is None:
        return [*counts, "–"]
    return [*counts, f"{screen.percent(side.rate)}  [{100 * side.wilson[0]:.1f}, {100 * side.wilson[1]:.1f}]"]


def difference_text(arm: ArmDecay) -> str:
    """The difference of an arm in words."""
    found = arm.difference
    if found is None:
        side = "before" if arm.before.rate is None else "after"
        return f"no difference: there is no task with a verdict {side} the cutoff"
    low, high = found.interval
    how = "exact" if found.exact else "by draws"
    points = f"{100 * found.value:+.1f} points after the cutoff [{100 * low:+.1f}, {100 * high:+.1f}]"
    return f"{points}, p = {found.p_value:.3g} ({how} permutation of tasks)"


def leak(file: Path, names: tuple[str, ...], threshold: float, finding: Finding) -> int:
    """Leak ratios of a task file."""
    tasks, rejected = Chosen(file, names).read()
    found = contamination.leaks(tasks)
    rows: list[dict[str, Any]] = [
        {
            **asdict(one),
            "ratio": one.ratio,
            "hint_ratio": one.hint_ratio,
            "leaked": one.ratio is not None and one.ratio >= threshold and bool(one.told),
        }
        for one in found
    ]
    leaked = [row["task_id"] for row in rows if row["leaked"]]
    if not finding.as_json:
        screen.console().print(_leaks_table(rows))
    judged = sum(row["ratio"] is not None for row in rows)
    summary = f"{len(leaked)} of {judged} tasks with a gold patch are leaked (ratio {threshold:g} or more)"
    told = {"file": str(file), "threshold": threshold, "tasks": rows, "leaked": leaked}
    finding.show("leak", told, summary, lambda: _leak_page(file, rows, summary))
    return NO if leaked else PARTIAL if rejected else DONE


def _leaks_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("task", overflow="fold")
    for heading in ("lines", "told", "ratio", "hints"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for cells in _leak_cells(rows):
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _leak_cells(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Task, lines, told, ratio, hints, note; the most told first."""
    cells: list[tuple[str, ...]] = []
    for row in sorted(rows, key=lambda row: (-(row["ratio"] or 0), row["task_id"])):
        note = row["problem"] or ("leaked" if row["leaked"] else "")
        ratios = screen.percent(row["ratio"]), screen.percent(row["hint_ratio"])
        cells.append((row["task_id"], str(row["lines"]), str(len(row["told"])), *ratios, note))
    return cells


def _leak_page(file: Path, rows: Sequence[Mapping[str, Any]], summary: str) -> str:
    from parsimony.report.contamination_page import list_page

    leaked, judged = sum(row["leaked"] for row in rows), sum(row["ratio"] is not None for row in rows)
    cards = [(str(leaked), "leaked"), (str(judged), "with a ratio"), (str(len(rows)), "tasks")]
    headings = ("task", "lines", "told", "ratio", "hints", "note")
    return list_page(f"{file.name}: leaks", summary, cards, (headings, _leak_cells(rows)), headings[1:5])


def cutoff_json(cutoff: Cutoff) -> dict[str, str]:
    """A cutoff for machines: as told, and the last instant that it can mean."""
    last = cutoff.moment.latest.isoformat().replace("+00:00", "Z")
    return {"model": cutoff.model, "date": cutoff.moment.text, "latest": last, "source": cutoff.source}


def named(cutoff: Cutoff) -> str:
    """A cutoff for people."""
    whose = f"the cutoff of {cutoff.model}" if cutoff.model else "the cutoff"
    return f"{whose} ({cutoff.moment.text})"
