"""Values, without helm: the schema is closed, every file of ci/ fits it, and what is dangerous does not."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from cluster.sweep import Sweep
from parsimony import __version__
from parsimony.cli.nightly_config import NightlyFile

ROOT = Path(__file__).resolve().parents[2]

OPEN = {
    "$defs.strings",
    "$defs.labels",
    "$defs.files",
    "$defs.free",
    "$defs.sweep",
    "properties.env",
    "properties.global",
    "properties.volumes.properties.extra",
}
"""Maps whose names are the user's, or whose schema is somebody else's."""


def objects(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of a map, with its place; conditions (`if`, `then`) only add to what stands elsewhere."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield path, schema
        for key, value in schema.items():
            if key not in {"if", "then", "allOf"}:
                yield from objects(value, f"{path}.{key}".lstrip("."))
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value, path)


def errors(chart: Any, values: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(chart.schema).iter_errors(values)]


def changed(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    found = copy.deepcopy(values)
    *parents, last = path.split(".")
    place = found
    for name in parents:
        place = place.setdefault(name, {})
    place[last] = value
    return found


def test_the_schema_is_one(chart: Any) -> None:
    Draft202012Validator.check_schema(chart.schema)


def test_no_map_is_open_but_those_that_must_be(chart: Any) -> None:
    found = dict(objects(chart.schema))
    assert len(found) > 40
    assert {path for path, schema in found.items() if schema.get("additionalProperties") is not False} == OPEN


def test_patterns_are_such_that_every_validator_knows(chart: Any) -> None:
    def patterns(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            if isinstance(schema.get("pattern"), str):
                yield schema["pattern"]
            for value in schema.values():
                yield from patterns(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from patterns(value)

    found = list(patterns(chart.schema))
    assert len(found) > 20
    assert [text for text in found if "(?" in text or "\\Z" in text] == []


def test_every_value_has_a_place_in_the_schema_and_the_other_way_round(chart: Any) -> None:
    def names(values: Any, schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
        properties = schema.get("properties")
        if properties is None or "$ref" in schema:
            return
        for name in sorted({*properties, *values} - {"global"}):
            if name not in values:
                yield f"{path}{name}", "has no default"
            elif name not in properties:
                yield f"{path}{name}", "is not in the schema"
            else:
                yield from names(values[name], properties[name], f"{path}{name}.")

    assert list(names(chart.values, chart.schema)) == []


def test_defaults_fit(chart: Any) -> None:
    assert errors(chart, chart.values) == []


def test_cases_fit(chart: Any, case: str) -> None:
    assert errors(chart, chart.case(case)) == []


def test_the_cases_are_there(chart: Any) -> None:
    wanted = {"minimal", "nightly", "plain-ray", "object-store", "hardened"}
    assert wanted <= {name.removesuffix("-values.yaml") for name in chart.cases}


def test_sweeps_and_nights_of_the_cases_are_ours(chart: Any, case: str) -> None:
    values = chart.case(case)
    sweeps = [config for config in (values["sweep"]["config"], values["nightly"]["sweep"]) if config]
    assert sweeps
    for config in sweeps:
        Sweep.model_validate(config)
    if values["nightly"]["enabled"]:
        NightlyFile.model_validate({**values["nightly"]["config"], "sweep": "sweep.yaml", "nights": "/data/nights"})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sweeep", {}),
        ("image.tagg", "1"),
        ("workers.replicas", -1),
        ("workers.replicas", "three"),
        ("workers.resources.limits.gpu", "1"),
        ("workers.resources.limits", {"cpu": "1"}),
        ("mode", "ray"),
        ("nightly.schedule", "every night"),
        ("sweep.name", "../elsewhere"),
        ("sweep.name", "a; rm -rf x"),
        ("sweep.files", {"sweep.yaml": ""}),
        ("sweep.files", {"../x": ""}),
        ("artifacts", {"kind": "objectStore", "url": "", "secretName": ""}),
        ("artifacts.url", "s3://bucket/'; true '"),
        ("networkPolicy.apiServer.cidrs", []),
        ("image.digest", "latest"),
        ("env", {"A-B": "x"}),
        ("env", {"A": 1}),
        ("engineSidecar.enabled", True),
        ("global", {"x": 1}),
        ("volumes.extra", {"v": {"mountPath": "/data/x", "secret": "s"}}),
        ("volumes.extra", {"v": {"mountPath": "//usr/x", "secret": "s"}}),
        ("volumes.extra", {"v": {"mountPath": "/var/run/x", "secret": "s"}}),
        ("volumes.extra", {"v": {"mountPath": "/x", "secret": "s", "claim": "c"}}),
        ("volumes.extra", {"v": {"mountPath": "/x"}}),
    ],
)
def test_what_is_refused(chart: Any, path: str, value: Any) -> None:
    assert errors(chart, changed(chart.values, path, value)) != []


@pytest.mark.parametrize(
    "volume",
    [
        {"mountPath": "/engine", "hostPath": {"path": "/var/run/docker.sock"}},
        {"mountPath": "/engine", "hostPath": "/var/run/docker.sock"},
        {"mountPath": "/engine", "hostPath": None},
        {"mountPath": "/engine", "emptyDir": "1Gi", "hostPath": {"path": "/"}},
    ],
)
def test_a_path_of_the_host_is_refused_in_words(chart: Any, volume: dict[str, Any]) -> None:
    refusal = " ".join(errors(chart, changed(chart.values, "volumes.extra", {"engine": volume})))
    assert "refused: a path of the host, such as the socket of its Docker Engine, is root on the node" in refusal


def test_not_even_the_words_of_the_refusal_are_accepted(chart: Any) -> None:
    words = chart.schema["$defs"]["volume"]["properties"]["hostPath"]["const"]
    volume = {"mountPath": "/engine", "emptyDir": "1Gi", "hostPath": words}
    assert errors(chart, changed(chart.values, "volumes.extra", {"engine": volume})) != []


def test_an_engine_beside_the_workers_is_asked_for_twice(chart: Any) -> None:
    once = changed(chart.values, "engineSidecar.enabled", True)
    assert errors(chart, once) != []
    assert errors(chart, changed(once, "engineSidecar.acceptPrivileged", True)) == []


def test_chart_image_and_distribution_have_one_version(chart: Any) -> None:
    about = yaml.safe_load((chart.root / "Chart.yaml").read_text(encoding="utf-8"))
    assert (about["version"], about["appVersion"]) == (__version__, __version__)


def test_ray_is_that_of_the_constraints(chart: Any) -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"ray=={chart.values['ray']['version']}" in pins


def test_no_template_knows_a_path_of_the_host(chart: Any) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (chart.root / "templates").rglob("*.*")}
    assert len(texts) > 20
    mentions = {name for name, text in texts.items() if "hostPath" in text or "docker.sock" in text}
    assert mentions == {"_helpers.tpl"}  # which refuses them


def test_copies_and_the_table_of_values_are_in_step() -> None:
    spec = importlib.util.spec_from_file_location("update_chart", ROOT / "scripts" / "update_chart.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.differences() == [], "mend: python scripts/update_chart.py"
    named = {name for name, _ in module.described((ROOT / "helm/parsimony/values.yaml").read_text("utf-8"))}
    assert "sweep.config" in named
    assert "metrics.podMonitor.enabled" in named
