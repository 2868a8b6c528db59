"""`parsimony matrix`: models × benchmarks × scaffolds, with what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.pricefile import read_prices
from cluster.rundir import write_atomically
from parsimony.cli import DONE, PARTIAL, screen
from parsimony.cli.matrixfile import read_matrix
from parsimony.errors import InputError
from parsimony.matrix import Effect, Matrix, Placed, Standing, scaffold_effects, standings, wording


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. See the help of the command."""

    file: Path
    prices: tuple[Path, ...]
    as_of: date | None


def run(request: Request, page: Path | None, *, as_json: bool) -> int:
    """Tell the matrix; the exit status."""
    if page is not None:
        screen.writable(page)
    cells, rejected, remarks = read_matrix(request.file, read_prices(request.prices), request.as_of)
    for error in rejected:
        screen.console(stderr=True).print(Text(f"rejected: {error}"))
    if not cells:
        raise InputError("has no row that can be used", mend="mend the rows above", file=str(request.file))
    found = Matrix(tuple(cells))
    notes = [*wording.notes(found), *remarks]
    if page is not None:
        from parsimony.report.matrix_page import matrix_page

        text = matrix_page(found, request.file.name, notes, [str(error) for error in rejected])
        write_atomically(page, text.encode("utf-8", "replace"))
    if as_json:
        screen.print_json(_json(found, notes, rejected))
    else:
        _print(found, notes)
        if page is not None:
            screen.console().print(Text(f"page: {page}"))
    whole = not rejected and not any(cell.missing or (cell.measured and cell.unknown) for cell in cells)
    return DONE if whole else PARTIAL


def _print(found: Matrix, notes: Sequence[str]) -> None:
    out = screen.console()
    for name in found.benchmarks:
        out.print(_benchmark(name, found.placed(name)))
        out.print()
    out.print(_ranking(standings(found)))
    for one in scaffold_effects(found):
        out.print(Text(wording.effect(one)))
    for line in notes:
        out.print(Text(line))


def _benchmark(name: str, placed: Sequence[Placed]) -> Table:
    board = Table(title=Text(name), title_justify="left", show_edge=False, pad_edge=False)
    board.add_column("model", overflow="fold", max_width=22)
    board.add_column("scaffold", overflow="fold", max_width=16)
    board.add_column("accuracy", justify="right", overflow="fold")
    board.add_column("95 %", justify="right", no_wrap=True)
    board.add_column("$ a task", justify="right", no_wrap=True)
    board.add_column("n", justify="right", no_wrap=True)
    board.add_column("", overflow="fold")
    several = len({one.cell.place.scaffold for one in placed}) > 1
    for one in placed:
        place = one.cell.place
        board.add_row(
            Text(place.model),
            Text(place.scaffold),
            wording.accuracy(one.cell),
            Text(wording.interval(one.cell)),
            wording.per_task(one.cell),
            str(one.cell.n),
            Text(wording.standing(one, scaffolds=several)),
        )
    return board


def _ranking(some: Sequence[Standing]) -> Table:
    board = Table(title="models across benchmarks", title_justify="left", show_edge=False, pad_edge=False)
    board.add_column("model", overflow="fold", max_width=30)
    for heading in ("mean rank", "benchmarks", "on frontier", "convex", "priced"):
        board.add_column(heading, justify="right", no_wrap=True)
    for one in some:
        board.add_row(
            Text(one.model),
            wording.mean_rank(one),
            f"{one.ranked} of {one.of}",
            str(one.frontier),
            str(one.convex),
            str(one.priced),
        )
    return board


def _json(found: Matrix, notes: Sequence[str], rejected: Sequence[InputError]) -> dict[str, Any]:
    return {
        "models": found.models,
        "benchmarks": [
            {"benchmark": name, "results": [_result(one) for one in found.placed(name)]} for name in found.benchmarks
        ],
        "gaps": [place._asdict() for place in found.gaps],
        "ranking": [_standing(one) for one in standings(found)],
        "scaffolds": [_effect(one) for one in scaffold_effects(found)],
        "notes": list(notes),
        "rejected": [str(error) for error in rejected],
    }


def _result(one: Placed) -> dict[str, Any]:
    cell = one.cell
    return {
        "model": cell.place.model,
        "scaffold": cell.place.scaffold,
        "accuracy": None if cell.accuracy is None else float(cell.accuracy),
        "bounds": [float(end) for end in cell.bounds],
        "wilson_95": list(cell.interval),
        "n": cell.n,
        "seeds": cell.seeds,
        "missing": cell.missing,
        "dollars_per_task": None if cell.per_task is None else float(cell.per_task) / 1e6,
        "unknown_costs": cell.unknown,
        "on_frontier": one.frontier,
        "on_convex_frontier": one.convex,
        "dominated_by": None if one.dominated_by is None else one.dominated_by._asdict(),
        "source": cell.source or None,
    }


def _standing(one: Standing) -> dict[str, Any]:
    return {
        "model": one.model,
        "mean_rank": None if one.mean_rank is None else float(one.mean_rank),
        "complete": one.complete,
        "ranked_on": one.ranked,
        "rankable": one.of,
        "frontiers": one.frontier,
        "convex_frontiers": one.convex,
        "priced_on": one.priced,
    }


def _effect(one: Effect) -> dict[str, Any]:
    more, less, same = one.counts
    return {
        "scaffold": one.other,
        "against": one.one,
        "mean_difference": one.mean,
        "interval_95": one.interval,
        "more": more,
        "less": less,
        "equal": same,
        "cost_ratio": one.cost_ratio,
        "cost_pairs": one.priced,
        "pairs": [{"model": model, "benchmark": name, "difference": float(delta)} for model, name, delta in one.places],
    }
