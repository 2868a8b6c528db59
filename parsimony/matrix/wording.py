"""The matrix in words, the same in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence

from parsimony.cost_ledger.wording import dollars
from parsimony.matrix.cells import Cell
from parsimony.matrix.model import Matrix, Placed
from parsimony.matrix.rows import Place
from parsimony.matrix.standings import Effect, Standing

SHOWN = 5
"""How many names a line lists."""


def accuracy(cell: Cell) -> str:
    """`41.2 %`, or the bounds of what is missing."""
    low, high = (f"{100 * float(end):.1f}" for end in cell.bounds)
    return f"{low} to {high} %" if cell.missing else f"{low} %"


def interval(cell: Cell) -> str:
    """`[37.0, 45.6]`, in percent."""
    low, high = cell.interval
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def per_task(cell: Cell) -> str:
    """Dollars a task; a dash where they are not known."""
    return "–" if cell.per_task is None else dollars(float(cell.per_task) / 1e6)


def standing(one: Placed, *, scaffolds: bool = True) -> str:
    """What the frontiers say about a cell."""
    if one.cell.missing:
        return f"{one.cell.missing} verdicts missing"
    if one.cell.per_task is None:
        return "cost not known"
    if one.dominated_by is not None:
        other = one.dominated_by
        return f"dominated by {other.model}" + (f", {other.scaffold}" if scaffolds else "")
    return "frontier, convex" if one.convex else "frontier"


def mean_rank(one: Standing) -> str:
    """`1.50`, with how many benchmarks it is over where these are not all."""
    if one.mean_rank is None:
        return "–"
    return f"{float(one.mean_rank):.2f}" + ("" if one.complete else f" (on {one.ranked})")


def effect(one: Effect) -> str:
    """What a scaffold changes, in one sentence."""
    more, less, same = one.counts
    text = f"{one.other} against {one.one}: {100 * one.mean:+.1f} points".replace("-", "−", 1 if one.mean < 0 else 0)
    if one.interval is not None:
        low, high = (f"{100 * end:+.1f}".replace("-", "−") for end in one.interval)
        text += f" [{low}, {high}]"
    pairs = len(one.places)
    text += f" over {pairs} {'pair' if pairs == 1 else 'pairs'} of model and benchmark"
    text += f" ({more} more, {less} less, {same} equal)"
    if one.cost_ratio is not None:
        text += f", at {one.cost_ratio:.3g} times the cost" + ("" if one.priced == pairs else f" (of {one.priced})")
    return text


def gaps(matrix: Matrix) -> str | None:
    """How many cells are empty and which, in one line; None where none is."""
    if not matrix.gaps:
        return None
    whole = len(matrix.models) * len(matrix.columns)
    named = "; ".join(_told(place) for place in matrix.gaps[:SHOWN])
    more = "" if len(matrix.gaps) <= SHOWN else f"; and {len(matrix.gaps) - SHOWN} more"
    return f"{len(matrix.gaps)} of {whole} cells are empty, which is no zero: {named}{more}"


def _told(place: Place) -> str:
    return f"{place.model} on {place.benchmark} in {place.scaffold}"


def notes(matrix: Matrix) -> list[str]:
    """What a reader must know before setting numbers beside each other."""
    lines = [line for name in matrix.benchmarks for line in _of_benchmark(name, matrix.of(name))]
    for cell in matrix.cells:
        if cell.missing:
            lines.append(f"{_told(cell.place)}: {cell.missing} verdicts are missing: bounds, no rank, on no frontier")
        if cell.measured and cell.unknown:
            lines.append(f"{_told(cell.place)}: what {cell.unknown} candidates cost is not known: on no frontier")
        if cell.per_task == 0:
            lines.append(f"{_told(cell.place)}: is told to cost nothing, so that little can dominate it")
    line = gaps(matrix)
    return [*lines, line] if line else lines


def _of_benchmark(name: str, cells: Sequence[Cell]) -> list[str]:
    lines = []
    sizes = sorted({cell.n for cell in cells})
    if len(sizes) > 1:
        lines.append(f"{name}: results are of {', '.join(map(str, sizes[:SHOWN]))} tasks: not all of the same ones")
    sets = {cell.task_set for cell in cells if cell.task_set is not None}
    if len(sets) > 1 and len(sizes) == 1:
        lines.append(f"{name}: runs are of {len(sets)} different sets of task rows")
    return lines
