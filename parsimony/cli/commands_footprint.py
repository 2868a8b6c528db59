"""The commands on footprints: dataset, analyze, leaderboard, footprint-report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli import published
from parsimony.cli.options import (
    Draws,
    DrawsSeed,
    Json,
    MetricsMode,
    Ranking,
    Records,
)


def leaderboard(
    records: Records,
    *,
    agent: Annotated[list[str] | None, typer.Option("--agent", help="Only this agent; may be repeated.")] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Only tasks that every agent solved and that were measured for all.")
    ] = False,
    mode: Annotated[MetricsMode, typer.Option("--mode", help="Kind of metrics.")] = MetricsMode.full_file,
    ranking: Annotated[
        Ranking, typer.Option("--ranking", help="Medians, or mean net units of solved or of all attempts in scope.")
    ] = Ranking.medians,
    draws: Draws = 2000,
    seed: DrawsSeed = 42,
    json: Json = False,
) -> None:
    """Compare measured footprints: a table in a terminal, JSON in a file or a pipe."""
    from parsimony.cli import footprint

    choice = footprint.Choice(tuple(agent or ()), shared, mode.value, ranking.value, draws, seed)
    raise typer.Exit(footprint.leaderboard(records, choice, as_json=json))


def footprint_report(
    panel: Annotated[Path, typer.Argument(metavar="PANEL", help="A panel of `python -m parsimony.scoring freeze`.")],
    records: Records,
    *,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The page.")] = Path("footprint.html"),
    draws: Annotated[int, typer.Option("--draws", min=1, help="Draws of tasks for rank intervals.")] = 2000,
    seed: DrawsSeed = 42,
) -> None:
    """Write a page of footprint scores: scoreboard, ranks, and where each agent's points come from."""
    from parsimony.cli import footprint

    raise typer.Exit(footprint.report(panel, records, out, draws=draws, seed=seed))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(published.dataset)
    app.command()(published.analyze)
    app.command()(leaderboard)
    app.command("footprint-report")(footprint_report)
