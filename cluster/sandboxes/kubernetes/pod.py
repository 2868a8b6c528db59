"""From an execution request to a pod, as the Kubernetes API wants it. Pure."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from cluster.sandboxes import archive, labels
from cluster.sandboxes.container_config import FOLDERS, INBOX, KEPT_CAPABILITIES, OPEN_FILES, OUTBOX, RECORD, ROOT, WORK
from cluster.sandboxes.kubernetes.inside import wrapped
from cluster.sandboxes.kubernetes.options import Options
from cluster.sandboxes.ownership import own_labels
from cluster.sandboxes.pinned import environment
from parsimony.errors import PermanentError
from parsimony.execution import MIB, ExecutionRequest

CANDIDATE, COURIER, FETCH = "candidate", "courier", "fetch"
WIRE: Final = "/.parsimony-wire"

AGENT: Final = "parsimony.dev/agent"
"""The label by which an agent watches its own pods."""

GRACE_S: Final = 1
COLLECT_S: Final = 600.0
"""Seconds that the way back of a result may take."""

COURIER_BYTES: Final = 96 * MIB
_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Callback:
    """Where a pod's courier finds its agent, and by what the agent knows it."""

    host: str
    port: int
    token: str


def inbox_archive(files: Mapping[str, bytes]) -> bytes:
    """The three places with the inbox in them, as a tar archive whose root is the pod's volume; `files` as from
    `archive.checked_inbox`."""
    places = {name.partition("/")[2]: mode for name, mode in FOLDERS.items() if name != ROOT}
    inner = {f"in/{folder}": 0o755 for folder in archive.folders_of(files)}
    return archive.pack({f"in/{name}": data for name, data in files.items()}, {**places, **inner})


def marks(name: str, found: Mapping[str, str]) -> dict[str, Any]:
    """The metadata that carries our labels: as labels what may be one (or its digest), as annotations all of them."""
    return {
        "name": name,
        "labels": {key: value if _LABEL.fullmatch(value) else _short(value) for key, value in found.items()},
        "annotations": dict(found),
    }


