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


@app.command(short_help="Build task images from an environment file, in shared layers.")
def build(
    spec: Annotated[Path, typer.Argument(metavar="ENVIRONMENT.yaml", help="See configs/environment.example.yaml.")],
    *,
    task: OnlyTasks = None,
    lock: Annotated[
        Path | None, typer.Option("--lock", metavar="FILE", help="Also pin what was built in this lock.")
    ] = None,
    push: Annotated[bool, typer.Option("--push", help="Give the images to the registry of their names.")] = False,
    json: Json = False,
) -> None:
    """Build task images from an environment: shared layers for dependencies and history, a thin one for each task.

    What is there by its content is not built again. Exit status 1 when an image could not be built."""
    from parsimony.cli import images_building as work

    raise typer.Exit(work.build(spec, tuple(task or ()), lock, push=push, as_json=json))


@app.command(short_help="Write down which content every image means.")
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


@app.command(short_help="Check the lock, gold, base, and that no image tells the future.")
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


@app.command(short_help="Pull what a sweep or task rows need and is not here.")
def prefetch(
    source: Input,
    *,
    lock: Lock = None,
    registries: RegistriesFile = None,
    parallel: Annotated[
        int | None, typer.Option("--parallel", min=1, max=64, help="Pulls at once; default: the file's, else 3.")
    ] = None,
    task: OnlyTasks = None,
    image: Image = None,
    json: Json = False,
) -> None:
    """Pull what a sweep or task rows need and is not here, with patience where a registry asks for it.

    Exit status 1 when an image could not be brought here."""
    from parsimony.cli import images_fetching as work
    from parsimony.cli.images_pinning import Choice

    chosen = Choice(source, lock, registries, tuple(task or ()), image)
    raise typer.Exit(work.prefetch(chosen, parallel, as_json=json))


@app.command(short_help="List, or remove, the least recently used images.")
def gc(
    *,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="SIZE", help="What our images may take, such as 50g.")
    ] = None,
    free: Annotated[
        str | None, typer.Option("--free", metavar="SIZE", help="What has to be free on the engine's disk.")
    ] = None,
    spare: Annotated[
        str, typer.Option("--spare", metavar="TIME", help="What was used in the last so long stays.")
    ] = "1h",
    remove: Annotated[bool, typer.Option("--remove", help="Remove what is listed; else it is only listed.")] = False,
    json: Json = False,
) -> None:
    """List, or remove, the least recently used images until a disk budget holds.

    Only images that this user's parsimony pulled or built, never one that a container is made from. Exit status 1 when
    the budget does not hold and --remove was not given, or nothing more may go."""
    from parsimony.cli import images_fetching as work

    raise typer.Exit(work.gc(budget, free, spare, remove=remove, as_json=json))


@app.command(short_help="Pulls and bytes per node and disk, before anything is pulled.")
def plan(
    source: Input,
    *,
    lock: Lock = None,
    registries: RegistriesFile = None,
    nodes: Annotated[int, typer.Option("--nodes", min=1, help="Machines that grade.")] = 1,
    task: OnlyTasks = None,
    image: Image = None,
    json: Json = False,
) -> None:
    """Pulls and bytes per node and disk, before anything is pulled. Sizes are the lock's, else the engine's."""
    from parsimony.cli import images_planning as work
    from parsimony.cli.images_pinning import Choice

    chosen = Choice(source, lock, registries, tuple(task or ()), image)
    raise typer.Exit(work.plan(chosen, nodes, as_json=json))
