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


class RespondentKind(StrEnum):
    """What a row of the response matrix is."""

    arm = "arm"
    arm_seed = "arm-seed"


def difficulty(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Folders of runs, taken together.")
    ] = None,
    *,
    responses: Annotated[
        list[Path] | None,
        typer.Option("--responses", metavar="FILE", help="CSV, JSONL of respondent, task_id, successes, trials."),
    ] = None,
    respondent: Annotated[
        RespondentKind, typer.Option("--respondent", help="An arm with all its seeds, or each seed of an arm.")
    ] = RespondentKind.arm,
    band: Annotated[str, typer.Option("--band", metavar="LOW:HIGH", help="Pass rates of mid-range tasks.")] = "0.3:0.7",
    under_test: Annotated[
        list[str] | None,
        typer.Option("--under-test", metavar="ARM", help="Ranked, but no history; may be repeated."),
    ] = None,
    draws: Annotated[int, typer.Option("--draws", help="Draws of tasks, for rank intervals; 0 = none.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Of the draws.")] = 0,
    write_set: Annotated[
        Path | None, typer.Option("--write-set", metavar="FILE", help="Write the ids of mid-range tasks, one a line.")
    ] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """How hard tasks are, how much each tells, and whether a mid-range set ranks as all of them do.

    Exit status: 0 done; 1 no task is mid-range; 3 a row was rejected, verdicts are missing, the fit did not end.
    """
    from parsimony.cli import difficulties

    request = difficulties.Request(
        tuple(runs or ()), tuple(responses or ()), respondent.value, band, tuple(under_test or ()), draws, seed
    )
    raise typer.Exit(difficulties.run(request, difficulties.Output(write_set, page, json)))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(difficulty)
    app.command()(horizon)
