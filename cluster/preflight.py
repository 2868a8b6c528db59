"""What is wrong with this machine, in one line each, with the mend. Nothing here changes anything, but for the check of
a Kubernetes cluster, which starts one pod and removes it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cluster.sandboxchoice import KubernetesSandbox
from parsimony.errors import ParsimonyError

LEAST_FREE_BYTES = 5 << 30
"""Below this much free disk an engine that stores images soon stops."""


class State(StrEnum):
    """How a check came out. WARN: works, with less than it could."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor."""

    subject: str
    state: State
    found: str
    mend: str = ""


def examine(
    sandbox: str | None = None, images: Iterable[str] = (), cluster: KubernetesSandbox | None = None
) -> Iterator[Finding]:
    """Look at what grading needs.

    Args:
        sandbox: `docker`, `kubernetes` or `process`: only what that one needs; None = everything that is on this
            machine.
        images: image references that must be here.
        cluster: how a Kubernetes cluster is used.
    """
    yield _python()
    yield _git()
    if sandbox in {None, "process"}:
        yield _process()
    if sandbox in {None, "docker"}:
        yield from _docker(list(images))
    if sandbox == "kubernetes":
        yield from _kubernetes(cluster or KubernetesSandbox())
    yield _disk(Path.cwd())
    yield _ray()
    yield _report()


def _python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} processors"
    return Finding(
        "python", State.OK if sys.version_info >= (3, 11) else State.FAIL, found, "install Python 3.11 or newer"
    )


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding("git", State.FAIL, "not on the PATH", "install git; the process sandbox needs it")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return Finding("git", State.OK, version)


def _process() -> Finding:
    def look() -> str:
        from cluster.sandboxes.process import ProcessSandbox  # noqa: PLC0415 - only when asked for

        able = asyncio.run(ProcessSandbox.open(slots=1)).capabilities
        network = "network off" if able.network_off else "network NOT cut off"
        private = "own process namespace" if able.private_processes else "shared process namespace"
        return f"isolation {able.isolation}: {network}, {private}, memory limit {able.memory}"

    finding = _try("process sandbox", look, "see docs/sandboxes.md")
    weak = finding.state is State.OK and "NOT" in finding.found
    return (
        Finding(finding.subject, State.WARN, finding.found, "run as root or allow user namespaces") if weak else finding
    )


def _docker(images: list[str]) -> Iterator[Finding]:
    from cluster.sandboxes.engine import Engine, ImageMissing  # noqa: PLC0415 - only when asked for

    engines: list[Engine] = []

    def look() -> str:
        from cluster.sandboxes.docker import DockerEngine  # noqa: PLC0415 - only when asked for

        engine = DockerEngine(1)
        engines.append(engine)
        engine.check_room(LEAST_FREE_BYTES)
        return "the engine answers" + (
            "" if engine.disk_quota else "; its storage driver cannot limit disk, so it is polled"
        )

    mend = (
        "start Docker (`systemctl start docker`) and give yourself its socket (`usermod -aG docker $USER`);"
        " or grade with --sandbox process"
    )
    yield _try("docker", look, mend)
    if engines and images:
        missing = []
        for image in images:
            try:
                engines[0].image(image)
            except ImageMissing:
                missing.append(image)
        found = f"{len(images) - len(missing)} of {len(images)} images are here"
        if missing:
            yield Finding(
                "images", State.WARN, f"{found}; not {missing[0]}", "they are pulled when needed, or build them first"
            )
        else:
            yield Finding("images", State.OK, found)


def _kubernetes(chosen: KubernetesSandbox) -> Iterator[Finding]:
    def reach() -> str:
        from cluster.sandboxes.kubernetes import check, options  # noqa: PLC0415 - the client takes seconds to load

        return check.reach(options.Options(**chosen.options))

    def trial() -> str:
        from cluster.sandboxes.kubernetes import check, options  # noqa: PLC0415 - only when the API answers

        return asyncio.run(check.trial(options.Options(**chosen.options)))

    found = _try(
        "kubernetes", reach, "name a kubeconfig in $KUBECONFIG; the account needs the Role in docs/sandboxes.md"
    )
    yield found
    if found.state is State.OK:
        mend = "see that nodes have `courier_image`, and that pods can reach `callback_host` (docs/sandboxes.md)"
        tried = _try("pods", trial, mend)
        weak = tried.state is State.OK and "NOT" in tried.found
        warning = "enforce a NetworkPolicy and say `network_policies: true`"
        yield Finding(tried.subject, State.WARN, tried.found, warning) if weak else tried


def _disk(path: Path) -> Finding:
    usage = shutil.disk_usage(path)
    found = f"{usage.free / (1 << 30):,.0f} GiB free of {usage.total / (1 << 30):,.0f} here"
    return Finding("disk", State.OK if usage.free >= LEAST_FREE_BYTES else State.WARN, found, "free some space")


def _ray() -> Finding:
    if importlib.util.find_spec("ray") is None:
        return Finding(
            "ray", State.WARN, "not installed", "only needed for --engine ray: install parsimony-grading[cluster]"
        )
    from importlib.metadata import version  # noqa: PLC0415 - costs a directory scan

    return Finding("ray", State.OK, f"version {version('ray')}")


def _report() -> Finding:
    lacking = [name for name in ("jinja2", "matplotlib") if importlib.util.find_spec(name) is None]
    if lacking:
        return Finding(
            "report page", State.WARN, f"{', '.join(lacking)} not installed", "install parsimony-grading[report]"
        )
    return Finding("report page", State.OK, "can be drawn")


def _try(subject: str, look: Callable[[], str], mend: str) -> Finding:
    try:
        return Finding(subject, State.OK, look())
    except ModuleNotFoundError as error:
        return Finding(subject, State.FAIL, f"{error.name} is not installed", "install parsimony-grading[cluster]")
    except (ParsimonyError, OSError) as error:
        return Finding(subject, State.FAIL, str(error).splitlines()[0][:200], mend)
