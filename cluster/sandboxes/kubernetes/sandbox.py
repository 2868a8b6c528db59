"""Many executions at once, each in a pod of its own."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import secrets
import socket
import time
from functools import partial
from typing import Any, Final

import structlog

from cluster.sandboxes import labels
from cluster.sandboxes.kubernetes import faults
from cluster.sandboxes.kubernetes.api import KubernetesApi
from cluster.sandboxes.kubernetes.bucket import Bucket
from cluster.sandboxes.kubernetes.cluster import Cluster, patiently
from cluster.sandboxes.kubernetes.options import Options
from cluster.sandboxes.kubernetes.pod import AGENT, CANDIDATE, attempt_selector, probe_manifest
from cluster.sandboxes.kubernetes.post import PostOffice
from cluster.sandboxes.kubernetes.run import PodRun
from cluster.sandboxes.kubernetes.watch import News, PodWatch
from cluster.sandboxes.ownership import SLACK_S, may_be_reaped
from cluster.sandboxes.protocol import Capabilities
from cluster.sandboxes.workers import Workers
from parsimony.errors import Evicted, ImagePullFailed, PermanentError, SandboxUnavailable, TemporaryError
from parsimony.execution import ExecutionRequest, SandboxResult

REMOVAL_RATE: Final = 20.0
EVERYWHERE: Final = {socket.AF_INET: "0.0.0.0", socket.AF_INET6: "::"}  # noqa: S104 - pods come from anywhere

log = structlog.get_logger(__name__)


class KubernetesSandbox:
    """`Sandbox` over a Kubernetes cluster.

    Args:
        cluster: which.
        slots: executions at once; more wait for a free one.
    """

    def __init__(self, cluster: Cluster, api: KubernetesApi, slots: int) -> None:
        self._cluster = cluster
        self._api = api
        self._workers = Workers(slots)
        self._digests: dict[str, asyncio.Task[str]] = {}
        self._seen: dict[str, str] = {}

    @classmethod
    async def open(cls, *, slots: int, **options: Any) -> KubernetesSandbox:
        """Connect to a cluster.

        Args:
            slots: executions at once.
            options: see `Options`.

        Raises:
            SandboxUnavailable: the API does not answer, or pods could not reach this agent.
            PermanentError: no cluster is configured, or this account may not use it.
        """
        return await asyncio.to_thread(cls._open, slots, Options(**options))

    @classmethod
    def _open(cls, slots: int, options: Options) -> KubernetesSandbox:
        api = KubernetesApi(slots, options.kubeconfig, options.context, options.namespace)
        try:
            api.version()
            family, host = _resolved(options.callback_host or api.own_address())
            listening = EVERYWHERE[family] if options.callback_host else host
            post = PostOffice(listening, options.callback_port)
        except BaseException:
            api.close()
            raise
        agent = secrets.token_hex(8)
        watch = PodWatch(api, f"{AGENT}={agent}")
        watch.start()
        creations = Bucket(options.create_rate, options.create_burst)
        removals = Bucket(max(REMOVAL_RATE, options.create_rate), 2 * options.create_burst)
        cluster = Cluster(api, watch, post, options, host, agent, creations, removals)
        if not options.network_policies:
            log.warning(
                "kubernetes.network_open", reason="pods can reach the network unless the cluster's policies forbid it"
            )
        return cls(cluster, api, slots)

    @property
    def capabilities(self) -> Capabilities:
        """See `Sandbox`."""
        return Capabilities(
            kind="kubernetes",
            isolation="pod",
            images=True,
            network_off=self._cluster.options.network_policies,
            memory="enforced",
            disk="polled",
            private_processes=True,
        )

    @property
    def requests(self) -> dict[str, int]:
        """Requests made to the API so far, by verb."""
        return dict(self._api.requests)

    def pods(self, selector: str) -> list[dict[str, Any]]:
        """Pods of the namespace by label selector, as the API tells them. Blocks."""
        return self._api.list(selector)[0]

    async def environment_digest(self, image: str | None) -> str:
        """See `Sandbox`. What a tag means is asked of a node, by a pod that ends at once, once per image."""
        reference = _named(image)
        _, at, pinned = reference.partition("@")
        if at:
            return pinned
        flight = self._digests.get(reference)
        if flight is None:
            flight = asyncio.get_running_loop().create_task(self._workers.call(partial(self._probe, reference)))
            self._digests[reference] = flight
            flight.add_done_callback(lambda done: self._landed(reference, done))
        return await asyncio.shield(flight)  # one that gives up does not take the others with it

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        """See `Sandbox`."""
        reference = _named(request.image)
        run, unknown = PodRun(self._cluster, request), False
        with self._workers.claim(request.name):
            try:
                result = await self._workers.run(run)
            except TemporaryError:
                unknown = run.uid is None  # a call without an answer may have created one nevertheless
                raise
            finally:
                if run.uid is not None:
                    self._workers.later(request.name, partial(self._cluster.remove, request.name, run.uid))
                elif unknown:
                    self._workers.later(request.name, partial(self._cluster.clear_leftover, request))
        self._check_image(reference, result.image_digest)
        return result

    async def reap(self, run_id: str | None = None, *, dry_run: bool = False) -> list[str]:
        """See `Sandbox`. Without `run_id`, only what is past its expiry: the rest may be a living driver's. With it,
        everything of that run but what this sandbox runs itself."""
        removed = []
        pods, _ = await self._workers.call(partial(self._api.list, attempt_selector(run_id)))
        for pod in pods:
            metadata = pod["metadata"]
            name = str(metadata["name"])
            found = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
            if name not in self._workers.names and may_be_reaped(found, run_id, time.time()):
                if not dry_run:
                    await self._workers.call(partial(self._cluster.remove, name, str(metadata["uid"])))
                removed.append(name)
        return removed

    async def close(self) -> None:
        """See `Sandbox`."""
        for flight in list(self._digests.values()):
            flight.cancel()
        await self._workers.close()
        await asyncio.to_thread(self._let_go)

    def _let_go(self) -> None:
        self._cluster.watch.close()
        self._cluster.post.close()
        self._api.close()

    # ---- what an image is

    def _check_image(self, reference: str, found: str | None) -> None:
        """A tag that means another image on another node must not give a verdict under the first one's name."""
        if "@" in reference or found is None:
            return
        known = self._seen.setdefault(reference, found)
        if known != found:
            raise ImagePullFailed(
                f"{reference} is {found} on this node and {known} on another; name it by digest", retry_after=10.0
            )

    def _probe(self, reference: str) -> str:
        options, name = self._cluster.options, f"psm-image-{secrets.token_hex(8)}"
        mail: queue.SimpleQueue[News] = queue.SimpleQueue()
        life = options.pending_s + options.start_s
        marks = {labels.MANAGED_BY: labels.OURS, labels.EXPIRES: str(int(time.time() + life + SLACK_S))}
        manifest = probe_manifest(name, reference, options, agent=self._cluster.agent, found=marks)
        with self._cluster.watch.following(name, mail.put) as created:
            pod = patiently(lambda: self._api.create(manifest), self._cluster.creations)
            uid = str(pod["metadata"]["uid"])
            created(uid)
            try:
                digest = _digest_told(mail, uid, reference, time.monotonic() + life)
            finally:
                self._cluster.remove(name, uid)
        self._check_image(reference, digest)
        return digest

    def _landed(self, reference: str, flight: asyncio.Task[str]) -> None:
        failed = flight.cancelled() or flight.exception() is not None
        if failed and self._digests.get(reference) is flight:
            del self._digests[reference]


def _digest_told(mail: queue.SimpleQueue[News], uid: str, reference: str, give_up: float) -> str:
    pod: faults.Pod = {}
    while (left := give_up - time.monotonic()) > 0:
        with contextlib.suppress(queue.Empty):
            news = mail.get(timeout=left)
            if news.uid != uid:
                continue
            pod = news.pod
            if (digest := faults.image_digest(pod)) is not None:
                return digest
            fault = faults.fault(pod, {CANDIDATE: reference})
            if fault is not None:
                raise fault
            if news.gone:
                raise Evicted(f"the pod that asked what {reference} is was deleted by someone else")
    raise SandboxUnavailable(f"no node has said what {reference} is: {faults.waits_for(pod)}", retry_after=30.0)


def _named(image: str | None) -> str:
    if image is None:
        raise PermanentError("the kubernetes sandbox needs an image; this request names none")
    return image


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    """The address of `host`: pods have no name server."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise SandboxUnavailable(f"the callback address {host} has no address: {error}", retry_after=10.0) from error
    return family, str(address[0])
