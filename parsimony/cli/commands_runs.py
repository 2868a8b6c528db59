"""Commands around a run: what it would take, what it waits for, and steering it while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(plan)
    app.command()(upload)
    app.command()(metrics)


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


def upload(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run, or of nights.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to, for fsspec: s3://bucket/prefix, file:///…")],
    *,
    json: Json = False,
) -> None:
    """Copy a run's folder to an object store; again sends only what is new. Whoever reads the copy finds it whole."""
    from parsimony.cli import uploading

    raise typer.Exit(uploading.upload(folder, url, as_json=json))


def metrics(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or of the nights of a nightly.")],
    *,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Serve them here until Ctrl-C; 0 takes a free port.")
    ] = None,
    address: Annotated[str, typer.Option("--address", help="0.0.0.0 answers every machine.")] = "127.0.0.1",
    textfile: Annotated[
        Path | None,
        typer.Option("--textfile", metavar="FILE.prom", help="Write them for node_exporter's textfile collector."),
    ] = None,
    every: Annotated[
        float | None, typer.Option("--every", min=1, metavar="SECONDS", help="Write the file again and again.")
    ] = None,
    json: Json = False,
) -> None:
    """Metrics of a run for Prometheus, live or finished, read off its ledger: serve, write or print them."""
    from parsimony.cli import metrics as work

    raise typer.Exit(work.metrics(folder, port, address, textfile, every=every, as_json=json))
