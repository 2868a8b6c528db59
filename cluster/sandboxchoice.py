"""The part `sandbox:` of a sweep file: where candidates run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from cluster.schema import Closed, Size


class DockerSandbox(Closed):
    """Each task in its own image, by a Docker Engine."""

    kind: Literal["docker"] = "docker"
    base_url: str | None = None


class ProcessSandbox(Closed):
    """No image: a process on this machine, in a tree of its own. Weaker than a container (docs/sandboxes.md).

    Attributes:
        isolation: `auto` takes namespaces where the kernel allows them; the others insist.
        path: folders of PATH; default: that of this Python, and the standard ones.
        readable: further paths that executions need and that lie in /tmp, /var/tmp or /run, which are replaced.
    """

    kind: Literal["process"] = "process"
    isolation: Literal["auto", "namespaces", "process"] = "auto"
    path: tuple[str, ...] | None = None
    readable: tuple[str, ...] = ()


class Toleration(Closed):
    """As in a pod's specification."""

    key: str | None = None
    operator: Literal["Equal", "Exists"] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: int | None = Field(None, ge=0, serialization_alias="tolerationSeconds")


class KubernetesSandbox(Closed):
    """Each task in its own image, in a pod of its own (docs/sandboxes.md says what each field does).

    Attributes:
        kubeconfig: relative to the sweep file. context: of it.
        courier_image: has Python 3.6 or newer; runs beside every candidate.
        host_users: False asks for a user namespace of the pod's own.
        callback_host, callback_port: where pods reach the agent.
        network_policies: the cluster enforces policies that leave pods no network but the agent.
        create_rate, create_burst: pods made per second in the long run, and at once.
        pending_s: seconds that a pod may wait for a node. start_s: from its node to the candidate's start.
        courier_cpus: processors that are reserved beside those of each candidate; 0 = none, and no limit.
        reserved_disk: at most so much of a candidate's disk limit is reserved.
    """

    kind: Literal["kubernetes"] = "kubernetes"
    namespace: str | None = Field(None, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    kubeconfig: Path | None = None
    context: str | None = None
    courier_image: str | None = Field(None, min_length=1)
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    runtime_class: str | None = None
    priority_class: str | None = None
    node_selector: dict[str, str] = Field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    host_users: bool | None = None
    callback_host: str | None = None
    callback_port: int = Field(0, ge=0, le=65535)
    network_policies: bool = False
    create_rate: float = Field(10.0, gt=0, le=1000)
    create_burst: int = Field(20, ge=1, le=10_000)
    pending_s: float = Field(3600.0, gt=0)
    start_s: float = Field(1500.0, gt=0)
    courier_cpus: float = Field(0.1, ge=0, le=4)
    reserved_disk: Size | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What the sandbox is opened with."""
        options = self.model_dump(exclude={"kind", "tolerations", "reserved_disk"}, exclude_none=True)
        options["tolerations"] = tuple(
            toleration.model_dump(by_alias=True, exclude_none=True) for toleration in self.tolerations
        )
        if self.reserved_disk is not None:
            options["reserved_disk_bytes"] = self.reserved_disk
        return options


AnySandbox = DockerSandbox | KubernetesSandbox | ProcessSandbox


def sandbox_options(sandbox: AnySandbox) -> dict[str, Any]:
    """The keyword arguments of the sandbox's `open` that a sweep's choice stands for."""
    if isinstance(sandbox, KubernetesSandbox):
        return sandbox.options
    return sandbox.model_dump(exclude={"kind"}, exclude_none=True)
