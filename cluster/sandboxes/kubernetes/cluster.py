"""A cluster as one agent uses it: the API, the watch, the post, and how fast it may ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from cluster.sandboxes.kubernetes.bucket import Bucket
from cluster.sandboxes.kubernetes.calls import Api, NameTaken, QuotaFull, Throttled
from cluster.sandboxes.kubernetes.options import Options
from cluster.sandboxes.kubernetes.pod import Callback, pod_manifest
from cluster.sandboxes.kubernetes.post import PostOffice
from cluster.sandboxes.kubernetes.watch import PodWatch
from cluster.sandboxes.ownership import same_attempt
from cluster.sandboxes.workers import Aborted
from parsimony.errors import PermanentError, SandboxUnavailable
from parsimony.execution import ExecutionRequest

TRIES: Final = 6
NAME_FREE_S: Final = 30.0
"""Seconds that the removal of a leftover may take before its name is free."""

QUOTA_LOOK_S: Final = 5.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cluster:
    """What all executions of an agent share.

    Attributes:
        host: address at which pods reach this agent.
        agent: label of the agent's pods.
        creations, removals: apart, so that a cluster that takes no more pods can still be emptied.
    """

    api: Api
    watch: PodWatch
    post: PostOffice
    options: Options
    host: str
    agent: str
    creations: Bucket
    removals: Bucket

    def create(self, request: ExecutionRequest, token: str, aborted: threading.Event) -> str:
        """Create the pod of `request`; its uid. What a dead agent left of this very attempt is removed first.

        Raises:
            Aborted: `aborted` was set meanwhile.
            PermanentError: the name is somebody else's. TemporaryError: the API does not take it.
        """
        began = time.monotonic()
        callback = Callback(self.host, self.post.port, token)
        while True:
            manifest = pod_manifest(request, self.options, callback, agent=self.agent, now=time.time())
            try:
                made = patiently(partial(self.api.create, manifest), self.creations, aborted)
                return str(made["metadata"]["uid"])
            except QuotaFull:  # a wait for room, as for a node
                if time.monotonic() > began + self.options.pending_s:
                    raise
                pause = QUOTA_LOOK_S
            except NameTaken:
                if time.monotonic() > began + NAME_FREE_S:
                    raise SandboxUnavailable(f"the name {request.name} stays taken", retry_after=5.0) from None
                self.clear_leftover(request)
                pause = 0.05
            if aborted.wait(pause):
                raise Aborted

    def clear_leftover(self, request: ExecutionRequest) -> None:
        """Remove a pod of the request's name that an earlier agent left of this very attempt.

        Raises:
            PermanentError: it is somebody else's, or another attempt's.
        """
        found = self.api.get(request.name)
        if found is None:
            return
        metadata = found["metadata"]
        if not same_attempt(request, metadata.get("annotations") or {}):
            raise PermanentError(
                f"there is a pod {request.name} that is not of this execution; remove it or rename the run"
            )
        self.remove(request.name, str(metadata["uid"]))

    def remove(self, name: str, uid: str, grace_s: int = 0) -> None:
        """Delete a pod, and only this one; fine when it is gone."""
        patiently(lambda: self.api.delete(name, uid, grace_s), self.removals)


def patiently(call: Callable[[], T], bucket: Bucket, aborted: threading.Event | None = None) -> T:
    """Make a call when the bucket allows; again, later, when the API asks for that.

    Raises:
        SandboxUnavailable: it asks for it again and again. Aborted: see `Bucket.take`.
    """
    for _ in range(TRIES):
        bucket.take(aborted)
        try:
            return call()
        except Throttled as asked:
            bucket.pause(asked.seconds)
    raise SandboxUnavailable("the Kubernetes API asks to come back later, again and again", retry_after=30.0)
