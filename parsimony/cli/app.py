"""The commands and their options. What they do is in the modules beside this one, imported when a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parsimony import __version__
from parsimony.cli import (
    auditing,
    commands_footprint,
    commands_measures,
    commands_runs,
    commands_tasks,
    commands_value,
    contamination,
    images,
    nightly,
    published,
    refresh,
    sets,
)
from parsimony.cli.ledgerfile import DEFAULT_LEDGER, DEFAULT_MODELS, Ledger, Models
from parsimony.cli.options import (
    Address,
    Arm,
    Engine,
    EngineKind,
    ExportFormat,
    Image,
    Json,
    MetricsAddress,
    MetricsPort,
    OnlyTasks,
    RunDir,
    Sandbox,
    SandboxKind,
    SchemaName,
    Seed,
    Tasks,
    Workers,
)
from parsimony.cli.sections import Sections

app = typer.Typer(
    name="parsimony",
    cls=Sections,
    help="Executed evidence on whether a coding agent really got better: candidate patches, real tests, real images.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"parsimony {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    cache: published.Cache = None,
) -> None:
    context.obj = cache


@app.command()
def run(
    sweep: Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="The sweep file; see configs/demo.yaml.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results go; an existing run is resumed.")],
    *,
    metrics_port: MetricsPort = None,
    metrics_address: MetricsAddress = "127.0.0.1",
    json: Json = False,
) -> None:
    """Grade a sweep: tasks × arms × seeds × repeats. The same command again resumes, or grades only what is new."""
    from parsimony.cli import grading

    place = None if metrics_port is None else (metrics_address, metrics_port)
    raise typer.Exit(grading.run_sweep(sweep, out, metrics=place, as_json=json))


@app.command()
def grade(
    tasks: Tasks,
    predictions: Annotated[list[Path], typer.Option("--predictions", help="Candidates; may be repeated.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results go; an existing run is resumed.")],
    *,
    sandbox: Sandbox = SandboxKind.docker,
    workers: Workers = None,
    engine: Engine = EngineKind.local,
    address: Address = None,
    task: OnlyTasks = None,
    image: Image = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Executions of each candidate.")] = 1,
    timeout: Annotated[float | None, typer.Option("--timeout", min=1, help="Seconds per test command.")] = None,
    json: Json = False,
) -> None:
    """Grade files of predictions against files of tasks, without a sweep file."""
    from parsimony.cli import grading

    one_off = grading.OneOff(
        tasks,
        tuple(predictions),
        sandbox.value,
        workers,
        engine.value,
        address,
        tuple(task or ()),
        image,
        repeats,
        timeout,
    )
    raise typer.Exit(grading.grade(one_off, out, as_json=json))


@app.command()
def calibrate(
    tasks: Tasks,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The reference; default: beside the task file.")
    ] = None,
    times: Annotated[int, typer.Option("--times", "-n", min=1, help="Runs of gold and of base, each.")] = 3,
    sandbox: Sandbox = SandboxKind.docker,
    workers: Workers = None,
    engine: Engine = EngineKind.local,
    address: Address = None,
    task: OnlyTasks = None,
    image: Image = None,
    json: Json = False,
) -> None:
    """Run gold and base n times each; write what every test does, and name unstable tests and unsound tasks."""
    from parsimony.cli import grading

    one_off = grading.OneOff(
        tasks, (), sandbox.value, workers, engine.value, address, tuple(task or ()), image, times, None
    )
    raise typer.Exit(grading.calibrate(one_off, out, as_json=json))


@app.command()
def status(folder: RunDir, *, json: Json = False) -> None:
    """How far a run is: census, outcomes, rates per arm."""
    from parsimony.cli import reading

    raise typer.Exit(reading.status(folder, as_json=json))


@app.command()
def show(
    folder: RunDir,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Instance id, or the end of one.")],
    *,
    arm: Arm = None,
    seed: Seed = None,
    log_lines: Annotated[int, typer.Option("--log-lines", min=0, help="Lines of the log's tail.")] = 25,
    json: Json = False,
) -> None:
    """One candidate in full: the verdict and why, each test, the log's tail, the patch as applied."""
    from parsimony.cli import reading

    raise typer.Exit(reading.show(folder, task, arm, seed, log_lines=log_lines, as_json=json))


