"""`parsimony sets …`: development, regression and holdout sets. What the commands do is in `sets_work`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.ledgerfile import DEFAULT_LEDGER, DEFAULT_MODELS, Ledger, Models

app = typer.Typer(
    help="Development, regression and holdout sets of tasks, in an append-only ledger.", no_args_is_help=True
)


class RoleName(StrEnum):
    """What a set is for."""

    development = "development"
    regression = "regression"
    holdout_live = "holdout_live"


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the set, such as regression-v1.")]
TaskRows = Annotated[Path, typer.Option("--tasks", metavar="FILE", help="Task rows: JSON, JSONL or Parquet.")]
Only = Annotated[list[str] | None, typer.Option("--task", metavar="ID", help="Only this task; may be repeated.")]
Which = Annotated[list[str] | None, typer.Option("--task", metavar="ID", help="A task of it; may be repeated.")]
All = Annotated[bool, typer.Option("--all", help="All tasks that are in it now.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command()
def create(
    name: Name,
    role: Annotated[RoleName, typer.Option("--role", help="What the set is for.")],
    tasks: TaskRows,
    source: Annotated[
        str, typer.Option("--source", metavar="KIND:NAME", help="static:…, live:…, timestamp_gated:… or held_out:…")
    ],
    *,
    task: Only = None,
    cutoff: Annotated[
        str | None, typer.Option("--cutoff", metavar="DATE", help="Tasks must have been made after it.")
    ] = None,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Make a set. Its tasks' contamination status follows from role, source, dates and burns, never from the rows."""
    from parsimony.cli import sets_work

    chosen = sets_work.Chosen(tasks, tuple(task or ()))
    wanted = sets_work.Wanted(name, role.value, source, cutoff)
    raise typer.Exit(sets_work.create(ledger, wanted, chosen, as_json=json))


@app.command("list")
def list_(*, ledger: Ledger = DEFAULT_LEDGER, json: Json = False) -> None:
    """All sets: role, tasks, status, source, and whether they are burned. --json prints the exact records."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.list_sets(ledger, as_json=json))


@app.command()
def show(name: Name, *, ledger: Ledger = DEFAULT_LEDGER, json: Json = False) -> None:
    """One set: its record, and each task with its status, date, burn and end."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.show(ledger, name, as_json=json))


@app.command()
def burn(
    name: Name,
    decision: Annotated[str, typer.Option("--decision", metavar="TEXT", help="What was decided with these tasks.")],
    *,
    task: Which = None,
    every: All = False,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Tasks were used for a decision: they are burned in every set, for good. Those of a holdout leave it."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.burn(ledger, name, task or [], decision, every=every, as_json=json))


@app.command()
def retire(
    name: Name,
    reason: Reason,
    *,
    task: Which = None,
    every: All = False,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Take tasks out of a set. A task that left a holdout comes back to none."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.retire(ledger, name, task or [], reason, every=every, as_json=json))


@app.command(short_help="Make the tasks of a file the tasks of a set.")
def rotate(
    name: Name,
    tasks: TaskRows,
    reason: Reason,
    *,
    task: Only = None,
    cutoff: Annotated[
        str | None, typer.Option("--cutoff", metavar="DATE", help="The set's new cutoff; else it keeps its own.")
    ] = None,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Make the tasks of a file the tasks of a set: those not in it are retired, new ones are assigned."""
    from parsimony.cli import sets_work

    chosen = sets_work.Chosen(tasks, tuple(task or ()))
    raise typer.Exit(sets_work.rotate(ledger, name, chosen, reason, cutoff, as_json=json))


@app.command()
def record(
    comparison: Annotated[Path, typer.Argument(metavar="COMPARISON.json", help="What `parsimony compare` wrote.")],
    run: Annotated[list[Path], typer.Option("--run", metavar="DIR", help="A run it was made from; may be repeated.")],
    *,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Write a comparison into the ledger. A holdout task that is compared for a second change is burned by it."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.record(ledger, comparison, run, as_json=json))


@app.command()
def decide(
    change: Annotated[str, typer.Option("--change", metavar="TEXT", help="The change, as its comparison names it.")],
    regression: Annotated[str, typer.Option("--regression", metavar="NAME", help="The regression set.")],
    *,
    comparison: Annotated[
        int | None, typer.Option("--comparison", metavar="N", help="Entry of the comparison; default: the newest.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="A note for the log.")] = "",
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Promote a change or not, by the regression set's comparison alone. All tasks that comparisons of it used are
    burned; those of a holdout are retired. Exit status 1 when it is not promoted."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.decide(ledger, change, regression, comparison, reason, as_json=json))


@app.command()
def claim(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    *,
    ledger: Ledger = DEFAULT_LEDGER,
    models: Models = DEFAULT_MODELS,
    json: Json = False,
) -> None:
    """Whether the result of a run may be called generalization, and why not. Exit status 1 when it may not."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.claim(ledger, run, models, as_json=json))


@app.command()
def log(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only entries about this set.")] = None,
    *,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """What happened, entry by entry."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.log(ledger, name, as_json=json))


@app.command(short_help="Check the whole ledger of sets, and print its digest.")
def verify(
    *,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="DIGEST", help="A digest noted earlier that must still be in it.")
    ] = None,
    adopt: Annotated[bool, typer.Option("--adopt", help="The head is lost: take what is there as complete.")] = False,
    ledger: Ledger = DEFAULT_LEDGER,
    json: Json = False,
) -> None:
    """Check the whole ledger, line by line and rule by rule, and print the digest that pins it."""
    from parsimony.cli import sets_work

    raise typer.Exit(sets_work.verify(ledger, expect, adopt=adopt, as_json=json))