def pod_manifest(
    request: ExecutionRequest, options: Options, callback: Callback, *, agent: str, now: float
) -> dict[str, Any]:
    """The body of the call that creates the pod of `request`.

    Args:
        agent: label of the agent that watches it.
        now: epoch seconds, for the expiry label.

    Raises:
        PermanentError: a text in it is no Unicode, which the API cannot carry.
    """
    limits = request.limits
    # It may wait for a node and for its images first, and is nobody's only after that.
    metadata = marks(request.name, own_labels(request, now + options.pending_s + options.start_s + COLLECT_S))
    metadata["labels"][AGENT] = agent
    life_s = options.start_s + limits.deadline_s + COLLECT_S
    spec = _bare_spec(options) | {
        "activeDeadlineSeconds": math.ceil(life_s),
        "initContainers": [_helper(FETCH, request, options, callback)],
        "containers": [_helper(COURIER, request, options, callback), _candidate(request, options)],
        "volumes": [{"name": "places", "emptyDir": {}}, {"name": "wire", "emptyDir": {}}],
    }
    if limits.network:
        spec |= {"dnsPolicy": "ClusterFirst"}
        del spec["dnsConfig"]
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    try:
        json.dumps(manifest, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise PermanentError(
            f"a pod cannot be given {error.object[error.start :][:40]!r}, which is no Unicode"
        ) from None
    return manifest


def probe_manifest(name: str, image: str, options: Options, *, agent: str, found: Mapping[str, str]) -> dict[str, Any]:
    """A pod that ends at once and whose only purpose is that its node says what `image` is."""
    metadata = marks(name, found)
    metadata["labels"][AGENT] = agent
    container = {
        "name": CANDIDATE,
        "image": image,
        "imagePullPolicy": options.pull_policy,
        "command": ["/bin/sh", "-c", "exit 0"],
        "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}, "requests": {"cpu": "0", "memory": "16Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = _bare_spec(options) | {"activeDeadlineSeconds": math.ceil(options.start_s), "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _bare_spec(options: Options) -> dict[str, Any]:
    """What every pod of ours has: nothing of the cluster's, one try, and where it may go."""
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "shareProcessNamespace": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        # A name server is obligatory with this policy; nobody listens there.
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "imagePullSecrets": [{"name": name} for name in options.image_pull_secrets],
        "nodeSelector": dict(options.node_selector),
        "tolerations": [dict(toleration) for toleration in options.tolerations],
    }
    chosen = {
        "runtimeClassName": options.runtime_class,
        "priorityClassName": options.priority_class,
        "hostUsers": options.host_users,
    }
    return spec | {name: value for name, value in chosen.items() if value is not None}


def _candidate(request: ExecutionRequest, options: Options) -> dict[str, Any]:
    limits = request.limits
    memory, cpu = str(limits.memory_bytes), f"{max(1, round(limits.cpus * 1000))}m"
    reserved = min(limits.disk_bytes, options.reserved_disk_bytes)
    variables = environment(request.environment, inbox=INBOX, outbox=OUTBOX, work=WORK)
    command = wrapped(request.command, wire=WIRE, record=RECORD, open_files=OPEN_FILES, disk_bytes=limits.disk_bytes)
    return {
        "name": CANDIDATE,
        "image": request.image,
        "imagePullPolicy": options.pull_policy,
        "command": [_literal(word) for word in command],
        "env": [{"name": name, "value": _literal(value)} for name, value in variables.items()],
        "workingDir": request.workdir or WORK,
        "resources": {
            "limits": {"cpu": cpu, "memory": memory, "ephemeral-storage": str(limits.disk_bytes)},
            "requests": {"cpu": cpu, "memory": memory, "ephemeral-storage": str(reserved)},
        },
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": list(KEPT_CAPABILITIES)},
        },
        "volumeMounts": [
            {"name": "places", "mountPath": f"/{ROOT}"},
            # A pipe can be written to through a mount that is read-only; nothing else can.
            {"name": "wire", "mountPath": WIRE, "readOnly": True},
        ],
    }


def _helper(role: str, request: ExecutionRequest, options: Options, callback: Callback) -> dict[str, Any]:
    limits = request.limits
    settings = {
        "host": callback.host,
        "port": callback.port,
        "token": callback.token,
        "name": request.name,
        "deadline": limits.deadline_s,
        "disk": limits.disk_bytes,
        "output": limits.output_bytes,
        "artifacts": limits.artifact_bytes,
        "entries": archive.MAX_ENTRIES,
    }
    inbox = 2 * sum(map(len, request.files.values())) if role == FETCH else 0
    memory = str(COURIER_BYTES + 3 * limits.output_bytes + inbox)
    cpu = {"cpu": f"{max(1, round(options.courier_cpus * 1000))}m"} if options.courier_cpus else {}
    return {
        "name": role,
        "image": options.courier_image,
        "imagePullPolicy": options.pull_policy,
        "command": [_literal(word) for word in ("python3", "-I", "-S", "-c", _courier_source(), role)],
        "env": [
            {"name": "PARSIMONY_COURIER", "value": _literal(json.dumps(settings))},
            {"name": "LC_ALL", "value": "C.UTF-8"},
        ],
        "workingDir": "/",
        "resources": {"limits": {"memory": memory, **cpu}, "requests": {"memory": memory, **(cpu or {"cpu": "0"})}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "runAsUser": 0,
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            # Candidates leave files that they alone may read.
            "capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]},
        },
        "volumeMounts": [{"name": "places", "mountPath": f"/{ROOT}"}, {"name": "wire", "mountPath": WIRE}],
    }


@cache
def _courier_source() -> str:
    return Path(__file__).with_name("inpod").joinpath("courier.py").read_text("utf-8")


def _literal(text: str) -> str:
    """`text` as it comes through the API's own expansion of `$(NAME)` and `$$`."""
    return text.replace("$", "$$")


def _short(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:32]


def attempt_selector(run_id: str | None) -> str:
    """The label selector of everything that is ours, or of one run."""
    ours = f"{labels.MANAGED_BY}={labels.OURS}"
    if run_id is None:
        return ours
    return f"{ours},{labels.RUN}={run_id if _LABEL.fullmatch(run_id) else _short(run_id)}"
