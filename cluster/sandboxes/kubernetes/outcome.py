"""From what pod and courier said to a result. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from cluster.sandboxes import shell
from cluster.sandboxes.kubernetes import faults
from cluster.sandboxes.kubernetes.pod import CANDIDATE
from cluster.sandboxes.kubernetes.post import Delivery
from parsimony.errors import PermanentError
from parsimony.execution import CapturedOutput, Ending, ExecutionRequest, ResourceUsage, SandboxResult

KILLED: Final = 128 + 9

_STAGES: Final = (
    ("create", "created"),
    ("queue", "scheduled"),
    ("inject", "fetched"),
    ("start", "begun"),
    ("run", "ended"),
    ("collect", "delivered"),
)


def outcome(
    request: ExecutionRequest,
    pod: faults.Pod,
    delivery: Delivery,
    at: Mapping[str, float],
    *,
    ending: Ending | None = None,
) -> SandboxResult:
    """The result of a candidate that began.

    Args:
        pod: with the candidate's end in it, unless `ending` is given.
        at: monotonic seconds by stage.
        ending: how we ended it ourselves; None = as courier and pod say.

    Raises:
        PermanentError: the image has no such command.
    """
    ended = faults.terminated(pod, CANDIDATE)
    status = ended.exit_code if ended is not None else KILLED
    files, notes = dict(delivery.outbox.files), list[str]()
    record = shell.parse_record(files.pop(shell.RECORD, b""))
    kills = max(record.memory_kills, int(ended is not None and ended.reason == "OOMKilled"))
    if ending is not None:
        notes.append("it did not end when it was told to; its outbox was read while it still ran")
    ending = ending or delivery.ending
    if ending is Ending.EXITED:
        _check_command(request, record, status, delivery.output)
        if status == KILLED and kills:
            ending = Ending.OUT_OF_MEMORY
    if kills and ending is not Ending.OUT_OF_MEMORY:
        notes.append(f"the kernel killed {kills} of its processes at the memory limit; it went on")
    return SandboxResult(
        ending=ending,
        exit_status=status if ending is Ending.EXITED else None,
        outputs=files,
        log=delivery.output,
        usage=_usage(request, record, delivery.seconds, memory_full=bool(kills)),
        phases=phases(at),
        image_digest=faults.image_digest(pod),
        notes=(*notes, *delivery.outbox.notes),
        memory_kills=kills,
    )


def stopped(
    request: ExecutionRequest, ending: Ending, note: str, pod: faults.Pod, at: Mapping[str, float]
) -> SandboxResult:
    """The result of a candidate that the platform ended at a limit, courier and all."""
    now = time.monotonic()
    return SandboxResult(
        ending=ending,
        exit_status=None,
        outputs={},
        log=CapturedOutput(),
        usage=ResourceUsage(now - at.get("begun", now)),
        phases=phases({**at, "ended": now, "delivered": now}),
        image_digest=faults.image_digest(pod),
        notes=(note, "neither output nor outbox of it are left"),
    )


def phases(at: Mapping[str, float]) -> dict[str, float]:
    """Seconds by phase. A stage that nobody saw took no time of its own: the next one's begins where it would have."""
    found, since = {}, at["asked"]
    for name, end in _STAGES:
        until = max(since, at.get(end, since))
        found[name] = until - since
        since = until
    return found


def _check_command(request: ExecutionRequest, record: shell.Record, status: int, log: CapturedOutput) -> None:
    """What never ran must not become a verdict. A command that ran cannot make this look true: its own output would
    be in the log, and /bin/sh is known to be there when the lines around it ran."""
    program = request.command[0]
    if record.command_missing and status == 127 and not log.total_bytes and program != "/bin/sh":
        raise PermanentError(f"the image {request.image} has no command {program!r}")


def _usage(request: ExecutionRequest, record: shell.Record, wall: float, *, memory_full: bool) -> ResourceUsage:
    """Counters from inside; numbers that cannot be are dropped."""
    limits, cpu = request.limits, record.cpu_seconds
    if cpu is not None and cpu > wall * max(1.0, limits.cpus) * 1.5 + 1.0:
        cpu = None
    peak = record.peak_memory_bytes
    peaks = [peak] if peak is not None and peak <= limits.memory_bytes else []
    if memory_full:
        peaks.append(limits.memory_bytes)
    return ResourceUsage(wall, cpu, max(peaks, default=None))
