"""What a pod's state says: how far it is, why it waits, and whether the platform took it away. Pure.

Pods are what the API sends: plain JSON objects. Whatever is not there is not known yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cluster.sandboxes.engine import pull_fault
from cluster.sandboxes.kubernetes.pod import CANDIDATE, COURIER, FETCH
from parsimony.errors import Evicted, ImagePullFailed, NodeLost, ParsimonyError, PermanentError, SandboxUnavailable

Pod = Mapping[str, Any]

PULL: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError"})
CANNOT_BE: Final = frozenset({"CreateContainerConfigError"})
NOT_STARTED: Final = frozenset({"StartError", "ContainerCannotRun"})

NODE_GONE: Final = frozenset(
    {"NodeLost", "Shutdown", "NodeShutdown", "Terminated", "NodeAffinity", "DeletionByTaintManager", "DeletionByPodGC"}
)
TAKEN: Final = frozenset(
    {"Evicted", "Preempting", "Preempted", "PreemptionByScheduler", "EvictionByEvictionAPI", "TerminationByKubelet"}
)
REFUSED: Final = frozenset({"UnexpectedAdmissionError", "SysctlForbidden", "AppArmor"})

# What the kubelet says when it evicts a pod for what that pod itself wrote, not for the node's distress.
_OWN_DISK: Final = ("local ephemeral storage", "ephemeral local storage", "usage of emptydir volume")
_NO_SHELL: Final = ("no such file or directory", "executable file not found", "permission denied", "exec format error")


@dataclass(frozen=True, slots=True)
class Terminated:
    """How a container ended.

    Attributes:
        seconds: from its start to its end, to the second; None = not told.
    """

    exit_code: int
    reason: str
    message: str
    seconds: float | None


def uid(pod: Pod) -> str:
    """What distinguishes a pod from another of the same name."""
    return str(pod.get("metadata", {}).get("uid", ""))


def scheduled(pod: Pod) -> bool:
    """Whether it has a node."""
    return bool(pod.get("spec", {}).get("nodeName"))


def node(pod: Pod) -> str:
    """The name of its node, for messages."""
    return str(pod.get("spec", {}).get("nodeName") or "no node")


def waits_for(pod: Pod) -> str:
    """Why it has not started, in the platform's words."""
    condition = _condition(pod, "PodScheduled")
    if not scheduled(pod):
        return _said(condition.get("reason"), condition.get("message")) or "no scheduler has looked at it"
    for status in _statuses(pod):
        waiting = status.get("state", {}).get("waiting", {})
        if waiting.get("reason") not in {None, "PodInitializing"}:
            return f"{status.get('name')}: " + _said(waiting.get("reason"), waiting.get("message"))
    return f"its node {node(pod)} has not said"


def terminated(pod: Pod, container: str) -> Terminated | None:
    """How a container ended; None while it has not."""
    found = _status(pod, container).get("state", {}).get("terminated")
    if found is None:
        return None
    seconds = _seconds(found.get("startedAt"), found.get("finishedAt"))
    return Terminated(
        int(found.get("exitCode", -1)), str(found.get("reason", "")), str(found.get("message", "")), seconds
    )


def image_digest(pod: Pod, container: str = CANDIDATE) -> str | None:
    """What the node says that a container's image is: the registry's digest where there is one, else the image's id."""
    _, colon, digest = str(_status(pod, container).get("imageID", "")).rpartition("sha256:")
    return f"sha256:{digest}" if colon and digest else None


def over_disk_limit(pod: Pod) -> str | None:
    """The kubelet's words when it evicted the pod for writing more than it may."""
    status = pod.get("status", {})
    message = str(status.get("message", ""))
    own = any(words in message.lower() for words in _OWN_DISK)
    return message if status.get("reason") == "Evicted" and own else None


def deadline_exceeded(pod: Pod) -> bool:
    """Whether the platform's own deadline ended it."""
    return bool(pod.get("status", {}).get("reason") == "DeadlineExceeded")


