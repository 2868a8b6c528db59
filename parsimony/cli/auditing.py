"""`parsimony audit …`: standing audits of tasks. What the commands do is in `auditing_work`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.options import Address, Engine, EngineKind, Image, Json, OnlyTasks, SandboxKind, Workers

app = typer.Typer(
    help="Standing audits of tasks: canaries, the own fix, flakes, leaks in the image, weak tests, the checklist.",
    no_args_is_help=True,
)


class TimerName(StrEnum):
    """For what a ready text is printed."""

    crontab = "crontab"
    systemd = "systemd"
    kubernetes = "kubernetes"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the audits.")]
TaskRows = Annotated[Path | None, typer.Option("--tasks", metavar="FILE", help="Task rows: JSON, JSONL or Parquet.")]
Where = Annotated[SandboxKind | None, typer.Option("--sandbox", help="Where patches run; default: docker.")]
Times = Annotated[int | None, typer.Option("--times", "-n", min=1, help="Runs of gold and of base, each; default: 3.")]
Count = Annotated[
    int | None, typer.Option("--mutants", min=0, help="Mutants of a task's own fix, at most; default: 6.")
]
Chain = Annotated[
    Path | None,
    typer.Option(
        "--ledger", metavar="FILE", envvar="PARSIMONY_LEDGER", help="Also write findings into this append-only ledger."
    ),
]


@app.command()
def run(
    *,
    tasks: TaskRows = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the audits; default: TASKS.audit.")
    ] = None,
    sandbox: Where = None,
    workers: Workers = None,
    engine: Engine = EngineKind.local,
    address: Address = None,
    task: OnlyTasks = None,
    image: Image = None,
    times: Times = None,
    mutants: Count = None,
    ledger: Chain = None,
    if_due: Annotated[bool, typer.Option("--if-due", help="Only when the schedule in DIR says so.")] = False,
    json: Json = False,
) -> None:
    """Audit the tasks of a file. Options that are left out come from the schedule in DIR, where there is one.

    Exit status 1 when a task fails: it is quarantined, and leaves the denominators of every run until it passes. The
    same command goes on with an audit that was interrupted.
    """
    from parsimony.cli import auditing_work

    given = auditing_work.Given(
        tasks=tasks,
        sandbox=sandbox.value if sandbox else None,
        workers=workers,
        engine=engine.value,
        address=address,
        only=tuple(task or ()),
        image=image,
        times=times,
        mutants=mutants,
    )
    raise typer.Exit(auditing_work.run(given, out, ledger, if_due=if_due, as_json=json))


@app.command()
def status(folder: Folder, *, json: Json = False) -> None:
    """The newest audit, who is quarantined, and when the next one is due. Exit status 1 when it is overdue."""
    from parsimony.cli import auditing_work

    raise typer.Exit(auditing_work.status(folder, as_json=json))


@app.command()
def schedule(
    folder: Folder,
    *,
    tasks: TaskRows = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="7d", help="From the start of one audit to the next.")
    ] = None,
    cron: Annotated[
        str | None, typer.Option("--cron", metavar="'30 3 * * 1'", help="Or at the times of a crontab, in UTC.")
    ] = None,
    grace: Annotated[
        str | None, typer.Option("--grace", metavar="1d", help="How late an audit may be before it is overdue.")
    ] = None,
    sandbox: Where = None,
    workers: Workers = None,
    image: Image = None,
    times: Times = None,
    mutants: Count = None,
    show: Annotated[TimerName, typer.Option("--show", help="Which ready text to print.")] = TimerName.crontab,
    json: Json = False,
) -> None:
    """Write DIR/schedule.yaml, or check the one that is there. Tells when the next audit is due, and prints a text that
    starts it."""
    from parsimony.cli import auditing_schedule

    given = {
        "tasks": tasks,
        "every": every,
        "cron": cron,
        "grace": grace,
        "sandbox": sandbox.value if sandbox else None,
        "workers": workers,
        "image": image,
        "times": times,
        "mutants": mutants,
    }
    raise typer.Exit(auditing_schedule.schedule(folder, given, show.value, as_json=json))
