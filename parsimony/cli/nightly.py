"""`parsimony nightly …`: the regression set every night, held against the last accepted one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.options import Json
from parsimony.cli.refresh import TimerName

app = typer.Typer(
    help="The regression set every night, against the last accepted night: a gate for CI, with a ledger of nights.",
    no_args_is_help=True,
)

Config = Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="The nightly; see configs/nightly.example.yaml.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason; it is written down.")]


@app.command(short_help="Grade a night and compare it with the last accepted one.")
def run(
    config: Config,
    *,
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="Which night; default: today, in UTC.")
    ] = None,
    if_due: Annotated[bool, typer.Option("--if-due", help="Only when the schedule of the file says so.")] = False,
    json: Json = False,
) -> None:
    """Grade a night with its canaries, compare it with the last accepted one, and write down what came of it.

    The same date again goes on with what is missing, or says that the night is over. Exit status: 0 passed, accepted,
    or not due; 1 a significant regression; 2 void (a canary was graded wrong) or not comparable; 3 something is
    missing.
    """
    from parsimony.cli import nightly_work as work

    raise typer.Exit(work.run(config, date, if_due=if_due, as_json=json))


@app.command()
def accept(
    config: Config,
    date: Annotated[str, typer.Argument(metavar="DATE", help="The night, such as 2026-12-01.")],
    *,
    why: Why,
    json: Json = False,
) -> None:
    """Make a night the baseline that later nights are compared with."""
    from parsimony.cli import nightly_work as work

    raise typer.Exit(work.accept(config, date, why, as_json=json))


@app.command()
def rollback(config: Config, *, why: Why, json: Json = False) -> None:
    """Take the baseline back: the accepted night before it is the baseline again."""
    from parsimony.cli import nightly_work as work

    raise typer.Exit(work.rollback(config, why, as_json=json))


@app.command()
def status(config: Config, *, json: Json = False) -> None:
    """Nights, the baseline, what is due and what was missed. Exit status 1 when the newest that was due is missed."""
    from parsimony.cli import nightly_work as work

    raise typer.Exit(work.status(config, as_json=json))


@app.command(short_help="When the next night is due; a text for a scheduler.")
def schedule(
    config: Config,
    *,
    show: Annotated[TimerName, typer.Option("--show", help="Which ready text to print.")] = TimerName.crontab,
    json: Json = False,
) -> None:
    """Tell when the next night is due and what a missed one means, and print a text that starts nights."""
    from parsimony.cli import nightly_work as work

    raise typer.Exit(work.schedule(config, show.value, as_json=json))
