"""How this sandbox uses a cluster, as data: what a sweep says under `sandbox:` (docs/sandboxes.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from parsimony.execution import GIB

COURIER_IMAGE: Final = "python:3.11-slim-bookworm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything but the number of slots.

    Attributes:
        namespace: of the pods; None = that of the kubeconfig's context or of our own service account.
        kubeconfig, context: how to reach the cluster; None = $PARSIMONY_KUBECONFIG, $KUBECONFIG, our own service
            account, `~/.kube/config`, whichever is there first.
        courier_image: has `python3`, 3.6 or newer; runs as root beside every candidate.
        pull_policy: of both images.
        image_pull_secrets, runtime_class, priority_class, node_selector, tolerations: as in a pod's specification.
        host_users: False asks for a user namespace of the pod's own (Kubernetes 1.30 and newer).
        callback_host, callback_port: where pods reach this agent; None = the address from which it reaches the
            cluster's API, and a free port.
        network_policies: the cluster enforces a policy that lets our pods reach nothing but agents; our word for it.
        create_rate, create_burst: pods made per second in the long run, and at once.
        pending_s: seconds that a pod may wait for a node.
        start_s: seconds from its node to the candidate's start: pulls, volumes, inbox.
        courier_cpus: processors that the courier has and reserves; 0 = no reservation and no limit.
        reserved_disk_bytes: at most so much of `limits.disk_bytes` is reserved; the limit itself stays.
    """

    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    courier_image: str = COURIER_IMAGE
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    image_pull_secrets: Sequence[str] = ()
    runtime_class: str | None = None
    priority_class: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, object]] = ()
    host_users: bool | None = None
    callback_host: str | None = None
    callback_port: int = 0
    network_policies: bool = False
    create_rate: float = 10.0
    create_burst: int = 20
    pending_s: float = 3600.0
    start_s: float = 1500.0
    courier_cpus: float = 0.1
    reserved_disk_bytes: int = 8 * GIB
