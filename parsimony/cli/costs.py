"""`parsimony cost`: what a run cost, per arm and per resolved task, and whether that agrees with its ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.finished import read_run
from cluster.ledger import LedgerReader
from cluster.pricefile import read_prices
from cluster.rundir import RunFolder
from parsimony.chain import Chain
from parsimony.cli import DONE, NO, PARTIAL, screen
from parsimony.cost_ledger import ArmCost, PriceTable, Ranked, by_arm, rank
from parsimony.errors import InputError
from parsimony.runs import Run
from parsimony.statistics import quantile


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        as_of: the day whose prices hold; None = the day the run was started.
        ledger: append the totals to this ledger.
    """

    root: Path
    prices: tuple[Path, ...]
    as_of: date | None
    reconcile: bool
    ledger: Path | None


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
    folder = RunFolder.existing(request.root)
    table = read_prices(request.prices)
    finished = read_run(request.root)
    day = request.as_of or _started(folder)
    arms = by_arm(finished, table, day)
    ranked = rank(arms)
    differences = _differences(folder, finished, arms) if request.reconcile else []
    if request.ledger is not None:
        _record(request.ledger, finished, day, arms)
    if as_json:
        screen.print_json(_json(ranked, day, differences if request.reconcile else None))
    else:
        _print(ranked, day, table)
        if request.reconcile:
            _print_differences(differences)
    if differences:
        return NO
    return DONE if all(arm.dollars is not None for arm in arms) else PARTIAL


def _started(folder: RunFolder) -> date:
    for row in LedgerReader(folder.ledger).rows("event", ["at", "name"]):
        if row["name"] == "run.started":
            at = row["at"]
            return (at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)).date()
    return datetime.now(UTC).date()


def _differences(folder: RunFolder, finished: Run, arms: Sequence[ArmCost]) -> list[str]:
    """Where the sums over candidates are not those over the rows of the ledger, to the last micro-dollar."""
    first = {(trial.task_id, trial.arm, trial.seed, 0) for trial in finished.trials}
    told = tokens = calls = 0
    for row in LedgerReader(folder.ledger).rows("cost"):
        if row["kind"] == "llm" and (row["task_id"], row["arm"], row["seed"], row["repeat"]) in first:
            told += row["micro_dollars"] or 0
            tokens += sum(row[name] or 0 for name in ("input_tokens", "cached_tokens", "output_tokens"))
            calls += row["calls"] or 0
    ours = {
        "micro-dollars as told": sum(t.llm.micro_dollars or 0 for t in finished.trials if t.llm and t.repeat == 0),
        "tokens": sum(arm.llm.tokens for arm in arms),
        "calls": sum(arm.llm.calls for arm in arms),
    }
    theirs = {"micro-dollars as told": told, "tokens": tokens, "calls": calls}
    return [f"{name}: {ours[name]:,} by candidates, {theirs[name]:,} in the ledger" for name in ours
            if ours[name] != theirs[name]]  # fmt: skip


def _record(path: Path, finished: Run, day: date, arms: Sequence[ArmCost]) -> None:
    chain = Chain.open(path)
    for arm in arms:
        data = {"run": finished.run_id, "arm": arm.arm, "prices_of": day.isoformat(), "llm": asdict(arm.llm),
                "compute": asdict(arm.compute), "candidates": arm.candidates, "resolved": arm.resolved}  # fmt: skip
        chain.append("cost.recorded", data)


def _json(ranked: Sequence[Ranked], day: date, differences: Sequence[str] | None) -> dict[str, Any]:
    arms = [
        {
            "arm": one.cost.arm,
            "rank": one.rank,
            "dominated_by": one.dominated_by or None,
            "on_convex_frontier": one.convex,
            "candidates": one.cost.candidates,
            "resolved": one.cost.resolved,
            "rate": one.cost.rate,
            "dollars": one.cost.dollars,
            "unpriced": one.cost.unpriced,
            "llm": asdict(one.cost.llm),
            "compute": asdict(one.cost.compute),
            "micro_dollars_per_candidate": _spread(one.cost.per_candidate),
            **one.cost.ratios(),
        }
        for one in ranked
    ]
    return {"prices_of": day.isoformat(), "arms": arms, **({} if differences is None else {"differences": differences})}


def _spread(values: Sequence[int]) -> Mapping[str, float | None]:
    plain = [float(value) for value in values]
    return {"median": quantile(plain, 0.5), "p90": quantile(plain, 0.9), "max": max(plain, default=None)}


def _print(ranked: Sequence[Ranked], day: date, table: PriceTable) -> None:
    out = screen.console()
    board = Table(title=f"cost by arm, prices of {day}", title_justify="left", show_edge=False, pad_edge=False)
    board.add_column("rank", justify="right", no_wrap=True)
    board.add_column("arm", overflow="fold", max_width=18)
    for heading in ("rate", "producing", "grading", "$/resolved", "tokens/res.", "res./hour"):
        board.add_column(heading, justify="right", no_wrap=True)
    board.add_column("", overflow="fold")
    for one in ranked:
        cost, ratios = one.cost, one.cost.ratios()
        board.add_row(
            str(one.rank),
            Text(cost.arm),
            screen.percent(cost.rate),
            _dollars(cost.llm.micro_dollars / 1e6, unknown=bool(cost.unpriced or not cost.llm.rows)),
            _dollars(cost.compute.micro_dollars / 1e6, unknown=bool(cost.compute.unpriced or not cost.compute.rows)),
            _dollars(ratios["dollars_per_resolved"] or 0.0, unknown=ratios["dollars_per_resolved"] is None),
            "–" if not cost.resolved else f"{cost.llm.tokens / cost.resolved:,.0f}",
            "–" if ratios["resolved_per_wall_hour"] is None else f"{ratios['resolved_per_wall_hour']:.1f}",
            Text(f"dominated by {one.dominated_by}" if one.dominated_by else "on the frontier" if one.convex else ""),
        )
    out.print(board)
    for one in ranked:
        if one.cost.unpriced:
            out.print(
                Text(f"{one.cost.arm}: {one.cost.unpriced} candidates tell no usage; what they cost is not known")
            )
    if not table.compute:
        out.print(Text("grading has no price here: name a file with a price of computing with --prices"))


def _dollars(value: float, *, unknown: bool) -> str:
    if unknown:
        return "–"
    return f"${value:,.2f}" if value >= 10 or value == 0 else f"${value:.3g}"


def _print_differences(differences: Sequence[str]) -> None:
    out = screen.console()
    if not differences:
        out.print(Text("reconciled: candidates and ledger agree to the last micro-dollar, token and call"))
    for one in differences:
        out.print(Text(f"does not agree: {one}", style="red"))
