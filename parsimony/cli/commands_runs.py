"""Commands around a run: what it would take, what it waits for, and steering it while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(plan)


def plan(
    sweep: Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="The sweep file; see configs/demo.yaml.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's folder: what it has is not planned again.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", metavar="DIR", help="A past run, or its ledger; may be repeated."),
    ] = None,
    nodes: Annotated[int, typer.Option("--nodes", min=1, max=100_000, help="Machines that grade.")] = 1,
    slots: Annotated[
        int | None, typer.Option("--slots", min=1, max=4096, help="Executions at once on each; default: as here.")
    ] = None,
    price: Annotated[
        str | None,
        typer.Option("--price-per-cpu-hour", metavar="DOLLARS", help="Of computing, in place of the sweep's prices."),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a sweep would take: jobs, time, pulls, disk, dollars, with intervals from past runs. Runs nothing."""
    from parsimony.cli import planning

    raise typer.Exit(planning.plan(sweep, out, against or (), nodes=nodes, slots=slots, price=price, as_json=json))
