"""What helm renders, for every file of ci/: valid by the schemas of all, restricted, and apart from other releases."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

CRDS = {
    "RayJob": "kuberay-ray.io_rayjobs.yaml",
    "PodMonitor": "prometheus-operator-podmonitors.yaml",
    "PrometheusRule": "prometheus-operator-prometheusrules.yaml",
}
SIDECAR = "engine-sidecar-values.yaml"
LONG = "r" + "x" * 51 + "z"
"""A release's name of the 53 characters that Helm allows."""


def pods(place: Any) -> Iterator[dict[str, Any]]:
    """Every specification of a pod in an object."""
    if isinstance(place, dict):
        if isinstance(place.get("containers"), list):
            yield place
        for value in place.values():
            yield from pods(value)
    elif isinstance(place, list):
        for value in place:
            yield from pods(value)


def closed(schema: Any) -> Any:
    """The schema of a resource as an API server holds it under strict validation: no field that it does not name."""
    if isinstance(schema, dict):
        found = {key: closed(value) for key, value in schema.items()}
        free = schema.get("x-kubernetes-preserve-unknown-fields")
        if isinstance(found.get("properties"), dict) and "additionalProperties" not in found and not free:
            found["additionalProperties"] = False
        if schema.get("x-kubernetes-int-or-string"):
            found.pop("type", None)
        return found
    return [closed(value) for value in schema] if isinstance(schema, list) else schema


def custom(schemas: Path, item: dict[str, Any]) -> Draft202012Validator:
    return validator(schemas / CRDS[item["kind"]], item["apiVersion"].split("/")[1])


@functools.cache
def validator(path: Path, version: str) -> Draft202012Validator:
    """Kept, because that of a RayJob has a megabyte."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    about = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    [found] = [v["schema"]["openAPIV3Schema"] for v in about["spec"]["versions"] if v["name"] == version]
    schema = closed(found)
    schema["properties"]["metadata"] = {"type": "object"}
    return Draft202012Validator(schema)


def names(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Kinds and names; `DATE` is what the starter puts the date of a night for."""
    return [(item["kind"], item["metadata"]["name"].replace("DATE", "2026-12-01")) for item in items]


def test_lint_has_nothing_to_say(helm: Any, chart: Any, case: str) -> None:
    done = helm.run("lint", "--strict", str(chart.root), "--values", str(chart.root / "ci" / case))
    assert done.returncode == 0, done.stdout + done.stderr


def test_objects_of_kubernetes_are_valid(helm: Any, case: str) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    found = [item for item in helm.objects(case) if item["kind"] not in CRDS]
    assert found
    for item in found:
        kubernetes_validate.validate(item, "1.31", strict=True)


def test_custom_resources_are_valid(helm: Any, schemas: Path, case: str) -> None:
    for item in helm.objects(case):
        if item["kind"] in CRDS:
            assert [f"{e.json_path}: {e.message}" for e in custom(schemas, item).iter_errors(item)] == []


def test_the_strict_schema_of_a_resource_refuses_a_slip(helm: Any, schemas: Path) -> None:
    [job] = [item for item in helm.objects("minimal-values.yaml") if item["kind"] == "RayJob"]
    slip = copy.deepcopy(job)
    slip["spec"]["shutdownAfterJobFinish"] = True
    assert list(custom(schemas, job).iter_errors(slip)) != []


def test_pods_are_of_the_restricted_profile(helm: Any, case: str) -> None:
    found = [pod for item in helm.objects(case) for pod in pods(item)]
    assert found
    for pod in found:
        whole = pod["securityContext"]
        assert whole["runAsNonRoot"] is True
        assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert [volume for volume in pod.get("volumes", []) if "hostPath" in volume] == []
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            if case == SIDECAR and container["securityContext"].get("privileged"):
                continue
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False
            assert own["capabilities"] == {"drop": ["ALL"]}
            assert own["readOnlyRootFilesystem"] is True


def test_only_the_engine_that_was_asked_for_is_privileged(helm: Any, case: str) -> None:
    found = [pod for item in helm.objects(case) for pod in pods(item)]
    every = [c for pod in found for c in [*pod.get("initContainers", []), *pod["containers"]]]
    privileged = {c["name"] for c in every if c["securityContext"].get("privileged")}
    assert len(privileged) == (1 if case == SIDECAR else 0)


def test_two_releases_of_a_namespace_share_no_object(helm: Any, case: str) -> None:
    one, other = (set(names(helm.objects(case, release=release))) for release in ("grading", "second"))
    assert one & other == set()


@pytest.mark.parametrize("release", ["a", LONG])
def test_names_are_within_the_limits(helm: Any, case: str, release: str) -> None:
    for kind, name in names(helm.objects(case, release=release)):
        limit = {"RayJob": 47, "CronJob": 52}.get(kind, 63)
        assert len(name) <= limit, (kind, name)
        assert re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", name), (kind, name)


def test_everything_is_denied_first(helm: Any, case: str) -> None:
    policies = [item for item in helm.objects(case) if item["kind"] == "NetworkPolicy"]
    [deny] = [item["spec"] for item in policies if item["metadata"]["name"].endswith("-deny")]
    assert set(deny) == {"podSelector", "policyTypes"}
    assert deny["policyTypes"] == ["Ingress", "Egress"]


def test_a_mirror_and_pull_secrets_reach_every_pod(helm: Any) -> None:
    words = ("--set", "image.repository=mirror.example/grader", "--set", "imagePullSecrets={pull}")
    for pod in (pod for item in helm.objects("nightly-values.yaml", *words) for pod in pods(item)):
        assert {c["image"].split(":")[0] for c in pod["containers"]} == {"mirror.example/grader"}
        assert pod["imagePullSecrets"] == [{"name": "pull"}]


def test_nights_are_kept_on_the_data_volume(helm: Any) -> None:
    done = helm.template("nightly-values.yaml", "--set", "nightly.config.nights=/tmp/nights")
    assert done.returncode != 0
    assert "nights are kept on the data volume" in done.stderr
