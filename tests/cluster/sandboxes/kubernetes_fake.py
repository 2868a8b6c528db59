"""A Kubernetes API in memory, and a hand that plays the rest of the cluster: for tests of faults."""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from cluster.sandboxes.kubernetes.calls import Expired, NameTaken, Throttled

Event = dict[str, Any]


class FakeApi:
    """`Api` with pods that change only when a test says so.

    Attributes:
        refuse: errors that the next calls of a verb raise, by verb.
        requests: how many calls there were, by verb.
    """

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.requests: dict[str, int] = {}
        self.refuse: dict[str, list[Exception]] = {}
        self.created = threading.Event()
        self.listed = threading.Event()
        self._version = 100
        self._events: queue.SimpleQueue[Event | Exception | None] = queue.SimpleQueue()
        self._lock = threading.RLock()

    # ---- what a test does

    def change(self, name: str, *, tell: bool = True, **status: Any) -> None:
        """A pod's status is now so; nobody is told when not `tell`."""
        with self._lock:
            pod = self.pods[name]
            pod["status"] = {**pod.get("status", {}), **status}
            self._stamp(pod)
            if tell:
                self._say("MODIFIED", pod)

    def place(self, name: str, node: str = "node-1") -> None:
        """A pod gets its node."""
        self.pods[name]["spec"]["nodeName"] = node
        self.change(name, phase="Pending")

    def vanish(self, name: str, *, tell: bool = True) -> None:
        """A pod is gone."""
        with self._lock:
            pod = self.pods.pop(name)
            self._stamp(pod)
            if tell:
                self._say("DELETED", pod)

    def say(self, event: Event | Exception | None) -> None:
        """The watch brings this; an exception breaks it, None ends it."""
        self._events.put(event)

    def settings(self, name: str) -> dict[str, Any]:
        """What a pod's courier was told."""
        import json

        containers = self.pods[name]["spec"]["containers"]
        [courier] = [container for container in containers if container["name"] == "courier"]
        [told] = [entry["value"] for entry in courier["env"] if entry["name"] == "PARSIMONY_COURIER"]
        settings: dict[str, Any] = json.loads(told)
        return settings

    # ---- Api

    def create(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        with self._asked("create"):
            name = manifest["metadata"]["name"]
            if name in self.pods:
                raise NameTaken(name)
            pod = copy.deepcopy(dict(manifest))
            pod["metadata"]["uid"] = uuid.uuid4().hex
            pod["status"] = {"phase": "Pending"}
            self._stamp(pod)
            self.pods[name] = pod
            self._say("ADDED", pod)
            self.created.set()
            return copy.deepcopy(pod)

    def get(self, name: str) -> dict[str, Any] | None:
        with self._asked("get"):
            return copy.deepcopy(self.pods.get(name))

    def delete(self, name: str, uid: str | None, grace_s: int) -> None:
        with self._asked("delete"):
            pod = self.pods.get(name)
            if pod is not None and uid in {None, pod["metadata"]["uid"]}:
                self.vanish(name)

    def list(self, selector: str) -> tuple[list[dict[str, Any]], str]:
        with self._asked("list"):
            self.listed.set()
            return copy.deepcopy(list(self.pods.values())), str(self._version)

    @contextlib.contextmanager
    def watch(self, selector: str, version: str) -> Iterator[Iterator[Event]]:
        with self._asked("watch"):
            pass
        yield self._stream()

    def interrupt(self) -> None:
        self._events.put(None)

    def _stream(self) -> Iterator[Event]:
        while (event := self._events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    def _say(self, kind: str, pod: Mapping[str, Any]) -> None:
        self._events.put({"type": kind, "object": copy.deepcopy(dict(pod))})

    def _stamp(self, pod: dict[str, Any]) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)

    @contextlib.contextmanager
    def _asked(self, verb: str) -> Iterator[None]:
        with self._lock:
            self.requests[verb] = self.requests.get(verb, 0) + 1
            refusals = self.refuse.get(verb) or []
            if refusals:
                raise refusals.pop(0)
            yield


__all__ = ["Event", "Expired", "FakeApi", "NameTaken", "Throttled"]
