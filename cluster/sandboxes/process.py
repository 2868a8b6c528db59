"""The `process` sandbox: executions as processes of this machine, without images and without an engine.

Weaker than a container, and meant for one's own code and for demonstrations. Where the kernel allows namespaces, an
execution sees no other process, no network, and can write to nothing but its own folder; elsewhere it is an ordinary
process that is watched and killed with its descendants. docs/sandboxes.md says what that is worth.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal

from cluster.sandboxes.machine import environment_digest
from cluster.sandboxes.ownership import may_be_reaped
from cluster.sandboxes.places import Places
from cluster.sandboxes.process_run import ProcessRun
from cluster.sandboxes.processors import Processors
from cluster.sandboxes.protocol import Capabilities
from cluster.sandboxes.supervisor.namespaces import REPLACED
from cluster.sandboxes.workers import Workers
from parsimony.errors import ParsimonyError, PermanentError
from parsimony.execution import ExecutionRequest, Limits, SandboxResult

STANDARD_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
Isolation = Literal["auto", "namespaces", "process"]

TRIAL: Final = "probe-"
"""Names of the executions by which a sandbox finds out what works here begin so."""


class ProcessSandbox:
    """`Sandbox` without images.

    Args:
        slots: executions at once; more wait for a free one.
        namespaces: whether executions get them; see `open`, which finds out.
        path: folders of PATH.
        readable: further paths that executions need and that lie in /tmp, /var/tmp or /run, which are replaced.
        root: where executions have their folders; None = in the machine's folder for temporary files.
    """

    def __init__(
        self,
        *,
        slots: int,
        namespaces: bool,
        path: Sequence[str] | None = None,
        readable: Sequence[str] = (),
        root: Path | None = None,
    ) -> None:
        folders = [str(Path(sys.executable).parent), *STANDARD_PATH] if path is None else list(path)
        self._path = os.pathsep.join(folders)
        self._readable = sorted({*readable, *_needed(folders)})
        self._namespaces = namespaces
        self._places = Places(root)
        self._workers = Workers(slots)
        self._processors = Processors(len(os.sched_getaffinity(0)))
        self._digest: asyncio.Task[str] | None = None

    @classmethod
    async def open(
        cls,
        *,
        slots: int,
        isolation: Isolation = "auto",
        path: Sequence[str] | None = None,
        readable: Sequence[str] = (),
        root: Path | None = None,
    ) -> ProcessSandbox:
        """Find out what this machine allows, by running one command, and declare it.

        Args:
            isolation: `auto` takes namespaces where the kernel allows them; the others insist.
            slots, path, readable, root: see the class.

        Raises:
            PermanentError: namespaces were asked for and are not to be had.
        """
        if isolation != "process":
            probed = cls(slots=slots, namespaces=True, path=path, readable=readable, root=root)
            refusal = await probed._probe()
            if refusal is None:
                return probed
            await probed.close()
            if isolation == "namespaces":
                raise PermanentError(f"this machine does not allow namespaces: {refusal}")
        return cls(slots=slots, namespaces=False, path=path, readable=readable, root=root)

    @property
    def capabilities(self) -> Capabilities:
        """See `Sandbox`."""
        return Capabilities(
            kind="process",
            isolation="namespaces" if self._namespaces else "process",
            images=False,
            network_off=self._namespaces,
            memory="polled",
            disk="polled",
            private_processes=self._namespaces,
        )

    async def environment_digest(self, image: str | None) -> str:
        """See `Sandbox`; `image` means nothing here. Found out once."""
        if self._digest is None:
            call = partial(environment_digest, self._path, self.capabilities.isolation)
            self._digest = asyncio.get_running_loop().create_task(self._workers.call(call))
        return await asyncio.shield(self._digest)

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        """See `Sandbox`."""
        if request.workdir is not None:
            raise PermanentError("the process sandbox has no image, and so no working directory but its own")
        run = ProcessRun(
            request,
            self._places.make,
            processors=self._processors,
            path=self._path,
            namespaces=self._namespaces,
            readable=self._readable,
        )
        with self._workers.claim(request.name):
            try:
                return await self._workers.run(run)
            finally:
                if run.place is not None:
                    self._workers.later(request.name, run.place.remove)

    async def reap(self, run_id: str | None = None, *, dry_run: bool = False) -> list[str]:
        """See `Sandbox`. Never what belongs to a process that still runs."""
        return await self._workers.call(partial(self._reap, run_id, dry_run))

    async def close(self) -> None:
        """See `Sandbox`."""
        await self._workers.close()

    def _reap(self, run_id: str | None, dry_run: bool) -> list[str]:
        removed = []
        for place in self._places.found():
            trial = place.owner.name.startswith(TRIAL)  # of a sandbox that was killed: no run will ever ask for it
            if not place.owner.alive and (trial or may_be_reaped(place.owner.labels, run_id, time.time())):
                if not dry_run:
                    place.end_marked()
                    place.remove()
                removed.append(place.owner.name)
        return removed

    async def _probe(self) -> str | None:
        """Why namespaces cannot be had; None when they can."""
        limits = Limits(timeout_s=20.0, overhead_s=0.0)
        name = f"{TRIAL}{os.getpid()}-{time.monotonic_ns()}"
        command = ("/bin/sh", "-c", "exit 7")
        try:
            result = await self.run(ExecutionRequest(name, name, command, {}, limits))
        except ParsimonyError as error:
            return str(error)
        return None if result.exit_status == 7 else f"a trial ended with {result.exit_status}"


def _needed(folders: Sequence[str]) -> set[str]:
    """What lies in folders that are replaced and yet has to be seen: the programs of PATH, and this Python."""
    roots = {Path(folder).parent for folder in folders if Path(folder).name in {"bin", "sbin"}}
    roots |= {Path(folder) for folder in folders}
    roots |= {Path(prefix) for prefix in (sys.prefix, sys.base_prefix)}
    within = {root for root in roots if any(root.is_relative_to(folder) for folder in REPLACED)}
    return {str(root) for root in within if str(root) not in REPLACED}
