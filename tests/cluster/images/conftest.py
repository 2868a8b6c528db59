"""A registry of our own, in this process: the distribution API as far as pulling goes, with failures on demand. A real
engine pulls from it: it listens on the loopback, whose registries need no TLS."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import io
import json
import ssl
import subprocess
import tarfile
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer_of(name: str, data: bytes) -> bytes:
    """A layer, unpacked, with one file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


@dataclass
class FakeRegistry:
    """Content by digest, tags by repository, and what to answer instead.

    Attributes:
        trouble: path -> answers that come first, each a status and headers.
        asked: how often each path was asked for.
        token: when set, manifests and blobs need it, and the realm gives it to whoever brings `basic`.
    """

    host: str = ""
    content: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    trouble: dict[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    token: str | None = None
    basic: str | None = None

    def put(self, kind: str, data: bytes) -> str:
        self.content[sha256(data)] = (kind, data)
        return sha256(data)

    def image(self, name: str, *layers: bytes, platform: tuple[str, str] = ("linux", "amd64")) -> str:
        """Make an image of layers and tag it; returns the digest of its manifest."""
        packed = [gzip.compress(layer, mtime=0) for layer in layers]
        config = {
            "os": platform[0], "architecture": platform[1], "config": {"Labels": {"made-by": "tests"}},
            "rootfs": {"type": "layers", "diff_ids": [sha256(layer) for layer in layers]},
            "history": [{"created_by": f"layer {n}"} for n in range(len(layers))],
        }  # fmt: skip
        text = json.dumps(config).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "size": len(text), "digest": self.put(CONFIG, text)},
            "layers": [
                {
                    "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                    "size": len(data),
                    "digest": self.put("application/octet-stream", data),
                }
                for data in packed
            ],
        }
        self.tags[name] = self.put(MANIFEST, json.dumps(manifest).encode())
        return self.tags[name]

    def index(self, name: str, **platforms: str) -> str:
        """A list of manifests by `os_architecture`."""
        entries = [
            {
                "mediaType": MANIFEST,
                "digest": digest,
                "size": len(self.content[digest][1]),
                "platform": dict(zip(("os", "architecture"), key.split("_"), strict=True)),
            }
            for key, digest in platforms.items()
        ]
        body = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        self.tags[name] = self.put(INDEX, json.dumps(body).encode())
        return self.tags[name]

    def answer(self, path: str, authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        self.asked[path] += 1
        if path.startswith("/token"):
            granted = self.basic is None or authorization == self.basic
            return (200, {}, json.dumps({"token": self.token}).encode()) if granted else (401, {}, b"{}")
        if self.trouble.get(path):
            status, headers = self.trouble[path].pop(0)
            return status, headers, json.dumps({"errors": [{"code": "TOOMANYREQUESTS", "message": "slow"}]}).encode()
        if self.token is not None and authorization != f"Bearer {self.token}":
            realm = f'Bearer realm="http://{self.host}/token",service="tests",scope="repository:x:pull"'
            return 401, {"WWW-Authenticate": realm}, b'{"errors": [{"code": "UNAUTHORIZED", "message": "no"}]}'
        if path == "/v2/":
            return 200, {}, b"{}"
        name, _, version = path.removeprefix("/v2/").rpartition("/")
        name = name.rpartition("/")[0]
        digest = version if version.startswith("sha256:") else self.tags.get(f"{name}:{version}", "")
        if digest not in self.content:
            return 404, {}, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
        kind, data = self.content[digest]
        return 200, {"Content-Type": kind, "Docker-Content-Digest": digest}, data


def _handler(registry: FakeRegistry) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, data = registry.answer(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            for name, value in {"Docker-Distribution-Api-Version": "registry/2.0", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_HEAD = do_GET  # noqa: N815 - the name is the library's

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    return Handler


def serve(registry: FakeRegistry, certificate: Path | None = None) -> Iterator[FakeRegistry]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(registry))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    registry.host = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield registry
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    yield from serve(FakeRegistry())


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[FakeRegistry, Path]]:
    """A registry with TLS whose certificate nobody knows but its own file."""
    certificate = tmp_path / "own.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("no openssl here that makes a certificate")
    certificate.write_text((tmp_path / "key").read_text() + (tmp_path / "cert").read_text())
    for found in serve(FakeRegistry(), certificate):
        yield found, tmp_path / "cert"


@pytest.fixture
def engine() -> Iterator[Any]:
    """The client of a Docker Engine, for a test's own images."""
    docker = pytest.importorskip("docker", reason="the Docker client is not installed")
    try:
        client = docker.APIClient(version="auto")
    except docker.errors.DockerException as error:
        pytest.skip(f"no Docker Engine answers here: {error}")
    yield client
    client.close()


@pytest.fixture
def own_name(engine: Any) -> Iterator[str]:
    """A repository for a test's own images, which are removed when it is over."""
    docker = pytest.importorskip("docker")
    name = f"parsimony-test-{uuid.uuid4().hex[:12]}"
    yield name
    for row in engine.images():
        for reference in [*(row["RepoTags"] or ()), *(row["RepoDigests"] or ())]:
            if name in reference:
                with contextlib.suppress(docker.errors.ImageNotFound):  # a digest goes with its last tag
                    engine.remove_image(reference, force=True)
