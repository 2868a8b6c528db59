"""What a registry says becomes a manifest, or an error that says what to do."""

from __future__ import annotations

import base64
import json
from email.utils import formatdate
from pathlib import Path

import certifi
import pytest

from cluster.imagenames import Registries
from cluster.images.registry import RegistryClient, retry_after
from parsimony.errors import ImagePullFailed, PermanentError
from tests.cluster.images.conftest import FakeRegistry, layer_of

PLATFORM = "linux/amd64"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RegistryClient:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return RegistryClient(Registries())


def test_digest_and_layers_of_a_tag(registry: FakeRegistry, client: RegistryClient) -> None:
    digest = registry.image("a/b:1", layer_of("x", b"1"), layer_of("y", b"2"))
    found = client.manifest(f"{registry.host}/a/b:1", PLATFORM)
    assert (found.digest, found.platform, len(found.layers)) == (digest, PLATFORM, 2)
    assert all(registry.content[layer][1] and len(registry.content[layer][1]) == size for layer, size in found.layers)
    assert client.manifest(f"{registry.host}/a/b@{digest}", PLATFORM) == found


def test_the_digest_of_an_index_and_the_layers_of_its_platform(registry: FakeRegistry, client: RegistryClient) -> None:
    here = registry.image("x:amd", layer_of("x", b"amd"))
    there = registry.image("x:arm", layer_of("x", b"arm"), layer_of("y", b"arm"), platform=("linux", "arm64"))
    digest = registry.index("x:1", linux_amd64=here, linux_arm64=there)
    found = client.manifest(f"{registry.host}/x:1", "linux/arm64")
    assert (found.digest, len(found.layers)) == (digest, 2)
    with pytest.raises(PermanentError, match="is not made for linux/s390x"):
        client.manifest(f"{registry.host}/x:1", "linux/s390x")


@pytest.mark.parametrize(
    ("status", "headers", "kind", "said", "pause"),
    [
        (404, {}, PermanentError, "has no image .*check its name and tag", None),
        (401, {}, PermanentError, "docker login", None),
        (403, {}, PermanentError, "docker login", None),
        (429, {"Retry-After": "7"}, ImagePullFailed, "asks to slow down", 7.0),
        (503, {}, ImagePullFailed, r"is in trouble \(503\)", 0.0),
        (418, {}, PermanentError, r"refuses .* \(418\)", None),
    ],
)
def test_refusals(
    registry: FakeRegistry,
    client: RegistryClient,
    status: int,
    headers: dict[str, str],
    kind: type[Exception],
    said: str,
    pause: float | None,
) -> None:
    registry.trouble["/v2/a/manifests/1"] = [(status, headers)] * 2
    with pytest.raises(kind, match=said) as error:
        client.manifest(f"{registry.host}/a:1", PLATFORM)
    assert getattr(error.value, "retry_after", None) == pause


def test_a_registry_that_is_away_is_worth_another_try(client: RegistryClient) -> None:
    with pytest.raises(ImagePullFailed, match="does not answer"):
        client.manifest("127.0.0.1:1/a:1", PLATFORM)


def test_what_is_asked_for_by_digest_must_be_it(registry: FakeRegistry, client: RegistryClient) -> None:
    digest = registry.image("a:1", layer_of("x", b"1"))
    registry.content[digest] = (registry.content[digest][0], registry.content[digest][1] + b" ")
    with pytest.raises(ImagePullFailed, match="gives another manifest"):
        client.manifest(f"{registry.host}/a@{digest}", PLATFORM)


def test_a_token_is_fetched_with_this_users_credentials(
    registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.image("a:1", layer_of("x", b"1"))
    registry.image("b:1", layer_of("x", b"1"))
    pair = base64.b64encode(b"ada:secret").decode()
    registry.token, registry.basic = "sesame", f"Basic {pair}"
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with pytest.raises(PermanentError, match="docker login"):
        RegistryClient(Registries()).manifest(f"{registry.host}/a:1", PLATFORM)
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": pair}}}))
    client = RegistryClient(Registries())
    for name in ("a:1", "a:1", "b:1"):
        client.manifest(f"{registry.host}/{name}", PLATFORM)
    assert sum(n for path, n in registry.asked.items() if path.startswith("/token")) == 3, "one refused, one per name"


def test_a_certificate_of_ones_own_authority(secured: tuple[FakeRegistry, Path], client: RegistryClient) -> None:
    registry, ca = secured
    digest = registry.image("a:1", layer_of("x", b"1"))
    reference = f"{registry.host}/a:1"
    trusting = Registries.model_validate({"registries": {registry.host: {"ca": ca}}})
    assert RegistryClient(trusting).manifest(reference, PLATFORM).digest == digest
    mirror = Registries.model_validate({"registries": {"far.example.com": {"ca": ca, "mirror": registry.host}}})
    assert RegistryClient(mirror).manifest("far.example.com/a:1", PLATFORM).digest == digest
    other = ca.with_name("other.pem")
    other.write_text(Path(certifi.where()).read_text())
    distrusting = Registries.model_validate({"registries": {registry.host: {"ca": other}}})
    with pytest.raises(PermanentError, match=r"is not trusted here; name its authority under `registries: \{127"):
        RegistryClient(distrusting).manifest(reference, PLATFORM)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("12", 12.0), (" 0", 0.0), (formatdate(1_000_090, usegmt=True), 90.0), ("soon", None)],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, now=1_000_000) == seconds


def test_a_moment_that_has_passed_asks_for_nothing() -> None:
    assert retry_after(formatdate(5, usegmt=True), now=1_000_000) == 0.0
