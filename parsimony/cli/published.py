"""The commands about what others published, and their options: dataset, analyze. What they do is in `measuring`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class AnalyzerTrack(StrEnum):
    """Rules for coding units of Python; every other language has one set."""

    v1 = "units-v1"
    v2 = "units-v2"


Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Where dataset and analyze keep downloads [.parsimony-cache]."),
]
Offline = Annotated[bool, typer.Option("--offline", help="Use what is in the cache, and never the network.")]
Refresh = Annotated[bool, typer.Option("--refresh", help="Download again what is in the cache and may have changed.")]


def dataset(
    context: typer.Context,
    *,
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="Where the rows go.")] = Path(
        "verified.jsonl"
    ),
    cache: Cache = None,
    offline: Offline = False,
    refresh: Refresh = False,
) -> None:
    """Download the tasks of SWE-bench Verified: metadata, base commits, human patches; a row each as JSON lines."""
    from parsimony.cli import measuring

    downloads = measuring.Downloads(cache or context.obj, offline, refresh)
    raise typer.Exit(measuring.dataset(output, downloads))


def analyze(
    context: typer.Context,
    submission: Annotated[
        list[str] | None, typer.Argument(metavar="SUBMISSION", help="Folders of evaluation/verified.")
    ] = None,
    *,
    manifest: Annotated[
        list[Path] | None, typer.Option("--manifest", metavar="FILE", help="Another submission; may be repeated.")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="FILE", help="What `parsimony dataset` wrote.")
    ] = None,
    ref: Annotated[str, typer.Option("--ref", help="Commit, branch or tag of the published results.")] = "main",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Examine so many attempts of each submission, by task id.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="ID", help="Only this task; may be repeated.")
    ] = None,
    include_failed: Annotated[
        bool, typer.Option("--include-failed", help="Also attempts that the publisher says failed.")
    ] = False,
    patch_only: Annotated[
        bool, typer.Option("--patch-only", help="Estimate from hunks alone; never pooled with full files.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted full run, and retry failed downloads.")
    ] = False,
    track: Annotated[
        AnalyzerTrack | None, typer.Option("--track", help="Rules for Python's coding units [units-v1].")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=256, help="Processes that measure.")] = 1,
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="Where the records go.")] = Path(
        "results.jsonl"
    ),
    cache: Cache = None,
    offline: Offline = False,
    refresh: Refresh = False,
) -> None:
    """Import published submissions and measure the footprint of their patches; a record per agent and task."""
    from parsimony.artifacts.analyze import Request
    from parsimony.artifacts.plan import Selection
    from parsimony.cli import measuring

    request = Request(
        submissions=tuple(submission or ()),
        manifests=tuple(manifest or ()),
        dataset=dataset,
        output=output,
        selection=Selection(frozenset(task or ()), limit, include_failed),
        ref=ref,
        patch_only=patch_only,
        resume=resume,
        workers=workers,
        track=track.value if track else None,
    )
    raise typer.Exit(measuring.analyze(request, measuring.Downloads(cache or context.obj, offline, refresh)))
