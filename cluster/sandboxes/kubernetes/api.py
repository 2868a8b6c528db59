"""`Api` over the official client: the only module that imports it. Objects are plain JSON, in and out: building the
client's models of every event would cost more than the rest of this sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from cluster.sandboxes.kubernetes.calls import Expired, NameTaken, Throttled, refusal
from parsimony.errors import PermanentError, SandboxUnavailable

CALL_S: Final = (10.0, 60.0)
"""Seconds to connect, and between two bytes of an answer."""

WATCH_S: Final = 300
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

log = structlog.get_logger(__name__)


class KubernetesApi:
    """Pods of one namespace.

    Args:
        slots: executions at once; the connection pool is sized to it.
        kubeconfig, context, namespace: see `Options`.

    Attributes:
        namespace: where.
        host: the API's address.
        requests: how many were made, by verb.

    Raises:
        PermanentError: nothing tells where a cluster is.
    """

    def __init__(self, slots: int, kubeconfig: Path | None, context: str | None, namespace: str | None) -> None:
        settings = client.Configuration()
        own = _load(settings, kubeconfig, context)
        settings.connection_pool_maxsize = slots + 8
        settings.retries = False
        if not settings.verify_ssl:
            log.warning("kubernetes.unverified", host=settings.host, reason="its kubeconfig skips TLS verification")
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self.namespace = namespace or own or "default"
        self.host = str(urlsplit(settings.host).hostname)
        self.port = urlsplit(settings.host).port or 443
        self.requests: dict[str, int] = {}
        self._client = client.ApiClient(settings)
        self._path = f"/api/v1/namespaces/{self.namespace}/pods"
        self._watching: Any = None
        self._closed = False
        self._lock = threading.Lock()

    def create(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """See `Api`."""
        doing = f"creating the pod {manifest['metadata']['name']}"
        return self._json("create", doing, "POST", self._path, body=manifest)

    def get(self, name: str) -> dict[str, Any] | None:
        """See `Api`."""
        return self._json("get", f"looking up the pod {name}", "GET", f"{self._path}/{name}", absent={404}) or None

    def delete(self, name: str, uid: str | None, grace_s: int) -> None:
        """See `Api`."""
        body: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace_s}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        # 404: it is gone; 409: there is another one under this name.
        self._json("delete", f"deleting the pod {name}", "DELETE", f"{self._path}/{name}", body=body, absent={404, 409})

    def list(self, selector: str) -> tuple[list[dict[str, Any]], str]:
        """See `Api`."""
        found = self._json("list", "listing pods", "GET", self._path, {"labelSelector": selector})
        return list(found.get("items") or ()), str(found["metadata"]["resourceVersion"])

    @contextlib.contextmanager
    def watch(self, selector: str, version: str) -> Iterator[Iterator[dict[str, Any]]]:
        """See `Api`."""
        query = {
            "labelSelector": selector,
            "resourceVersion": version,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
        }
        with _asking("watching pods"):
            answer = self._ask("watch", "GET", self._path, query, patience=(CALL_S[0], WATCH_S + 30.0)).response
            try:
                if answer.status != 200:
                    raise _refused("watching pods", "watch", answer.status, answer.headers, answer.data)
                with self._lock:
                    self._watching = answer
                    closed = self._closed
                yield iter(()) if closed else self._events(answer)
            finally:
                with self._lock:
                    self._watching = None
                answer.close()

    def interrupt(self) -> None:
        """See `Api`."""
        with self._lock:
            self._closed = True
            if self._watching is not None:
                with contextlib.suppress(Exception):  # it may be ending by itself
                    self._watching.shutdown()

    def may(self, verb: str, resource: str) -> bool:
        """Whether this account may do that with pods and the like in the namespace."""
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"namespace": self.namespace, "verb": verb, "resource": resource}},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        found = self._json("review", "asking what this account may do", "POST", path, body=body)
        return bool(found["status"].get("allowed"))

    def version(self) -> str:
        """Of the API server."""
        found = self._json("version", f"connecting to the Kubernetes API at {self.host}", "GET", "/version")
        return str(found["gitVersion"])

    def own_address(self) -> str:
        """The address of this machine from which the API is reached; nothing is sent."""
        try:
            family, kind, _, _, address = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(address)
                return str(probe.getsockname()[0])
        except OSError as error:
            raise SandboxUnavailable(f"there is no way to {self.host}: {error}", retry_after=10.0) from error

    def close(self) -> None:
        """Let go of every connection."""
        self.interrupt()
        self._client.rest_client.pool_manager.clear()

    def _events(self, answer: Any) -> Iterator[dict[str, Any]]:
        rest = b""
        for piece in answer.stream(1 << 16, decode_content=True):
            if self._closed:  # what a connection gives once it is shut down is no longer decrypted
                return
            *lines, rest = (rest + piece).split(b"\n")
            for line in filter(None, lines):
                event: dict[str, Any] = json.loads(line)
                if event.get("type") == "ERROR":
                    status = event.get("object", {})
                    if status.get("code") == 410:
                        raise Expired(str(status.get("message")))
                    raise refusal("watching pods", int(status.get("code") or 500), str(status.get("message")))
                yield event

    def _ask(
        self, verb: str, method: str, path: str, query: Mapping[str, str] | None, body: object = None,
        *, patience: tuple[float, float] = CALL_S,
    ) -> Any:  # fmt: skip
        with self._lock:
            self.requests[verb] = self.requests.get(verb, 0) + 1
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        asked = self._client.param_serialize(
            method, path, query_params=list((query or {}).items()), header_params=headers, body=body,
            auth_settings=["BearerToken"],
        )  # fmt: skip
        return self._client.call_api(*asked, _request_timeout=patience)

    def _json(
        self, verb: str, doing: str, method: str, path: str, query: Mapping[str, str] | None = None,
        *, body: object = None, absent: Collection[int] = (),
    ) -> dict[str, Any]:  # fmt: skip
        """The answer; empty when its status is one of `absent`."""
        with _asking(doing):
            answer = self._ask(verb, method, path, query, body)
            data: bytes = answer.read()
            found: dict[str, Any] = json.loads(data) if 200 <= answer.status <= 299 else {}
        if answer.status in absent:
            return {}
        if not 200 <= answer.status <= 299:
            raise _refused(doing, verb, answer.status, answer.headers, data)
        return found


@contextlib.contextmanager
def _asking(doing: str) -> Iterator[None]:
    """Silence of the API, and what is no JSON, becomes our error."""
    try:
        yield
    except (urllib3.exceptions.HTTPError, ApiException, OSError, ValueError) as error:
        raise refusal(doing, None, str(error)) from error


def _refused(doing: str, verb: str, status: int, headers: Mapping[str, str], data: bytes) -> Exception:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, TypeError, KeyError):
        text = str(json.loads(text)["message"])
    if status == 409 and verb == "create" and "exceeded quota" not in text:
        return NameTaken(doing)
    if status == 410:
        return Expired(text)
    if status == 429:
        asked = str(headers.get("Retry-After", ""))
        return Throttled(float(asked) if asked.isdigit() else 1.0)
    return refusal(doing, status, text)


def _load(settings: Any, kubeconfig: Path | None, context: str | None) -> str | None:
    """Fill the client's settings; the namespace that goes with them."""
    named = kubeconfig or os.environ.get("PARSIMONY_KUBECONFIG") or os.environ.get("KUBECONFIG")
    try:
        if named is None and context is None and _ACCOUNT.is_dir():
            config.load_incluster_config(client_configuration=settings)
            return (_ACCOUNT / "namespace").read_text("utf-8").strip()
        path = str(named) if named is not None else None
        config.load_kube_config(path, context, client_configuration=settings)
        contexts, active = config.list_kube_config_contexts(path)
        chosen = next((c for c in contexts if c["name"] == context), active)
        return str(chosen["context"].get("namespace") or "") or None
    except (config.ConfigException, OSError, KeyError, TypeError) as error:
        raise PermanentError(
            f"no cluster is configured: {error}; name a kubeconfig in $KUBECONFIG or under `sandbox: kubeconfig:`"
        ) from error