@app.command()
def replay(
    folder: RunDir,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Instance id, or the end of one.")],
    *,
    arm: Arm = None,
    seed: Seed = None,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Keep the sandbox's files and say how to look into them.")
    ] = True,
) -> None:
    """The same grading again: says whether the verdict is the same, and keeps the sandbox's files for a look."""
    from parsimony.cli import grading

    raise typer.Exit(grading.replay(folder, task, arm, seed, keep=keep))


@app.command()
def regrade(folder: RunDir, *, json: Json = False) -> None:
    """Verdicts again from the stored executions, with this version's scorer and today's reference. Runs nothing."""
    from parsimony.cli import grading

    raise typer.Exit(grading.regrade(folder, as_json=json))


@app.command()
def report(
    folder: RunDir,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Default: report.html in the folder.")
    ] = None,
    ledger: Ledger = DEFAULT_LEDGER,
    models: Models = DEFAULT_MODELS,
) -> None:
    """Write the report page of a run again. It says generalization only where the ledger of sets lets it."""
    from parsimony.cli import reading

    raise typer.Exit(reading.report(folder, out, ledger, models))


@app.command()
def export(
    folder: RunDir,
    *,
    format: Annotated[ExportFormat, typer.Option("--format", help="What to write.")],  # noqa: A002 - the option's name
    out: Annotated[Path | None, typer.Option("--out", metavar="PATH", help="Default: DIR/export.")] = None,
) -> None:
    """Write results for other tools: a table of outcomes, or reports in the layout of SWE-bench."""
    from parsimony.cli import reading

    raise typer.Exit(reading.export(folder, format.value, out))


commands_runs.register(app)
commands_measures.register(app)
commands_footprint.register(app)
commands_tasks.register(app)
commands_value.register(app)
app.add_typer(sets.app, name="sets")
app.add_typer(contamination.app, name="contamination")
app.add_typer(auditing.app, name="audit")
app.add_typer(refresh.app, name="refresh")
app.add_typer(nightly.app, name="nightly")
app.add_typer(images.app, name="images")


@app.command()
def doctor(
    *,
    sandbox: Annotated[SandboxKind | None, typer.Option("--sandbox", help="Only what this sandbox needs.")] = None,
    tasks: Annotated[Path | None, typer.Option("--tasks", help="Also look for the images of these tasks.")] = None,
    json: Json = False,
) -> None:
    """What is wrong with this machine: one line each, with the mend."""
    from parsimony.cli import machine

    raise typer.Exit(machine.doctor(sandbox.value if sandbox else None, tasks, as_json=json))


@app.command()
def reap(
    directory: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="A run that is dead; default: whatever is past its expiry.")
    ] = None,
    *,
    sandbox: Annotated[SandboxKind, typer.Option("--sandbox", help="Where to look.")] = SandboxKind.docker,
    remove: Annotated[bool, typer.Option("--remove", help="Remove what is found; else it is only listed.")] = False,
    json: Json = False,
) -> None:
    """List, or remove, the containers, pods or processes that dead runs left behind: only those with our labels.

    A run that goes on removes what it left itself. Exit status 1 when something is left and --remove was not given."""
    from parsimony.cli import reaping

    raise typer.Exit(reaping.reap(directory, sandbox.value, remove=remove, as_json=json))


@app.command()
def schema(name: Annotated[SchemaName, typer.Argument(help="What to describe.")]) -> None:
    """Print a JSON Schema, for editors and checks."""
    from parsimony.cli import machine

    raise typer.Exit(machine.schema(name.value))
