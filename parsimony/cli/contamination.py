"""`parsimony contamination …`: what a model may have seen. What the commands do is in `contamination_work`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.ledgerfile import DEFAULT_LEDGER, DEFAULT_MODELS, Ledger, Models
from parsimony.cli.options import Json, OnlyTasks, Tasks

app = typer.Typer(
    help="What a model may have seen: date gate, decay at its cutoff, statements that tell the fix.",
    no_args_is_help=True,
)

CutoffDate = Annotated[
    str | None, typer.Option("--cutoff", metavar="DATE", help="End of the training data: 2024-04, or a day or time.")
]
Model = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Take the cutoff of this model from the table.")
]
Record = Annotated[bool, typer.Option("--record/--no-record", help="Write the finding into the ledger.")]
Page = Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write a page.")]
Threshold = Annotated[
    float, typer.Option("--threshold", min=0.0, max=1.0, help="Ratio from which a task is called leaked.")
]


@app.command()
def gate(
    tasks: Tasks,
    *,
    cutoff: CutoffDate = None,
    model: Model = None,
    models: Models = DEFAULT_MODELS,
    task: OnlyTasks = None,
    record: Record = True,
    page: Page = None,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Which tasks were made after a model's cutoff for certain. Exit status 1 when one was not."""
    from parsimony.cli import contamination_work as work

    asked = work.Asked(cutoff, model, models)
    found = work.Finding(ledger if record else None, json, page)
    raise typer.Exit(work.gate(tasks, tuple(task or ()), asked, found))


@app.command(short_help="Pass rates by month of the tasks, and after the cutoff.")
def decay(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run (what was given as --out).")],
    *,
    cutoff: CutoffDate = None,
    model: Model = None,
    models: Models = DEFAULT_MODELS,
    arm: Annotated[list[str] | None, typer.Option("--arm", help="Only this arm; may be repeated.")] = None,
    record: Record = True,
    page: Page = None,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Pass rates by month of the tasks, and after the cutoff against before it, with intervals and a test."""
    from parsimony.cli import contamination_work as work

    asked = work.Asked(cutoff, model, models)
    found = work.Finding(ledger if record else None, json, page)
    raise typer.Exit(work.decay(run, tuple(arm or ()), asked, found))


@app.command()
def leak(
    tasks: Tasks,
    *,
    threshold: Threshold = 0.5,
    task: OnlyTasks = None,
    record: Record = True,
    page: Page = None,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """How much of each gold patch stands in the problem statement. Exit status 1 when a task is leaked."""
    from parsimony.cli import contamination_work as work

    found = work.Finding(ledger if record else None, json, page)
    raise typer.Exit(work.leak(tasks, tuple(task or ()), threshold, found))
