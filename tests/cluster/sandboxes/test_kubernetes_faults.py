"""What states of pods mean, by objects as API servers send them (status parts of 1.20 and 1.29, shortened)."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.sandboxes.kubernetes import faults
from parsimony.errors import (
    DiskFull,
    Evicted,
    ImagePullFailed,
    NodeLost,
    ParsimonyError,
    PermanentError,
    SandboxUnavailable,
)

IMAGES = {"candidate": "repo/task:1", "courier": "python:3", "fetch": "python:3"}


def pod(*, node: str | None = "node-1", deleted: bool = False, **status: Any) -> dict[str, Any]:
    metadata = {"name": "psm-x", "uid": "u-1", "resourceVersion": "7"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-12-01T07:00:00Z"
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": status}


def container(name: str, **state: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "imageID": "docker.io/repo/task@sha256:" + "a" * 64}


def waiting(reason: str, message: str = "", name: str = "candidate") -> dict[str, Any]:
    return pod(phase="Pending", containerStatuses=[container(name, waiting={"reason": reason, "message": message})])


def ended(code: int, reason: str = "Error", message: str = "", name: str = "candidate") -> dict[str, Any]:
    state = {
        "exitCode": code,
        "reason": reason,
        "message": message,
        "startedAt": "2026-12-01T07:00:00Z",
        "finishedAt": "2026-12-01T07:00:03Z",
    }
    return pod(phase="Running", containerStatuses=[container(name, terminated=state)])


@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        (
            waiting(
                "ErrImagePull",
                'rpc error: code = Unknown desc = failed to pull and unpack image "repo/task:1": failed to resolve'
                ' reference "repo/task:1": dial tcp: lookup repo: no such host',
            ),
            ImagePullFailed,
            "repo/task:1 is not here and cannot be pulled",
        ),
        (waiting("ImagePullBackOff", 'Back-off pulling image "repo/task:1"'), ImagePullFailed, "Back-off"),
        (waiting("ErrImagePull", "manifest unknown: not in the repository"), PermanentError, "there is no image"),
        (waiting("ErrImagePull", "write /var/lib/x: no space left on device"), DiskFull, "no space"),
        (waiting("ErrImagePull", "toomanyrequests: rate limit"), ImagePullFailed, "toomanyrequests"),
        (waiting("InvalidImageName", "couldn't parse image reference"), PermanentError, "no name of an image"),
        (waiting("ErrImageNeverPull"), ImagePullFailed, "pull_policy: Never"),
        (waiting("ErrImageNeverPull", name="courier"), ImagePullFailed, "python:3"),
        (waiting("CreateContainerConfigError", 'secret "x" not found'), PermanentError, 'secret "x" not found'),
        (
            ended(128, "StartError", 'exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown'),
            PermanentError,
            "cannot run /bin/sh",
        ),
        (ended(128, "ContainerCannotRun", "OCI runtime create failed"), SandboxUnavailable, "did not start"),
        (ended(137, "ContainerStatusUnknown", "could not be located"), NodeLost, "no longer knows"),
        (ended(1, message="ConnectionRefusedError", name="courier"), SandboxUnavailable, "courier ended with 1"),
        (ended(137, "OOMKilled", name="courier"), SandboxUnavailable, "OOMKilled"),
        (pod(phase="Failed", reason="Evicted", message="The node was low on memory"), Evicted, "low on memory"),
        (pod(phase="Failed", reason="Preempting", message="by a critical pod"), Evicted, "critical pod"),
        (pod(phase="Failed", reason="NodeLost"), NodeLost, "node-1"),
        (pod(phase="Failed", reason="Shutdown", message="Node is shutting down"), NodeLost, "shutting down"),
        (pod(phase="Unknown"), NodeLost, "unknown"),
        (pod(phase="Failed", reason="OutOfcpu", message="Node didn't have enough"), SandboxUnavailable, "refused"),
        (pod(phase="Failed", reason="UnexpectedAdmissionError"), SandboxUnavailable, "refused"),
        (pod(phase="Running", deleted=True), Evicted, "deleted by someone else"),
        (
            pod(
                phase="Running",
                deleted=True,
                conditions=[
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                        "message": "preempting to accommodate a higher priority pod",
                    }
                ],
            ),
            Evicted,
            "higher priority",
        ),
        (
            pod(
                phase="Running",
                deleted=True,
                conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}],
            ),
            NodeLost,
            "DeletionByTaintManager",
        ),
    ],
)
def test_what_is_no_verdict(found: dict[str, Any], kind: type[ParsimonyError], words: str) -> None:
    fault = faults.fault(found, IMAGES)
    assert type(fault) is kind
    assert words in str(fault)


@pytest.mark.parametrize(
    "found",
    [
        pod(phase="Pending", node=None),
        pod(phase="Pending"),
        waiting("PodInitializing"),
        waiting("ContainerCreating"),
        ended(0, "Completed"),
        ended(3),
        ended(137, "OOMKilled"),
        ended(137),
        ended(0, "Completed", name="courier"),
        pod(phase="Failed", reason="DeadlineExceeded"),
        {},
    ],
)
def test_what_is_none(found: dict[str, Any]) -> None:
    assert faults.fault(found, IMAGES) is None


def test_a_candidate_that_ends_while_its_node_is_lost_gives_no_verdict() -> None:
    found = ended(1)
    found["metadata"]["deletionTimestamp"] = "2026-12-01T07:00:00Z"
    assert isinstance(faults.fault(found, IMAGES), Evicted)


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("Pod ephemeral local storage usage exceeds the total limit of containers 67108864. ", True),
        ('Container candidate exceeded its local ephemeral storage limit "64Mi". ', True),
        ('Usage of EmptyDir volume "places" exceeds the limit "1Gi". ', True),
        ("The node was low on resource: ephemeral-storage. Container candidate was using 9Gi. ", False),
        ("The node was low on resource: memory. ", False),
    ],
)
def test_whose_disk_was_full(message: str, own: bool) -> None:
    found = pod(phase="Failed", reason="Evicted", message=message)
    assert faults.over_disk_limit(found) == (message if own else None)


def test_why_a_pod_waits() -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available: 3 Insufficient cpu.",
    }
    found = pod(phase="Pending", node=None, conditions=[condition])
    assert faults.waits_for(found) == "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."
    assert not faults.scheduled(found)
    assert faults.waits_for(pod(phase="Pending", node=None)) == "no scheduler has looked at it"
    assert "ContainerCreating" in faults.waits_for(waiting("ContainerCreating"))
    assert "node-1" in faults.waits_for(pod(phase="Pending"))


def test_how_a_container_ended() -> None:
    found = faults.terminated(ended(137, "OOMKilled"), "candidate")
    assert found == faults.Terminated(137, "OOMKilled", "", 3.0)
    assert faults.terminated(waiting("ContainerCreating"), "candidate") is None
    assert faults.terminated(pod(), "candidate") is None


@pytest.mark.parametrize(
    ("told", "digest"),
    [
        ("docker.io/library/x@sha256:" + "a" * 64, "sha256:" + "a" * 64),
        ("docker-pullable://x@sha256:" + "b" * 64, "sha256:" + "b" * 64),
        ("sha256:" + "c" * 64, "sha256:" + "c" * 64),
        ("", None),
    ],
)
def test_what_a_node_says_of_an_image(told: str, digest: str | None) -> None:
    found = pod(containerStatuses=[{"name": "candidate", "imageID": told}])
    assert faults.image_digest(found) == digest
