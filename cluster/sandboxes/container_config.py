"""From an execution request to the configuration of a container, as the Docker Engine API wants it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cluster.sandboxes import shell
from cluster.sandboxes.ownership import SLACK_S, own_labels
from cluster.sandboxes.pinned import environment
from parsimony.execution import ExecutionRequest

ROOT: Final = "parsimony"
INBOX, OUTBOX, WORK = (f"/{ROOT}/{name}" for name in ("in", "out", "work"))
RECORD: Final = f"{OUTBOX}/{shell.RECORD}"

FOLDERS: Final[Mapping[str, int]] = {
    ROOT: 0o755,
    f"{ROOT}/in": 0o755,
    f"{ROOT}/out": 0o1777,  # an image's own user, or a witness that gave root up, writes here too
    f"{ROOT}/work": 0o1777,
}

KEPT_CAPABILITIES: Final = (
    "CHOWN",  # package managers and tests of file ownership
    "DAC_OVERRIDE",  # root works in trees that belong to other users of the image
    "FOWNER",
    "FSETID",
    "KILL",  # the witness ends the tests' processes, whoever they belong to
    "SETGID",
    "SETUID",  # the witness gives root up; tests start servers as another user
)

OPEN_FILES: Final = 16_384  # below what any engine may hand out: it cannot go above its own hard limit
CPU_PERIOD_US: Final = 100_000
SHM_BYTES: Final = 64 << 20


def container_config(request: ExecutionRequest, image_id: str, *, now: float, disk_quota: bool) -> dict[str, object]:
    """The body of the call that creates the container of `request`.

    Args:
        image_id: what to run, by content.
        now: epoch seconds, for the expiry label.
        disk_quota: whether the storage driver can hold a container to a size.
    """
    limits = request.limits
    host: dict[str, object] = {
        "NetworkMode": "bridge" if limits.network else "none",
        "Init": True,
        "CapDrop": ["ALL"],
        "CapAdd": list(KEPT_CAPABILITIES),
        "SecurityOpt": ["no-new-privileges"],
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,
        # A quota, since the engine refuses NanoCpus above what the machine has: a wide limit is no error.
        "CpuPeriod": CPU_PERIOD_US,
        "CpuQuota": max(1000, int(limits.cpus * CPU_PERIOD_US)),
        "PidsLimit": limits.pids + shell.HELPERS,
        "ShmSize": min(SHM_BYTES, limits.memory_bytes),
        "Ulimits": [
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "nofile", "Soft": OPEN_FILES, "Hard": OPEN_FILES},
            {"Name": "fsize", "Soft": limits.disk_bytes, "Hard": limits.disk_bytes},
        ],
        # Output is read while it is written and kept by us; the engine keeps nothing.
        "LogConfig": {"Type": "none", "Config": {}},
        "RestartPolicy": {"Name": "no"},
    }
    if disk_quota:
        host["StorageOpt"] = {"size": str(limits.disk_bytes)}
    variables = environment(request.environment, inbox=INBOX, outbox=OUTBOX, work=WORK)
    return {
        "Image": image_id,
        "Entrypoint": shell.wrapped(request.command, life_s=limits.deadline_s + SLACK_S / 2, record=RECORD),
        "Cmd": [],
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "WorkingDir": request.workdir or WORK,
        "Labels": own_labels(request, now),
        "NetworkDisabled": not limits.network,
        "AttachStdout": True,
        "AttachStderr": True,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": host,
    }
