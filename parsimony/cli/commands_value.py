"""The commands that weigh what is resolved: in dollars, in medals, across benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.options import Json, RunDir

Page = Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write a page.")]
Prices = Annotated[list[Path] | None, typer.Option("--prices", metavar="FILE", help="A price file; may be repeated.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="Prices of this day. Default: the day of each cost.")
]


def value(
    folder: RunDir,
    *,
    values: Annotated[
        Path | None,
        typer.Option("--values", metavar="FILE", help="CSV of task_id, dollars[, kind]. Default: the task rows."),
    ] = None,
    prices: Prices = None,
    as_of: AsOf = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="ARM", help="Arm that the others are set against.")
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=0, max=1_000_000, help="Draws of tasks for intervals; 0 = none.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Of the draws.")] = 20_250_923,
    page: Page = None,
    json: Json = False,
) -> None:
    """What each arm earned in dollars: a task's payout is earned when it is resolved (the rule of SWE-Lancer).

    Exit status: 0 done; 2 a model has no price; 3 verdicts, values or costs are missing: bounds, no points.
    """
    from parsimony.cli import values as work
    from parsimony.cli.costs import parse_day

    request = work.Request(folder, values, tuple(prices or ()), parse_day(as_of), baseline, draws, seed)
    raise typer.Exit(work.run(request, page, as_json=json))


def medals(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORES", help="JSONL or CSV of competition_id, seed, score[, valid, arm].")
    ],
    *,
    leaderboards: Annotated[
        Path, typer.Option("--leaderboards", metavar="FOLDER", help="Holds ID.csv or ID/leaderboard.csv.")
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="Every leaderboard of the folder was planned, also without a row.")
    ] = False,
    json: Json = False,
) -> None:
    """Medals by the leaderboards of competitions, and the any-medal rate over seeds (the rule of MLE-bench).

    Exit status: 0 done; 3 a submission is missing or a row was rejected: bounds, no points.
    """
    from parsimony.cli import medals as work

    raise typer.Exit(work.run(scores, leaderboards, everything=everything, as_json=json))


def matrix(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="YAML or JSONL of runs and of published numbers."),
    ],
    *,
    prices: Prices = None,
    as_of: AsOf = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Models × benchmarks × scaffolds and what a task costs: who is worth its price, and what a scaffold changes.

    Exit status: 0 done; 2 the file cannot be read; 3 a row was rejected, or verdicts or costs are missing.
    """
    from parsimony.cli import matrix as work
    from parsimony.cli.costs import parse_day

    request = work.Request(file, tuple(prices or ()), parse_day(as_of))
    raise typer.Exit(work.run(request, page, as_json=json))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(value)
    app.command()(medals)
    app.command()(matrix)