def fault(pod: Pod, images: Mapping[str, str]) -> ParsimonyError | None:
    """What makes this pod one that can give no verdict; None while it may.

    Args:
        images: container -> image reference, for messages.
    """
    return _taken(pod) or _cannot_start(pod, images) or _helper_ended(pod)


def _taken(pod: Pod) -> ParsimonyError | None:
    """Node lost, evicted, preempted, refused by its node, deleted."""
    status, metadata = pod.get("status", {}), pod.get("metadata", {})
    disrupted = _condition(pod, "DisruptionTarget")
    why = disrupted if disrupted.get("status") == "True" else status
    reason, said = str(why.get("reason", "")), _said(why.get("reason"), why.get("message"))
    ended = [found for name in (CANDIDATE, COURIER, FETCH) if (found := terminated(pod, name)) is not None]
    if reason in NODE_GONE or status.get("phase") == "Unknown":
        return NodeLost(f"the node {node(pod)} was lost: {said or 'its state is unknown'}", retry_after=5.0)
    if any(found.reason == "ContainerStatusUnknown" for found in ended):
        return NodeLost(f"the node {node(pod)} no longer knows the pod's containers", retry_after=5.0)
    if reason in TAKEN:
        return Evicted(f"the pod was taken from {node(pod)}: {said}", retry_after=5.0)
    if metadata.get("deletionTimestamp"):
        return Evicted(f"the pod was deleted by someone else{': ' + said if said else ''}")
    if reason.startswith("OutOf") or reason in REFUSED:
        return SandboxUnavailable(f"the node {node(pod)} refused the pod: {said}", retry_after=10.0)
    return None


def _cannot_start(pod: Pod, images: Mapping[str, str]) -> ParsimonyError | None:
    for status in _statuses(pod):
        name, waiting = str(status.get("name")), status.get("state", {}).get("waiting", {})
        reason, message = str(waiting.get("reason", "")), str(waiting.get("message", ""))
        image = images.get(name, name)
        if reason == "InvalidImageName":
            return PermanentError(f"{image!r} is no name of an image: {message}")
        if reason == "ErrImageNeverPull":
            return ImagePullFailed(
                f"{image} is not on {node(pod)}, and `pull_policy: Never` forbids to bring it", retry_after=30.0
            )
        if reason in PULL:
            return pull_fault(image, f"{reason}: {message}")
        if reason in CANNOT_BE:
            return PermanentError(f"the container {name} cannot be made: {message}")
    candidate = terminated(pod, CANDIDATE)
    if candidate is not None and candidate.reason in NOT_STARTED:
        text = " ".join(candidate.message.split())
        if any(words in text.lower() for words in _NO_SHELL):
            return PermanentError(f"the image {images.get(CANDIDATE)} cannot run /bin/sh: {text}")
        return SandboxUnavailable(f"the candidate's container did not start: {text}", retry_after=10.0)
    return None


def _helper_ended(pod: Pod) -> ParsimonyError | None:
    """Inbox or courier failed: of the candidate nothing can be said."""
    for name in (FETCH, COURIER):
        ended = terminated(pod, name)
        if ended is not None and ended.exit_code != 0:
            said = _said(ended.reason, ended.message.strip()[-400:])
            return SandboxUnavailable(f"the pod's {name} ended with {ended.exit_code}: {said}", retry_after=5.0)
    return None


def _statuses(pod: Pod) -> list[Mapping[str, Any]]:
    status = pod.get("status", {})
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _status(pod: Pod, container: str) -> Mapping[str, Any]:
    return next((status for status in _statuses(pod) if status.get("name") == container), {})


def _condition(pod: Pod, kind: str) -> Mapping[str, Any]:
    conditions = pod.get("status", {}).get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _said(reason: object, message: object) -> str:
    return ": ".join(str(part) for part in (reason, message) if part)


def _seconds(start: object, end: object) -> float | None:
    try:
        return (datetime.fromisoformat(str(end)) - datetime.fromisoformat(str(start))).total_seconds()
    except ValueError:
        return None
