"""`parsimony refresh …`: new tasks come in by a schedule. What the commands do is in `refresh_work`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.ledgerfile import DEFAULT_LEDGER, DEFAULT_MODELS, Ledger, Models
from parsimony.cli.options import Json

app = typer.Typer(
    help="Live refresh: new tasks from folders and URLs come into a store and a holdout_live set, behind a date gate.",
    no_args_is_help=True,
)


class TimerName(StrEnum):
    """For what a ready text is printed."""

    crontab = "crontab"
    systemd = "systemd"
    kubernetes = "kubernetes"


Config = Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="The refresh; see configs/refresh.example.yaml.")]
After = Annotated[
    str | None, typer.Option("--after", metavar="DATE", help="Only tasks made after it; in place of the file's.")
]
Model = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME", help="And after the cutoff of this model; may be repeated."),
]
Window = Annotated[
    int | None,
    typer.Option("--window", metavar="MONTHS", min=1, max=1200, help="How long a task stays; in place of the file's."),
]


@app.command(short_help="Ask every source once, keep what is new, bring sets up to date.")
def run(
    config: Config,
    *,
    after: After = None,
    model: Model = None,
    window: Window = None,
    if_due: Annotated[bool, typer.Option("--if-due", help="Only when the schedule of the file says so.")] = False,
    ledger: Ledger = DEFAULT_LEDGER,
    models: Models = DEFAULT_MODELS,
    json: Json = False,
) -> None:
    """Ask every source once; keep what is new; bring the live set and the set of retired tasks up to date.

    Exit status: 0 done, or not due; 2 no source answered; 3 a source failed, or rows were rejected or in conflict. The
    same command finishes a refresh that was interrupted.
    """
    from parsimony.cli import refresh_work as work
    from parsimony.cli.refresh_config import Given

    given = Given(ledger, models, after, tuple(model or ()), window)
    raise typer.Exit(work.run(config, given, if_due=if_due, as_json=json))


@app.command(short_help="Tasks by month, what each refresh brought, when the next is due.")
def status(
    config: Config,
    *,
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write a page.")] = None,
    ledger: Ledger = DEFAULT_LEDGER,
    models: Models = DEFAULT_MODELS,
    json: Json = False,
) -> None:
    """Tasks by month and where they stand, what each refresh brought, and when the next is due. Every row of the store
    is held against the ledger. Exit status 1 when a refresh is overdue."""
    from parsimony.cli import refresh_work as work
    from parsimony.cli.refresh_config import Given

    raise typer.Exit(work.status(config, Given(ledger, models), page, as_json=json))


@app.command(short_help="When the next refresh is due; a text for a scheduler.")
def schedule(
    config: Config,
    *,
    show: Annotated[TimerName, typer.Option("--show", help="Which ready text to print.")] = TimerName.crontab,
    ledger: Ledger = DEFAULT_LEDGER,
    models: Models = DEFAULT_MODELS,
    json: Json = False,
) -> None:
    """Check the schedule in the file; tell when the next refresh is due and what a missed one means, and print a text
    that starts refreshes."""
    from parsimony.cli import refresh_work as work
    from parsimony.cli.refresh_config import Given

    raise typer.Exit(work.schedule(config, Given(ledger, models), show.value, as_json=json))
