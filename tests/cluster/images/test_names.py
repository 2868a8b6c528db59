"""References as the distribution project reads them, and mirrors."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.imagenames import HUB, Registries, parse, parse_or_none, read_registries
from parsimony.errors import InputError

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("reference", "host", "path", "version", "repository"),
    [
        ("python", HUB, "library/python", "latest", "python"),
        ("python:3.11", HUB, "library/python", "3.11", "python"),
        ("org/name:1", HUB, "org/name", "1", "org/name"),
        ("localhost/a:1", "localhost", "a", "1", "localhost/a"),
        ("127.0.0.1:5000/a/b", "127.0.0.1:5000", "a/b", "latest", "127.0.0.1:5000/a/b"),
        (f"r.example.com/a__b.c-1:v_1@{DIGEST}", "r.example.com", "a__b.c-1", DIGEST, "r.example.com/a__b.c-1"),
    ],
)
def test_the_parts_of_a_reference(reference: str, host: str, path: str, version: str, repository: str) -> None:
    name = parse(reference)
    assert (name.host, name.path, name.version, name.repository) == (host, path, version, repository)


@pytest.mark.parametrize("reference", ["", "UPPER/name", "a b", "name:", "name@sha256:12", DIGEST, "ab" * 32])
def test_what_is_no_reference(reference: str) -> None:
    with pytest.raises(InputError, match="no reference"):
        parse(reference)


def test_an_id_needs_no_parts() -> None:
    assert parse_or_none(DIGEST) is None
    assert Registries.model_validate({"registries": {HUB: {"mirror": "m"}}}).mirrored(DIGEST) == DIGEST


@pytest.mark.parametrize(
    ("reference", "pulled"),
    [
        ("python:3.11", "mirror.example.com/hub/library/python:3.11"),
        (f"org/name@{DIGEST}", f"mirror.example.com/hub/org/name@{DIGEST}"),
        ("quay.example.com/a:1", "quay.example.com/a:1"),
    ],
)
def test_a_mirror_has_the_same_repositories_below_it(reference: str, pulled: str) -> None:
    choice = Registries.model_validate({"registries": {HUB: {"mirror": "mirror.example.com/hub"}}})
    assert choice.mirrored(reference) == pulled


def test_certificates_stand_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "registries.yaml"
    file.write_text("parallel: 2\nregistries:\n  r.example.com: {ca: ca.pem}\n")
    with pytest.raises(InputError, match=r"ca.pem is not there; name a file of PEM"):
        read_registries(file)
    (tmp_path / "ca.pem").write_text("x")
    assert read_registries(file).choice("r.example.com").ca == tmp_path / "ca.pem"
    assert read_registries(None) == Registries()


def test_the_example_is_of_the_schema() -> None:
    found = read_registries(Path(__file__).resolve().parents[3] / "configs" / "registries.example.yaml")
    assert found.mirrored("python:3.11") == "mirror.example.com/hub/library/python:3.11"
