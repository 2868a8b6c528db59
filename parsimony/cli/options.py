"""Options and arguments that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class SandboxKind(StrEnum):
    """Where candidates run."""

    docker = "docker"
    kubernetes = "kubernetes"
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
    environment = "environment"
    images_lock = "images-lock"
    registries = "registries"


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
MetricsPort = Annotated[
    int | None,
    typer.Option("--metrics-port", min=0, max=65535, help="Serve metrics of the run at this port; 0 takes a free one."),
]
MetricsAddress = Annotated[
    str, typer.Option("--metrics-address", help="Whose requests are answered; 0.0.0.0 = every machine's.")
]
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
