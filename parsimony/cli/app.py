"""The commands and their options. What they do is in the modules beside this one, imported when a command runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from parsimony import __version__
from parsimony.cli import published

app = typer.Typer(
    name="parsimony",
    help="Executed evidence on whether a coding agent really got better: candidate patches, real tests, real images.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class SandboxKind(StrEnum):
    """Where candidates run."""

    docker = "docker"
    process = "process"


class EngineKind(StrEnum):
    """What carries the work."""

    local = "local"
    ray = "ray"


class ExportFormat(StrEnum):
    """What `parsimony export` writes."""

    parquet = "parquet"
    csv = "csv"
    swebench = "swebench"


class SchemaName(StrEnum):
    """What `parsimony schema` can describe."""

    sweep = "sweep"


class MetricsMode(StrEnum):
    """What footprints were measured from."""

    full_file = "full_file"
    patch_only = "patch_only"


class Ranking(StrEnum):
    """What orders a leaderboard of footprints."""

    medians = "medians"
    solved_means = "measured-net-mean-v1"
    all_means = "all-measured"


RunDir = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run (what was given as --out).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Tasks = Annotated[Path, typer.Option("--tasks", help="Task rows: JSON, JSONL or Parquet.")]
OnlyTasks = Annotated[list[str] | None, typer.Option("--task", metavar="ID", help="Only this task; may be repeated.")]
Sandbox = Annotated[SandboxKind, typer.Option("--sandbox", help="Where candidates run.")]
Engine = Annotated[EngineKind, typer.Option("--engine", help="What carries the work.")]
Address = Annotated[str | None, typer.Option("--address", help="A running Ray cluster (implies --engine ray).")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="In flight per node; as many run as CPUs allow.")]
Image = Annotated[str | None, typer.Option("--image", help="Image for rows that name none; may hold {instance_id}.")]
Arm = Annotated[str | None, typer.Option("--arm", help="Arm of the candidate.")]
Records = Annotated[list[Path], typer.Argument(metavar="RECORDS", help="Results files of analyze, or folders of runs.")]
Draws = Annotated[int, typer.Option("--draws", min=0, help="Draws of tasks for rank intervals.")]
DrawsSeed = Annotated[int, typer.Option("--seed", help="Of the draws.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the candidate.")]


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
    json: Json = False,
) -> None:
    """Grade a sweep: tasks × arms × seeds × repeats. The same command again resumes, or grades only what is new."""
    from parsimony.cli import grading

    raise typer.Exit(grading.run_sweep(sweep, out, as_json=json))


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
) -> None:
    """Write the report page of a run again."""
    from parsimony.cli import reading

    raise typer.Exit(reading.report(folder, out))


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


app.command()(published.dataset)
app.command()(published.analyze)


@app.command()
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


@app.command("footprint-report")
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


CpuHour = Annotated[
    float | None, typer.Option("--cpu-hour", metavar="DOLLARS", min=0, help="What an hour of a processor costs you.")
]


@app.command()
def scorecard(
    folder: RunDir,
    *,
    cpu_hour: CpuHour = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Also write scorecard.html.")] = True,
    json: Json = False,
) -> None:
    """Where in the coding loop each candidate was won or lost: writes scorecards.jsonl and scorecard-notes.jsonl."""
    from parsimony.cli import scorecards

    raise typer.Exit(scorecards.scorecard(folder, cpu_hour=cpu_hour, page=page, as_json=json))


@app.command()
def diagnose(
    folder: RunDir,
    other: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A second run, which has the candidate.")
    ] = None,
    *,
    baseline: Annotated[str | None, typer.Option("--baseline", metavar="ARM", help="Arm before the change.")] = None,
    candidate: Annotated[str | None, typer.Option("--candidate", metavar="ARM", help="Arm after it.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Also write a page.")] = None,
    json: Json = False,
) -> None:
    """Which stage a change moved, what is noise, and which stage is the bottleneck now, in one sentence and a table."""
    from parsimony.cli import scorecards

    raise typer.Exit(scorecards.diagnose_runs(scorecards.Sides(folder, other, baseline, candidate), out, as_json=json))


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
def schema(name: Annotated[SchemaName, typer.Argument(help="What to describe.")]) -> None:
    """Print a JSON Schema, for editors and checks."""
    from parsimony.cli import machine

    raise typer.Exit(machine.schema(name.value))
