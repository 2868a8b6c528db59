"""The commands about tasks as measures of ability: difficulty, horizon."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.options import Json, RunDir

Page = Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write a page.")]


class Weights(StrEnum):
    """What a run of a task weighs."""

    invsqrt = "invsqrt"
    equal_task = "equal-task"


def horizon(
    folder: RunDir,
    *,
    minutes: Annotated[
        Path,
        typer.Option("--minutes", metavar="FILE", help="Human minutes: CSV, JSONL of task_id, minutes[, family]."),
    ],
    arm: Annotated[
        list[str] | None, typer.Option("--arm", help="Only this arm; may be repeated. Default: all.")
    ] = None,
    weights: Annotated[
        Weights,
        typer.Option("--weights", help="A run weighs 1 / runs of task; invsqrt: also / √ tasks of family."),
    ] = Weights.invsqrt,
    regularization: Annotated[
        float, typer.Option("--regularization", metavar="LAMBDA", help="Penalty on the slope; weights sum to 1.")
    ] = 1e-5,
    bootstrap: Annotated[
        int, typer.Option("--bootstrap", metavar="DRAWS", help="Draws for intervals; 0 = none.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Of the draws.")] = 0,
    page: Page = None,
    json: Json = False,
) -> None:
    """How long the tasks are, in human minutes, that each arm solves half the time (and 80 % of the time).

    Exit status: 0 done; 1 no arm has a horizon; 3 an arm has none, a row was rejected, or verdicts or times lack.
    """
    from parsimony.cli import horizons

    request = horizons.Request(folder, minutes, tuple(arm or ()), weights.value, regularization, bootstrap, seed)
    raise typer.Exit(horizons.run(request, page, as_json=json))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(horizon)
