"""Commands about this machine and our files: doctor, schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from cluster import preflight
from parsimony.cli import DONE, NO, screen
from parsimony.cli.clusters import cluster_choice
from parsimony.tasks import read_tasks

STYLES = {preflight.State.OK: "green", preflight.State.WARN: "yellow", preflight.State.FAIL: "bold red"}


def doctor(sandbox: str | None, tasks: Path | None, *, as_json: bool) -> int:
    """One line a finding; exit status 1 when something that is needed fails."""
    images: list[str] = []
    if tasks is not None:
        images = sorted({task.image for task in read_tasks(tasks).tasks if task.image})
    findings = []
    out = screen.console()
    for finding in preflight.examine(sandbox, images, cluster_choice() if sandbox == "kubernetes" else None):
        findings.append(finding)
        if not as_json:
            line = Text.assemble(
                (f"{finding.state.value:<5}", STYLES[finding.state]), (f"{finding.subject:<16}", "bold"), finding.found
            )
            if finding.state is not preflight.State.OK:
                line.append(f"\n     → {finding.mend}", style="dim")
            out.print(line)
    if as_json:
        screen.print_json([asdict(finding) for finding in findings])
    failed = {finding.subject for finding in findings if finding.state is preflight.State.FAIL}
    # Without --sandbox one of the two ways to run here is enough.
    enough = sandbox is None and failed in ({"docker"}, {"process sandbox"})
    return NO if failed and not enough else DONE


def schema(name: str) -> int:
    """Print the JSON Schema of a file of ours."""
    screen.print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **_SCHEMAS[name]()})
    return DONE


def _sweep() -> dict[str, Any]:
    from cluster.sweep import Sweep

    return Sweep.model_json_schema()


def _environment() -> dict[str, Any]:
    from cluster.images.spec import environment_schema

    return environment_schema()


def _images_lock() -> dict[str, Any]:
    from cluster.imagelock import lock_schema

    return lock_schema()


def _registries() -> dict[str, Any]:
    from cluster.imagenames import Registries

    return Registries.model_json_schema()


_SCHEMAS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "sweep": _sweep,
    "environment": _environment,
    "images-lock": _images_lock,
    "registries": _registries,
}
