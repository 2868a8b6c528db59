"""What a registry says of an image, by the distribution API (v2): its manifest, never its layers."""

from __future__ import annotations

import base64
import email.utils
import re
import time
from dataclasses import dataclass
from typing import Any, Final

import requests
from docker import auth
from docker.errors import DockerException

from cluster.imagenames import HUB, Registries, RegistryChoice, parse
from parsimony.canonical import digest_bytes
from parsimony.errors import ImagePullFailed, ParsimonyError, PermanentError

TIMEOUT_S: Final = 30.0
LARGEST_MANIFEST: Final = 8 << 20
HUB_API: Final = "registry-1.docker.io"

_INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class Refused(PermanentError):
    """The registry has no such image, or does not let this user see it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a reference means in its registry.

    Attributes:
        digest: of what the reference names: the index, where there are several platforms.
        platform: that the layers are for.
        layers: digest and compressed bytes of each, the lowest first.
    """

    digest: str
    platform: str
    layers: tuple[tuple[str, int], ...]


class RegistryClient:
    """Asks registries for manifests, with the credentials of this user's Docker configuration."""

    def __init__(self, registries: Registries) -> None:
        self._registries = registries
        self._session = requests.Session()
        self._tokens: dict[tuple[str, str], str] = {}
        try:
            self._credentials: Any = auth.load_config()
        except DockerException:
            self._credentials = None

    def manifest(self, reference: str, platform: str) -> Manifest:
        """The manifest of an image.

        Args:
            platform: `os/architecture[/variant]`, of which a list of platforms must have one.

        Raises:
            ImagePullFailed: the registry does not answer, or asks to come back later; `retry_after` says when.
            PermanentError: there is no such image, this user may not see it, or its certificate is not trusted.
        """
        body, digest, kind = self._get(reference, parse(reference).version)
        if kind not in _INDEXES and "manifests" not in body:
            return Manifest(digest, platform, _layers(reference, body))
        for entry in body.get("manifests", ()):
            found = entry.get("platform") or {}
            names = [found.get("os"), found.get("architecture"), found.get("variant")]
            if platform in {"/".join(filter(None, names)), "/".join(filter(None, names[:2]))}:
                chosen, _, _ = self._get(reference, str(entry["digest"]))
                return Manifest(digest, platform, _layers(reference, chosen))
        raise PermanentError(f"{reference} is not made for {platform}; name an image that is")

    def close(self) -> None:
        """Let go of every connection."""
        self._session.close()

    def _get(self, reference: str, version: str) -> tuple[dict[str, Any], str, str]:
        """A manifest, its digest and its kind. What is asked for by digest is checked against it."""
        choice = self._registries.choice(parse(reference).host)
        name = parse(self._registries.mirrored(reference))
        response = self._ask(reference, name.host, name.path, version, choice)
        data = response.content
        digest = response.headers.get("Docker-Content-Digest") or digest_bytes(data)
        if version.startswith("sha256:") and digest_bytes(data) != version:
            raise ImagePullFailed(f"{name.host} gives another manifest for {reference} than its digest", retry_after=30)
        try:
            body = response.json()
        except ValueError:
            raise PermanentError(f"{name.host} does not speak the registry API (v2); check the host") from None
        return body, digest, response.headers.get("Content-Type", "").partition(";")[0]

    def _ask(self, reference: str, host: str, path: str, version: str, choice: RegistryChoice) -> requests.Response:
        url = f"{_scheme(host, choice)}://{HUB_API if host == HUB else host}/v2/{path}/manifests/{version}"
        headers = {"Accept": ", ".join((*_INDEXES, *_MANIFESTS))}
        verify = str(choice.ca) if choice.ca is not None else True
        token = self._tokens.get((host, path))
        try:
            for attempt in range(2):
                sent = {**headers, **({"Authorization": token} if token else {})}
                response = self._session.get(url, headers=sent, timeout=TIMEOUT_S, verify=verify)
                if response.status_code != 401 or attempt:
                    break
                token = self._authorize(response.headers.get("WWW-Authenticate", ""), host, path, verify)
        except requests.exceptions.SSLError as error:
            raise _untrusted(host, str(error)) from error
        except requests.RequestException as error:
            raise ImagePullFailed(f"{host} does not answer: {error}", retry_after=5.0) from error
        if token and response.ok:
            self._tokens[host, path] = token
        if response.ok and len(response.content) <= LARGEST_MANIFEST:
            return response
        raise registry_fault(reference, host, response)

    def _authorize(self, challenge: str, host: str, path: str, verify: bool | str) -> str:
        """The header that answers a challenge; "" where there is nothing to answer with."""
        pair = self._known(host)
        scheme, _, rest = challenge.partition(" ")
        asked = dict(_CHALLENGE.findall(rest))
        if scheme.lower() == "basic":
            return f"Basic {base64.b64encode(':'.join(pair).encode()).decode()}" if pair else ""
        if scheme.lower() != "bearer" or "realm" not in asked:
            return ""
        query = {"service": asked.get("service", ""), "scope": asked.get("scope", f"repository:{path}:pull")}
        response = self._session.get(asked["realm"], params=query, auth=pair, timeout=TIMEOUT_S, verify=verify)
        if not response.ok:
            return ""
        body = response.json()
        return f"Bearer {body.get('token') or body.get('access_token') or ''}"

    def _known(self, host: str) -> tuple[str, str] | None:
        """This user's name and password for a registry."""
        try:
            found = auth.resolve_authconfig(self._credentials, host) if self._credentials is not None else None
        except DockerException:  # its helper fails: the registry says what it thinks of nobody
            return None
        parts = {str(key).lower(): value for key, value in (found or {}).items()}  # helpers write them in capitals
        return (parts["username"], parts["password"]) if parts.get("username") else None


def _scheme(host: str, choice: RegistryChoice) -> str:
    loopback = host.partition(":")[0] in {"localhost", "127.0.0.1"}
    return "http" if choice.plain_http or (loopback and choice.ca is None) else "https"


def _layers(reference: str, body: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    try:
        return tuple((str(layer["digest"]), int(layer["size"])) for layer in body["layers"])
    except (KeyError, TypeError, ValueError):
        raise PermanentError(f"{reference} has a manifest of a kind that is not known here; push it anew") from None


def registry_fault(reference: str, host: str, response: requests.Response) -> ParsimonyError:
    """The error that a registry's answer stands for."""
    status = response.status_code
    if status in {401, 403}:
        return Refused(
            f"{host} does not let this user see {reference} ({status}); `docker login {host}`, and check the name:"
            " registries answer the same for what is not there"
        )
    if status == 404:
        return Refused(f"{host} has no image {reference}; check its name and tag, or push it")
    if status == 429 or status >= 500:
        wait = retry_after(response.headers.get("Retry-After"))
        what = "asks to slow down" if status == 429 else f"is in trouble ({status})"
        return ImagePullFailed(f"{host} {what}: {reference}", retry_after=wait or 0.0)
    return PermanentError(f"{host} refuses {reference} ({status}): {response.text[:200]}")


def retry_after(header: str | None, now: float | None = None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or an HTTP date; None = it asks for nothing."""
    if header is None:
        return None
    if re.fullmatch(r"\d{1,9}", header.strip()):
        return float(header)
    try:
        moment = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - (time.time() if now is None else now))


def _untrusted(host: str, said: str) -> PermanentError:
    return PermanentError(
        f"the certificate of {host} is not trusted here; name its authority under `registries: {{{host}: {{ca: …}}}}`,"
        f" and give it to the engine as /etc/docker/certs.d/{host}/ca.crt (docs/images.md) ({said[:200]})"
    )
