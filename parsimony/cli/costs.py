"""`parsimony cost`: what a run cost, per arm and per resolved task, and whether that agrees with its ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from rich.text import Text

from cluster.costrows import cost_rows
from cluster.finished import prices_of, read_run
from cluster.ledger import LedgerReader
from cluster.rundir import RunFolder, write_atomically, write_jsonl
from parsimony.canonical import digest_bytes
from parsimony.chain import Chain
from parsimony.cli import DONE, NO, PARTIAL, costs_screen, screen
from parsimony.cli.collecting import no_collections
from parsimony.cli.costs_screen import Told
from parsimony.cost_ledger import (
    ArmCost,
    CostRow,
    Entry,
    PriceTable,
    Ranked,
    Total,
    by_arm,
    entries,
    rank,
    reconcile,
    spent_by_arm,
)
from parsimony.errors import InputError
from parsimony.runs import Run

RECORDED = "cost.recorded"
"""Kind of the entries of the append-only ledger."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        as_of: the day whose prices hold; None = of each row the day on which the run recorded it.
        rows: write each cost as a line to this file. ledger: append the totals to this ledger.
        page: where the page goes; None = `cost.html` in the folder.
    """

    root: Path
    prices: tuple[Path, ...]
    as_of: date | None = None
    reconcile: bool = False
    rows: Path | None = None
    ledger: Path | None = None
    page: Path | None = None


def parse_day(text: str | None) -> date | None:
    """A day as YYYY-MM-DD.

    Raises:
        InputError: it is none.
    """
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError(f"is {text!r}", mend="write a day as 2026-11-30", field="--as-of") from None


def run(request: Request, *, as_json: bool) -> int:
    """Tell costs. Exit status 1 when they do not agree with the ledger, 3 when a part has no price or is not known."""
    page = request.page or request.root / "cost.html"
    for path in (page, request.rows):
        if path is not None and path.is_dir():
            raise InputError("is a folder", mend="name a file", file=str(path))
    with no_collections():
        table = prices_of(request.root, request.prices)
        whole = read_run(request.root)
        told = _told(request, whole, table)
    if request.rows is not None:
        request.rows.parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(request.rows, (_row(one) for one in entries(whole, table, request.as_of)))
    appended = None if request.ledger is None else _record(request.ledger, whole, told, table.files)
    _write_page(page, whole, told)
    if as_json:
        screen.print_json(_json(told, whole))
    else:
        costs_screen.show(told)
        if appended is not None:
            screen.console().print(Text(f"{request.ledger}: {appended} entries added"))
        screen.console().print(Text(f"page: {page}"))
    if told.found is not None and told.found.differences:
        return NO
    return DONE if all(one.cost.dollars is not None for one in told.ranked) else PARTIAL


def _told(request: Request, whole: Run, table: PriceTable) -> Told:
    """What there is to tell of a run."""
    rows = ledger_rows(request.root)
    counted = whole.counted()
    arms = by_arm(counted, table, request.as_of)
    found = None
    if request.reconcile:
        everything = arms if counted is whole else by_arm(whole, table, request.as_of)
        found = reconcile(whole, everything, rows, table, request.as_of)
    spent = spent_by_arm(rows, counted.tasks, table, request.as_of)
    return Told(rank(arms), spent, table, whole.left_out(), found)


def ledger_rows(root: Path) -> list[CostRow]:
    """The cost rows of a run's ledger, with the peak of memory of each execution."""
    reader = LedgerReader(RunFolder.existing(root).ledger)
    executed = reader.rows("execution", ["execution_key", "peak_memory_bytes"])
    return cost_rows(reader, {row["execution_key"]: row["peak_memory_bytes"] for row in executed})


def _row(one: Entry) -> dict[str, Any]:
    """A cost as a line of the file of `--rows`."""
    spend = asdict(one.spend)
    del spend["micro_dollars"], spend["day"]
    return {
        "kind": one.kind.value,
        "task_id": one.task_id,
        "arm": one.arm,
        "seed": one.seed,
        "repeat": one.repeat,
        "prices_of": one.day.isoformat() if one.day and one.spend.micro_dollars is None else None,
        **spend,
        "micro_dollars": one.micro_dollars,
    }


def _record(path: Path, run: Run, told: Told, prices: Iterable[str]) -> int:
    """Append what each arm cost, unless just that was the last word on it. Returns how many entries were added."""
    files = {file: digest_bytes(Path(file).read_bytes()) for file in prices}
    chain = Chain.open(path)
    with chain.writing():
        last = {(one.data.get("run"), one.data.get("arm")): one.data for one in chain.entries(RECORDED)}
        wanted = [_entry(run, one.cost, told, files) for one in sorted(told.ranked, key=lambda one: one.cost.arm)]
        fresh = [(RECORDED, data) for data in wanted if last.get((data["run"], data["arm"])) != data]
        return len(chain.extend(fresh))


def _entry(run: Run, arm: ArmCost, told: Told, files: Mapping[str, str]) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "name": run.name,
        "arm": arm.arm,
        "candidates": arm.candidates,
        "resolved": arm.resolved,
        "missing": arm.missing,
        "untold": arm.untold,
        "prices": dict(files),
        "prices_of": [day.isoformat() for day in arm.days] if arm.days else None,
        "llm": asdict(arm.llm),
        "compute": asdict(arm.compute),
        "compute_spent": asdict(told.spent.get(arm.arm, Total())),
        "quarantined": sorted(one["task_id"] for one in told.left_out),
    }


def _json(told: Told, whole: Run) -> dict[str, Any]:
    written: dict[str, Any] = {
        "run": whole.run_id,
        "name": whole.name,
        "prices": list(told.table.files),
        "quarantined": list(told.left_out),
        "arms": [_arm_json(one, told.spent.get(one.cost.arm, Total())) for one in told.ranked],
    }
    if told.found is not None:
        written["reconciliation"] = asdict(told.found)
    return written


def _arm_json(one: Ranked, spent: Total) -> dict[str, Any]:
    cost = one.cost
    micro = cost.micro_dollars
    return {
        "arm": cost.arm,
        "rank": one.rank,
        "dominated_by": one.dominated_by or None,
        "on_frontier": one.frontier,
        "on_convex_frontier": one.convex,
        "candidates": cost.candidates,
        "resolved": cost.resolved,
        "missing": cost.missing,
        "rate": None if cost.rate is None else float(cost.rate),
        "bounds": None if cost.bounds is None else [float(end) for end in cost.bounds],
        "dollars": cost.dollars,
        "micro_dollars": None if micro is None else str(micro),
        "with_grading": cost.with_grading,
        "untold": cost.untold,
        "prices_of": [day.isoformat() for day in cost.days] if cost.days else None,
        "llm": asdict(cost.llm),
        "compute": asdict(cost.compute),
        "compute_spent": asdict(spent),
        "micro_dollars_per_candidate": cost.spread(),
        **cost.ratios(),
    }


def _write_page(path: Path, run: Run, told: Told) -> None:
    from parsimony.report.cost_page import cost_page

    html = cost_page(run, told.ranked, told.spent, told.table, told.found)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, html.encode("utf-8", "replace"))
