"""The chart without the operator on a real cluster: head, workers and driver are pods, and so is every candidate.

Needs $KUBECONFIG (one node will do), $PARSIMONY_TASKS, and $PARSIMONY_GRADER_IMAGE, made of images/grader.Dockerfile.
Nodes must have that image and those of the tasks below. Fields that an old API server does not know are dropped by it;
without a DNS, the head's name is replaced by its address.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

TASKS = ("secure-json-parse", "flask-4992", "sqlparse-826")
VOLUME = "parsimony-data"
SMALL = {
    "requests": {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "100Mi"},
    "limits": {"cpu": "2", "memory": "3Gi", "ephemeral-storage": "4Gi"},
}

pytestmark = [pytest.mark.helm, pytest.mark.kubernetes, pytest.mark.shared, pytest.mark.slow, pytest.mark.timeout(1800)]


def named(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set")
    return value


class Namespace:
    """A namespace of its own, with a volume."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *words: str, given: str | None = None) -> str:
        command = ["kubectl", "--namespace", self.name, *words]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout

    def apply(self, *objects: dict[str, Any], head: tuple[str, str] | None = None) -> None:
        text = yaml.safe_dump_all(objects)
        self("apply", "--validate=false", "--filename", "-", given=text.replace(*head) if head else text)

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self("get", "pods", "--output", "json"))["items"]
        return found

    def ready_address(self, pod: str) -> str:
        self("wait", f"pod/{pod}", "--for=condition=Ready", "--timeout=180s")
        return self("get", "pod", pod, "--output", "jsonpath={.status.podIP}")


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    named("KUBECONFIG")
    made = Namespace(f"psm-{uuid.uuid4().hex[:8]}")
    folder = f"/var/tmp/{made.name}"
    size, modes = {"storage": "5Gi"}, ["ReadWriteOnce"]
    host = {"path": folder, "type": "DirectoryOrCreate"}
    volume = {"capacity": size, "accessModes": modes, "storageClassName": "", "hostPath": host}
    claim = {"accessModes": modes, "storageClassName": "", "volumeName": made.name, "resources": {"requests": size}}
    owner = {
        "restartPolicy": "Never",
        "volumes": [{"name": "data", "hostPath": host}],
        "containers": [{
            "name": "own", "image": named("PARSIMONY_GRADER_IMAGE"), "imagePullPolicy": "IfNotPresent",
            "command": ["chown", "10001:10001", "/data"], "securityContext": {"runAsUser": 0},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }],
    }  # fmt: skip
    made.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made.name}})
    try:
        made.apply(
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": made.name}, "spec": volume},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": VOLUME}, "spec": claim},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own"}, "spec": owner},
        )
        while made("get", "pod", "own", "--output", "jsonpath={.status.phase}") not in {"Succeeded", "Failed"}:
            time.sleep(1)
        made("delete", "pod", "own")
        yield made
    finally:
        made("delete", "namespace", made.name, "--wait=true", "--timeout=180s")
        made("delete", "persistentvolume", made.name)


def inputs(folder: Path) -> tuple[dict[str, str], dict[tuple[str, str], set[str]]]:
    """Files for the sweep, and the outcomes that an honest grader may give."""
    rows = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    tasks = {row["instance_id"]: row for row in rows if any(name in row["instance_id"] for name in TASKS)}
    candidates: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted((folder / "predictions").glob("*.jsonl")):
        for row in map(json.loads, path.read_text().splitlines()):
            if row["instance_id"] in tasks:
                key = row["instance_id"], row["model_name_or_path"]
                candidates.setdefault(key, {**row, "arm": row["model_name_or_path"], "seed": 0})
    expected: dict[tuple[str, str], set[str]] = {}
    for row in map(json.loads, (folder / "expected.jsonl").read_text().splitlines()):
        outcome = row["expected_outcome"]
        either = {"tampered", "not_resolved"} if outcome == "tampered_or_not_resolved" else {outcome}
        if (key := (row["instance_id"], row["model_name_or_path"])) in candidates:
            expected[key] = either | set(row.get("accepted_outcomes", ()))
    files = {"tasks.jsonl": tasks.values(), "predictions.jsonl": candidates.values()}
    return {name: "".join(json.dumps(row) + "\n" for row in rows) for name, rows in files.items()}, expected


def test_real_tasks_by_ray_in_pods(helm: Any, namespace: Namespace, tmp_path: Path) -> None:
    """Every verdict as expected, and no candidate's pod is left."""
    image, _, tag = named("PARSIMONY_GRADER_IMAGE").rpartition(":")
    files, expected = inputs(Path(named("PARSIMONY_TASKS")))
    config = {
        "name": "real", "tasks": "tasks.jsonl", "predictions": ["predictions.jsonl"], "limits": {"cpus": 0.5},
        "sandbox": {"kind": "kubernetes", "pull_policy": "IfNotPresent"},
    }  # fmt: skip
    values = {
        "mode": "plain", "image": {"repository": image, "tag": tag}, "persistence": {"existingClaim": VOLUME},
        "sweep": {"name": "real", "config": config, "files": files}, "toolbox": {"enabled": True},
        "head": {"resources": SMALL, "podDisruptionBudget": False}, "driver": {"resources": SMALL},
        "workers": {"replicas": 2, "resources": SMALL},
    }  # fmt: skip
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    done = helm.template("", "--namespace", namespace.name, "--values", str(tmp_path / "values.yaml"))
    assert done.returncode == 0, done.stderr
    objects = [item for item in yaml.safe_load_all(done.stdout) if item]
    objects = [item for item in objects if "helm.sh/hook" not in item["metadata"].get("annotations", {})]
    later = [item for item in objects if item["kind"] in {"Deployment", "Job"}]
    namespace.apply(*(item for item in objects if item not in later))
    (head,) = (item["metadata"]["name"] for item in objects if item["kind"] == "StatefulSet")
    namespace.apply(*later, head=(f"{head}:6379", f"{namespace.ready_address(f'{head}-0')}:6379"))
    (job,) = (item["metadata"]["name"] for item in later if item["kind"] == "Job")
    namespace("wait", f"job/{job}", "--for=condition=Complete", "--timeout=1200s")
    (toolbox,) = (item["metadata"]["name"] for item in later if "toolbox" in item["metadata"]["name"])
    text = namespace("exec", f"deployment/{toolbox}", "--", "cat", "/data/runs/real/outcomes.jsonl")
    outcomes = {(row["task_id"], row["arm"]): row["outcome"] for row in map(json.loads, text.splitlines())}
    assert outcomes.keys() == expected.keys()
    assert {key: found for key, found in outcomes.items() if found not in expected[key]} == {}
    candidates = [pod for pod in namespace.pods() if "parsimony.dev/run" in pod["metadata"]["labels"]]
    assert candidates == []
