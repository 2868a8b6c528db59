"""One watch for all pods of an agent: list, then follow, from version to version; whoever runs a pod is told.

What a broken connection may have hidden comes out at the next list, as news or as an absence.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from cluster.sandboxes.kubernetes.calls import Api, Expired, Throttled
from cluster.sandboxes.kubernetes.faults import uid
from parsimony.errors import ParsimonyError

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 15.0

log = structlog.get_logger(__name__)
Listener = Callable[["News"], None]


@dataclass(frozen=True, slots=True)
class News:
    """What is known of a pod now.

    Attributes:
        uid: which pod of that name.
        pod: as the API tells it; the last that was known when it is gone.
        gone: it is there no more.
    """

    uid: str
    pod: Mapping[str, Any]
    gone: bool = False


class _Followed:
    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.created: str | None = None
        self.seen: dict[str, Mapping[str, Any]] = {}


class PodWatch:
    """Follows pods by label selector, in a thread of its own.

    Args:
        api: where.
        selector: which.
    """

    def __init__(self, api: Api, selector: str) -> None:
        self._api = api
        self._selector = selector
        self._followed: dict[str, _Followed] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._follow_on, name="pods-watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @contextlib.contextmanager
    def following(self, name: str, listener: Listener) -> Iterator[Callable[[str], None]]:
        """Tell `listener` all news of the pod `name` while the block runs, from the thread of the watch.

        Gives what must be called with the pod's uid once it was created: from then on its absence from a list is news.
        """
        followed = _Followed(listener)
        with self._lock:
            self._followed[name] = followed

        def created(found: str) -> None:
            with self._lock:
                followed.created = found

        try:
            yield created
        finally:
            with self._lock:
                if self._followed.get(name) is followed:
                    del self._followed[name]

    def close(self) -> None:
        """End it."""
        self._closed.set()
        self._api.interrupt()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _follow_on(self) -> None:
        version, pause = None, FIRST_PAUSE_S
        while not self._closed.is_set():
            try:
                version = self._once(version)
                pause = FIRST_PAUSE_S
            except Expired:
                version = None
            except Throttled as asked:
                self._closed.wait(asked.seconds)
            except ParsimonyError as error:
                if not self._closed.is_set():
                    log.warning("pods.watch_broken", reason=str(error), again_in_s=round(pause, 1))
                self._closed.wait(pause * random.uniform(0.8, 1.2))  # noqa: S311 - spreads agents, hides nothing
                pause = min(2 * pause, LONGEST_PAUSE_S)
                version = None  # what was missed meanwhile is in the list
            except Exception:  # a watch that has died would leave every pod's run in the dark
                if not self._closed.is_set():
                    log.exception("pods.watch_failed")
                self._closed.wait(LONGEST_PAUSE_S)
                version = None

    def _once(self, version: str | None) -> str:
        """One call of the API; the version up to which everything is known."""
        if version is None:
            version = self._list()
        with self._api.watch(self._selector, version) as events:
            for event in events:
                pod = event.get("object", {})
                version = str(pod.get("metadata", {}).get("resourceVersion") or version)
                if event.get("type") != "BOOKMARK":
                    self._tell(pod, gone=event.get("type") == "DELETED")
                if self._closed.is_set():
                    break
        return version

    def _list(self) -> str:
        with self._lock:
            known = {name: followed.created for name, followed in self._followed.items() if followed.created}
        pods, version = self._api.list(self._selector)
        there = {uid(pod) for pod in pods}
        for pod in pods:
            self._tell(pod)
        for name, created in known.items():
            if created not in there:
                with self._lock:
                    followed = self._followed.get(name)
                if followed is not None:
                    followed.listener(News(str(created), followed.seen.get(str(created), {}), gone=True))
        return version

    def _tell(self, pod: Mapping[str, Any], *, gone: bool = False) -> None:
        name = str(pod.get("metadata", {}).get("name"))
        with self._lock:
            followed = self._followed.get(name)
        if followed is not None:
            followed.seen[uid(pod)] = pod
            followed.listener(News(uid(pod), pod, gone))
