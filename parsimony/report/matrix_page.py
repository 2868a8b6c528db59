"""The page of the matrix: a heat table of accuracies, and per benchmark accuracy against cost with its frontiers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.matrix import Cell, Matrix, Place, labels, points, scaffold_effects, standings, wording
from parsimony.report.pareto_plot import pareto_plot

_GREEN: Final = "46, 139, 87"


def matrix_page(found: Matrix, name: str, notes: Sequence[str] = (), rejected: Sequence[str] = ()) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        name: of the file. notes: what a reader must know. rejected: rows that were not taken, with the reason.
    """
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "accuracy": wording.accuracy,
        "interval": wording.interval,
        "per_task": wording.per_task,
        "mean_rank": wording.mean_rank,
    }
    return environment.get_template("matrix.html.j2").render(
        name=name,
        it=found,
        headline=_headline(found),
        heads=[(benchmark, len(list(some))) for benchmark, some in groupby(found.columns, key=lambda pair: pair[0])],
        heat=[(model, [_heat(found, model, *pair) for pair in found.columns]) for model in found.models],
        parts=[_part(found, benchmark) for benchmark in found.benchmarks],
        standings=standings(found),
        effects=[wording.effect(one) for one in scaffold_effects(found)],
        notes=notes,
        rejected=rejected,
        version=__version__,
    )


def _headline(found: Matrix) -> str:
    first = standings(found)[0]
    filled = f"{len(found.cells)} of {len(found.models) * len(found.columns)} cells have a result"
    if not first.complete:
        return f"{filled}; no model was ranked on every benchmark."
    where = f"on the frontier of {first.frontier} of {len(found.benchmarks)} benchmarks"
    return f"{first.model} ranks best, {wording.mean_rank(first)} on average over {first.of}, {where}; {filled}."


def _heat(found: Matrix, model: str, benchmark: str, scaffold: str) -> tuple[str, str, str]:
    """Text, style and hover text of a cell; an empty one has neither text nor colour."""
    cell = found.at.get(Place(model, benchmark, scaffold))
    if cell is None:
        return "", "", f"{model} was not run on {benchmark} in {scaffold}"
    told = f"{wording.accuracy(cell)} {wording.interval(cell)}, {wording.per_task(cell)} a task, n = {cell.n}"
    if cell.missing:
        return wording.accuracy(cell), "", told
    return f"{100 * float(cell.bounds[0]):.1f}", f"background: rgba({_GREEN}, {0.72 * float(cell.bounds[0]):.3f})", told


def _part(found: Matrix, benchmark: str) -> dict[str, Any]:
    placed = found.placed(benchmark)
    cells = [one.cell for one in placed]
    several = len({cell.place.scaffold for cell in cells}) > 1
    return {
        "benchmark": benchmark,
        "rows": [(one, wording.standing(one, scaffolds=several)) for one in placed],
        "plot": _plot(benchmark, cells),
        "unpriced": sum(cell.per_task is None or cell.missing > 0 for cell in cells),
    }


def _plot(benchmark: str, cells: Sequence[Cell]) -> str:
    shown = points(cells)
    if not shown:
        return ""
    names = {point.name for point in shown}
    intervals = {point: cell.interval for point, cell in zip(labels(cells), cells, strict=True) if point in names}
    return pareto_plot(
        shown,
        intervals=intervals,
        labels=labels(cells),
        title="Accuracy against cost",
        unit="dollars a task",
    )
