"""`parsimony images …`: task images built, pinned, verified, brought here and evicted."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.options import Image, Json, OnlyTasks, Workers

app = typer.Typer(
    help="Images of tasks: build them, pin them in a lock file, verify, prefetch and evict them.",
    no_args_is_help=True,
)


class Where(StrEnum):
    """Who is asked what a reference means."""

    auto = "auto"
    engine = "engine"
    registry = "registry"


Input = Annotated[Path, typer.Argument(metavar="INPUT", help="A sweep (.yaml), or task rows: JSON, JSONL or Parquet.")]
Lock = Annotated[
    Path | None,
    typer.Option("--lock", metavar="FILE", help="The lock; default: the sweep's, or images.lock.json beside INPUT."),
]
RegistriesFile = Annotated[
    Path | None,
    typer.Option("--registries", metavar="FILE", help="Mirrors, certificates, rates; default: the sweep's."),
]


@app.command()
def pin(
    source: Input,
    *,
    lock: Lock = None,
    where: Annotated[
        Where, typer.Option("--from", help="auto: the engine here, and the registry for what it does not have.")
    ] = Where.auto,
    platform: Annotated[
        str | None, typer.Option("--platform", help="Such as linux/amd64; default: the engine's, or this machine's.")
    ] = None,
    registries: RegistriesFile = None,
    task: OnlyTasks = None,
    image: Image = None,
    json: Json = False,
) -> None:
    """Write down which content every image means, with sizes and layers.

    What the lock holds already of other images stays. Exit status 3 when an image could not be pinned."""
    from parsimony.cli import images_pinning as work

    chosen = work.Choice(source, lock, registries, tuple(task or ()), image)
    raise typer.Exit(work.pin(chosen, where.value, platform, as_json=json))


@app.command()
def verify(
    source: Input,
    *,
    lock: Lock = None,
    registries: RegistriesFile = None,
    grade: Annotated[
        bool, typer.Option("--grade/--no-grade", help="Also grade gold and base and look into each image.")
    ] = True,
    work_dir: Annotated[
        Path | None, typer.Option("--work", metavar="DIR", help="Keep the gradings there, and go on with them.")
    ] = None,
    workers: Workers = 2,
    task: OnlyTasks = None,
    image: Image = None,
    json: Json = False,
) -> None:
    """Whether the lock is what engine or registry have, gold passes, base does not, and no image tells the future.

    Exit status 1 when an image fails."""
    from parsimony.cli import images_verifying as work
    from parsimony.cli.images_pinning import Choice

    chosen = Choice(source, lock, registries, tuple(task or ()), image)
    raise typer.Exit(work.verify(chosen, grade=grade, folder=work_dir, workers=workers or 2, as_json=json))
