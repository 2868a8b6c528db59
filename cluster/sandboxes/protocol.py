"""What every sandbox promises. The contract tests in tests/cluster/sandboxes hold each of them to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from parsimony.execution import ExecutionRequest, SandboxResult


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a sandbox can do, declared before anything runs, so that a sweep that asks for more is refused at once.

    Attributes:
        kind: `docker`, `process`, `kubernetes` or `fake`; part of every execution key.
        isolation: how far a candidate is kept from the machine.
        images: runs each task in its own image.
        network_off: can cut the network off.
        memory: `enforced` by the kernel for the whole execution, or `polled` and killed when seen above the limit.
        disk: the same for what is written.
        private_processes: a process namespace of its own: nothing outside can be seen or signalled.
    """

    kind: str
    isolation: Literal["none", "process", "namespaces", "container", "pod"]
    images: bool
    network_off: bool
    memory: Literal["enforced", "polled", "none"]
    disk: Literal["enforced", "polled", "none"]
    private_processes: bool


@runtime_checkable
class Sandbox(Protocol):
    """Runs requests to completion, many at once. One instance serves one agent."""

    @property
    def capabilities(self) -> Capabilities:
        """What this sandbox can do on this machine."""
        ...

    async def environment_digest(self, image: str | None) -> str:
        """The content identity of where `image` would run: the image's digest, or a digest of the machine's own
        environment for a sandbox without images.

        Raises:
            ImagePullFailed: the image is not here and cannot be brought here.
            PermanentError: there is no such image.
        """
        ...

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        """Run `request` to its end or to its deadline, whichever comes first.

        Nothing of the execution lives on when this returns, raises or is cancelled, but for removal of what it left
        on disk, which may go on in the background until `close`.

        Raises:
            TemporaryError: a fault of engine, node, disk or image; nothing can be said of the candidate.
            PermanentError: this request cannot run here at all.
        """
        ...

    async def reap(self, run_id: str | None = None, *, dry_run: bool = False) -> list[str]:
        """Remove what dead drivers left behind: only things with our labels, and of `run_id` when it is given; without
        it, what is past its expiry. Returns the names of what was removed, or with `dry_run` would be."""
        ...

    async def close(self) -> None:
        """Wait for removals under way and let go of the engine."""
        ...
