"""The life of one pod: create, wait for node and inbox, follow, collect. Blocking; each has a thread of its own.

Two sources tell what happens, and both write into one mailbox: the watch, what the platform sees (a node, an end and
its status, an eviction), and the post, what the courier does (the candidate begins, the result is here). Two requests
to the API per pod: this one creates it, and the removal happens elsewhere.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from cluster.sandboxes import archive
from cluster.sandboxes.kubernetes import faults
from cluster.sandboxes.kubernetes.cluster import Cluster
from cluster.sandboxes.kubernetes.outcome import outcome, stopped
from cluster.sandboxes.kubernetes.pod import CANDIDATE, COLLECT_S, COURIER, FETCH, GRACE_S, inbox_archive
from cluster.sandboxes.kubernetes.post import Begun, Delivery, Ticket
from cluster.sandboxes.kubernetes.watch import News
from cluster.sandboxes.workers import Aborted
from parsimony.errors import Evicted, NodeLost, ParsimonyError, SandboxUnavailable
from parsimony.execution import Ending, ExecutionRequest, SandboxResult

LATE_S: Final = 10.0
"""Seconds after its deadline at which a candidate that the courier could not end is ended with its pod."""

DYING_S: Final = 60.0
SILENT_S: Final = 120.0
"""Seconds without a word from the courier, which asks for orders three times a minute."""

LOOK_S: Final = 5.0
LONG_WAIT_S: Final = 120.0

log = structlog.get_logger(__name__)


class PodRun:
    """One request in one pod.

    Args:
        cluster: where to.
        request: what.
    """

    def __init__(self, cluster: Cluster, request: ExecutionRequest) -> None:
        self._cluster = cluster
        self._request = request
        self._images = {CANDIDATE: str(request.image)}
        self._images |= dict.fromkeys((COURIER, FETCH), cluster.options.courier_image)
        self._aborted = threading.Event()
        self._mail: queue.SimpleQueue[News | Begun | Delivery | None] = queue.SimpleQueue()
        self._ticket: Ticket | None = None
        self._news: News | None = None
        self._other: str | None = None
        self._delivery: Delivery | None = None
        self._at: dict[str, float] = {}
        self.uid: str | None = None

    def execute(self) -> SandboxResult:
        """Run to the end. The candidate has ended when this returns or raises; its pod is still there to be removed.

        Raises:
            Aborted: see `abort`.
            TemporaryError, PermanentError: as `Sandbox.run`.
        """
        files = archive.checked_inbox(self._request.files)
        limits, name = self._request.limits, self._request.name
        ticket = self._ticket = Ticket(inbox_archive(files), limits.artifact_bytes, self._mail.put)
        with self._cluster.post.ticket(name, ticket), self._cluster.watch.following(name, self._mail.put) as created:
            try:
                return self._execute(ticket, created)
            except BaseException:
                self._end(ticket)
                raise

    def abort(self) -> None:
        """Give up, from another thread: `execute` raises `Aborted` soon."""
        self._aborted.set()
        self._mail.put(None)

    def _execute(self, ticket: Ticket, created: Callable[[str], None]) -> SandboxResult:
        self._mark("asked")
        self.uid = self._cluster.create(self._request, ticket.token, self._aborted)
        created(self.uid)
        self._mark("created")
        try:
            self._until_begun()
            ticket.inbox = b""
            if not self._until_ended():
                return self._by_force(ticket)
            self._until_delivered(ticket)
        except _Stopped as stop:
            return stopped(self._request, stop.ending, str(stop), self._pod, self._at)
        assert self._delivery is not None
        return outcome(self._request, self._pod, self._delivery, self._at)

    # ---- the stages

    def _until_begun(self) -> None:
        """Wait for a node, for images, for the inbox, for the candidate's first line."""
        options = self._cluster.options
        while "begun" not in self._at:
            since, patience = (
                ("scheduled", options.start_s) if "scheduled" in self._at else ("created", options.pending_s)
            )
            left = self._at[since] + patience - time.monotonic()
            if left <= 0:
                what = "had not begun" if since == "scheduled" else "had no node"
                raise SandboxUnavailable(
                    f"the pod {what} after {patience:g} s: {faults.waits_for(self._pod)}", retry_after=30.0
                )
            self._read(left)
            self._tell_of_a_long_wait()
            if "begun" not in self._at and (ended := faults.terminated(self._pod, CANDIDATE)) is not None:
                raise SandboxUnavailable(f"the candidate's container ended with {ended.exit_code} before it began")

    def _tell_of_a_long_wait(self) -> None:
        waited = time.monotonic() - self._at["created"]
        if waited > LONG_WAIT_S and "told" not in self._at and "scheduled" not in self._at:
            self._mark("told")
            log.warning("pod.waits_for_a_node", pod=self._request.name, reason=faults.waits_for(self._pod))

    def _until_ended(self) -> bool:
        """Wait for the candidate's end; False when it is late, though the courier should have ended it."""
        late = self._at["begun"] + self._request.limits.deadline_s + LATE_S
        while faults.terminated(self._pod, CANDIDATE) is None:
            if (left := late - time.monotonic()) <= 0:
                return False
            self._read(left)
        self._mark("ended")
        return True

    def _until_delivered(self, ticket: Ticket) -> None:
        give_up = time.monotonic() + COLLECT_S
        ticket.collect()
        while self._delivery is None:
            if (left := give_up - time.monotonic()) <= 0:
                raise SandboxUnavailable("the result did not come", retry_after=10.0)
            self._read(left)
        self._mark("delivered")

    def _by_force(self, ticket: Ticket) -> SandboxResult:
        """Take what there is while the candidate still runs, and end it with its pod."""
        self._mark("ended")
        self._until_delivered(ticket)
        assert self._delivery is not None
        if not self._gone_after_removal():
            raise SandboxUnavailable("the pod does not die", retry_after=30.0)
        return outcome(self._request, self._pod, self._delivery, self._at, ending=Ending.DEADLINE)

    # ---- the mailbox

    def _read(self, patience_s: float) -> None:
        """Take in the next thing that happened, if anything does.

        Raises:
            Aborted: see `abort`.
            _Stopped: the platform ended the candidate at a limit of its own.
            ParsimonyError: nothing can come of this pod any more.
        """
        try:
            item = self._mail.get(timeout=min(max(0.0, patience_s), LOOK_S))
        except queue.Empty:
            self._check_silence()
            return
        if self._aborted.is_set():
            raise Aborted
        if isinstance(item, Begun):
            self._mark("begun")
        elif isinstance(item, Delivery):
            self._delivery = item
        elif item is not None:
            self._take_in(item)

    def _take_in(self, news: News) -> None:
        if news.uid != self.uid:
            if not news.gone:
                self._other = news.uid
            return
        self._news = news
        if faults.scheduled(news.pod):
            self._mark("scheduled")
        if faults.terminated(news.pod, FETCH) is not None:
            self._mark("fetched")
        if self._delivery is None:
            self._judge(news)

    def _judge(self, news: News) -> None:
        over = faults.over_disk_limit(news.pod)
        if over is not None and "begun" in self._at:
            raise _Stopped(Ending.DISK_LIMIT, f"its node ended it: {over}")
        if faults.deadline_exceeded(news.pod):
            ran = time.monotonic() - self._at.get("begun", time.monotonic())
            if ran >= self._request.limits.deadline_s:
                raise _Stopped(Ending.DEADLINE, "its node ended it, and with it its outbox")
            raise SandboxUnavailable(f"the pod took too long to start: {faults.waits_for(news.pod)}", retry_after=30.0)
        fault = faults.fault(news.pod, self._images)
        if fault is not None:
            raise fault
        if news.gone:
            how = "was replaced by another one of its name" if self._other else "was deleted by someone else"
            raise Evicted(f"the pod {how}")

    def _check_silence(self) -> None:
        assert self._ticket is not None
        silent = time.monotonic() - self._ticket.heard_at
        if "begun" in self._at and silent > SILENT_S:
            raise NodeLost(
                f"nothing was heard from the pod on {faults.node(self._pod)} for {silent:.0f} s", retry_after=5.0
            )

    # ---- the end

    def _end(self, ticket: Ticket) -> None:
        """See that the candidate is dead: it may run only if it had begun."""
        begun = ticket.cancel()  # the courier hears it at once, and ends the candidate with itself
        if self.uid is None or not begun or self._is_over():
            return
        if not self._gone_after_removal():
            log.warning("pod.not_seen_to_end", pod=self._request.name, node=faults.node(self._pod))

    def _gone_after_removal(self) -> bool:
        """Delete the pod in the way that waits for its containers; whether the candidate was seen to end."""
        assert self.uid is not None
        try:
            self._cluster.remove(self._request.name, self.uid, GRACE_S)
        except ParsimonyError as error:
            log.warning("pod.not_deleted", pod=self._request.name, reason=str(error))
            return False
        give_up = time.monotonic() + DYING_S
        while not self._is_over() and (left := give_up - time.monotonic()) > 0:
            try:
                item = self._mail.get(timeout=left)
            except queue.Empty:
                return False
            if isinstance(item, News) and item.uid == self.uid:
                self._news = item
        return self._is_over()

    def _is_over(self) -> bool:
        gone = self._news is not None and self._news.gone
        return gone or faults.terminated(self._pod, CANDIDATE) is not None

    @property
    def _pod(self) -> faults.Pod:
        return self._news.pod if self._news is not None else {}

    def _mark(self, what: str) -> None:
        self._at.setdefault(what, time.monotonic())


class _Stopped(Exception):
    """The platform ended the candidate at a limit; there is no outbox, and there is a result."""

    def __init__(self, ending: Ending, message: str) -> None:
        super().__init__(message)
        self.ending = ending
