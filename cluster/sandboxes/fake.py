"""The `fake` sandbox: results by script, for tests of everything above sandboxes. Runs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from cluster.sandboxes.ownership import may_be_reaped
from cluster.sandboxes.protocol import Capabilities
from parsimony.errors import PermanentError
from parsimony.execution import CapturedOutput, Ending, ExecutionRequest, ResourceUsage, SandboxResult

CAPABILITIES: Final = Capabilities(
    kind="fake",
    isolation="none",
    images=True,
    network_off=True,
    memory="none",
    disk="none",
    private_processes=True,
)

Script = Callable[[ExecutionRequest], SandboxResult | Exception]


class FakeSandbox:
    """`Sandbox` whose executions end as a script says.

    Args:
        script: the result of a request, or the exception that `run` raises; called when its delay is over.
        delay: seconds that a request takes.
        sleep: how those pass; a test may bring its own clock.
        digests: `environment_digest` by image; others get one made from their name.
        capabilities: what to declare.

    Attributes:
        requests: every request, in the order of their start.
        running: names under way.
        most_at_once: the most there ever were of them.
        abandoned: name -> labels of what dead drivers left; `reap` removes from here.
        closed: whether `close` was called.
    """

    def __init__(
        self,
        script: Script,
        *,
        delay: Callable[[ExecutionRequest], float] = lambda _: 0.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        digests: Mapping[str | None, str] | None = None,
        capabilities: Capabilities = CAPABILITIES,
    ) -> None:
        self._script = script
        self._delay = delay
        self._sleep = sleep
        self._digests = dict(digests or {})
        self.capabilities = capabilities
        self.requests: list[ExecutionRequest] = []
        self.running: set[str] = set()
        self.most_at_once = 0
        self.abandoned: dict[str, Mapping[str, str]] = {}
        self.closed = False

    async def environment_digest(self, image: str | None) -> str:
        """See `Sandbox`."""
        return self._digests.get(image, f"sha256:fake:{image}")

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        """See `Sandbox`."""
        if request.name in self.running:
            raise PermanentError(f"{request.name} is running here already")
        self.requests.append(request)
        self.running.add(request.name)
        self.most_at_once = max(self.most_at_once, len(self.running))
        try:
            await self._sleep(self._delay(request))
            result = self._script(request)
        finally:
            self.running.discard(request.name)
        if isinstance(result, Exception):
            raise result
        return result

    async def reap(self, run_id: str | None = None, *, dry_run: bool = False) -> list[str]:
        """See `Sandbox`; everything abandoned is past its expiry."""
        removed = [name for name, labels in self.abandoned.items() if may_be_reaped(labels, run_id, now=float("inf"))]
        for name in () if dry_run else removed:
            del self.abandoned[name]
        return removed

    async def close(self) -> None:
        """See `Sandbox`."""
        self.closed = True


def ended(
    outputs: Mapping[str, bytes] | None = None,
    *,
    log: bytes = b"",
    ending: Ending = Ending.EXITED,
    exit_status: int | None = 0,
    usage: ResourceUsage = ResourceUsage(0.5, 0.25, 1 << 20),  # noqa: B008 - frozen
    image_digest: str | None = None,
    notes: tuple[str, ...] = (),
) -> SandboxResult:
    """A result for scripts."""
    return SandboxResult(
        ending=ending,
        exit_status=exit_status if ending is Ending.EXITED else None,
        outputs=dict(outputs or {}),
        log=CapturedOutput(log, b"", len(log)),
        usage=usage,
        phases={"queue": 0.0, "create": 0.0, "inject": 0.0, "start": 0.0, "run": usage.wall_seconds, "collect": 0.0},
        image_digest=image_digest,
        notes=notes,
    )
