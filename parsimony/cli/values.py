"""`parsimony value`: what the arms of a run earned, in dollars, and what that took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.finished import read_run
from cluster.pricefile import read_prices
from cluster.rundir import write_atomically
from parsimony.cli import DONE, PARTIAL, screen
from parsimony.cost_ledger import by_arm
from parsimony.errors import InputError
from parsimony.value import Appraisal, ArmValue, Contrast, Earning, appraise, read_values, values_of_rows, wording
from parsimony.value.amounts import exact_text, told

MOST_SEEDS = 6
"""How many seeds the terminal shows side by side."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. See the help of the command."""

    root: Path
    values: Path | None
    prices: tuple[Path, ...]
    as_of: date | None
    baseline: str | None
    draws: int
    seed: int


def run(request: Request, page: Path | None, *, as_json: bool) -> int:
    """Tell values; the exit status."""
    if page is not None:
        screen.writable(page)
    finished = read_run(request.root)
    listed = values_of_rows(finished.tasks) if request.values is None else read_values(request.values)
    for error in listed.rejected:
        screen.console(stderr=True).print(Text(f"rejected: {error}"))
    counted = finished.without(finished.quarantined)
    valueless = {trial.task_id for trial in counted.trials} - set(listed.worths)
    costs = by_arm(counted.without(valueless), read_prices(request.prices), request.as_of)
    found = appraise(finished, listed.worths, costs, request.baseline, draws=request.draws, seed=request.seed)
    if page is not None:
        from parsimony.report.value_page import value_page

        text = value_page(found, [str(error) for error in listed.rejected])
        write_atomically(page, text.encode("utf-8", "replace"))
    if as_json:
        screen.print_json(_json(found, listed.rejected))
    else:
        _print(found)
        if page is not None:
            screen.console().print(Text(f"page: {page}"))
    return DONE if found.complete and not listed.rejected else PARTIAL


def _print(found: Appraisal) -> None:
    out = screen.console()
    first = found.arms[0].whole
    title = f"{found.name}: dollars earned of {told(first.available)} on {first.tasks} tasks"
    board = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    board.add_column("arm", overflow="fold", max_width=20)
    for heading in ("earned a seed", "95 % interval", "of all", "resolved", "spent", "per $"):
        board.add_column(heading, justify="right", overflow="fold")
    for arm in found.arms:
        board.add_row(
            Text(arm.arm),
            wording.span(arm.whole.mean),
            Text(wording.interval(arm.whole.interval)),
            wording.share(arm.whole.rate),
            wording.share(arm.whole.resolve_rate),
            told(wording.spent_per_seed(arm)),
            wording.per_dollar(arm),
        )
    out.print(board)
    _print_seeds(found)
    _print_kinds(found)
    for one in found.contrasts:
        out.print(Text(wording.contrast(one)))
    for line in wording.notes(found):
        out.print(Text(line))


def _print_seeds(found: Appraisal) -> None:
    seeds = sorted({one.seed for arm in found.arms for one in arm.whole.seeds})
    if not 1 < len(seeds) <= MOST_SEEDS:
        return
    board = Table(title="by seed", title_justify="left", show_edge=False, pad_edge=False)
    board.add_column("arm", overflow="fold", max_width=20)
    for seed in seeds:
        board.add_column(f"seed {seed}", justify="right", overflow="fold")
    for arm in found.arms:
        of = {one.seed: one.earned for one in arm.whole.seeds}
        cells = [wording.span(of[seed]) if seed in of else "–" for seed in seeds]
        board.add_row(Text(arm.arm), *cells)
    screen.console().print(board)


def _print_kinds(found: Appraisal) -> None:
    if not any(arm.kinds for arm in found.arms):
        return
    board = Table(title="by kind of task", title_justify="left", show_edge=False, pad_edge=False)
    board.add_column("arm", overflow="fold", max_width=20)
    board.add_column("kind", overflow="fold", max_width=16)
    for heading in ("tasks", "available", "earned a seed", "of all", "resolved"):
        board.add_column(heading, justify="right", overflow="fold")
    for arm in found.arms:
        for one in arm.kinds:
            board.add_row(Text(arm.arm), Text(one.kind or ""), *wording.kind_row(one))
    screen.console().print(board)


def _json(found: Appraisal, rejected: Sequence[InputError]) -> dict[str, Any]:
    return {
        "name": found.name,
        "complete": found.complete,
        "clusters": {"by": found.clusters.name, "number": found.clusters.number, "effective": found.effective},
        "draws": found.draws,
        "arms": [_arm(arm) for arm in found.arms],
        "differences": [_difference(one) for one in found.contrasts],
        "unvalued": list(found.unvalued),
        "quarantined": list(found.quarantined),
        "rejected": [str(error) for error in rejected],
        "notes": wording.notes(found),
    }


def _arm(arm: ArmValue) -> dict[str, Any]:
    ratio = None if arm.per_dollar is None else [float(end) for end in arm.per_dollar]
    return {
        "arm": arm.arm,
        **_earning(arm.whole),
        "kinds": [{"kind": one.kind, **_earning(one)} for one in arm.kinds],
        "spent_dollars": None if arm.spent is None else float(arm.spent) / 1e6,
        "unknown_costs": arm.unknown,
        **_point("earned_per_dollar", ratio),
    }


def _earning(one: Earning) -> dict[str, Any]:
    """Sums as exact texts; means, which may have no end, as numbers. A point is null where verdicts are missing."""
    rate = None if one.rate is None else [float(end) for end in one.rate]
    return {
        "tasks": one.tasks,
        "available": exact_text(one.available),
        "missing": one.missing,
        "seeds": [
            {
                "seed": each.seed,
                "earned": exact_text(each.earned[0]) if not each.missing else None,
                "bounds": [exact_text(end) for end in each.earned],
                "resolved": each.resolved,
                "missing": each.missing,
            }
            for each in one.seeds
        ],
        **_point("mean_earned", [float(end) / 1e6 for end in one.mean]),
        "interval_95": _dollars(one.interval),
        **_point("rate", rate),
    }


def _point(name: str, ends: Sequence[float] | None) -> dict[str, Any]:
    point = ends[0] if ends is not None and ends[0] == ends[1] else None
    return {name: point, f"{name}_bounds": ends}


def _dollars(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else [end / 1e6 for end in ends]


def _difference(one: Contrast) -> dict[str, Any]:
    return {
        "baseline": one.baseline,
        "candidate": one.candidate,
        **_point("difference", [float(end) / 1e6 for end in one.delta]),
        "interval_95": _dollars(one.interval),
        "p_value": one.p_value,
        "gained": None if one.gained is None else float(one.gained) / 1e6,
        "lost": None if one.lost is None else float(one.lost) / 1e6,
    }
