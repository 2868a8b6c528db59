"""What a pod is made of."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cluster.sandboxes.kubernetes as package
from cluster.sandboxes import labels
from cluster.sandboxes.container_config import KEPT_CAPABILITIES
from cluster.sandboxes.kubernetes.inside import SCRIPT
from cluster.sandboxes.kubernetes.options import Options
from cluster.sandboxes.kubernetes.pod import (
    AGENT,
    Callback,
    attempt_selector,
    inbox_archive,
    marks,
    pod_manifest,
    probe_manifest,
)
from parsimony.errors import PermanentError
from parsimony.execution import GIB, MIB, ExecutionRequest, Limits

REQUEST = ExecutionRequest(
    execution_key="sha256:" + "e" * 64,
    name="psm-one",
    command=("/bin/sh", "-c", "echo $$ $(HOME) ${x}"),
    files={"f": b"x" * 1000},
    image="task:1",
    environment={"PRICE": "$$5 $(TZ)"},
    limits=Limits(timeout_s=100, overhead_s=20, cpus=1.5, memory_bytes=GIB, disk_bytes=20 * GIB),
    labels={labels.RUN: "run-1", labels.ATTEMPT: "2"},
)
CALLBACK = Callback("10.0.0.1", 4000, "the-token")


def made(request: ExecutionRequest = REQUEST, **options: Any) -> dict[str, Any]:
    return pod_manifest(request, Options(**options), CALLBACK, agent="agent-1", now=1000.0)


def parts(manifest: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    spec = manifest["spec"]
    [fetch] = spec["initContainers"]
    courier, candidate = spec["containers"]
    return fetch, courier, candidate


def test_the_baseline() -> None:
    spec = made()["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert not any(spec[name] for name in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"))
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert (spec["restartPolicy"], spec["dnsPolicy"]) == ("Never", "None")
    assert spec["activeDeadlineSeconds"] > 120
    for container in parts(made()):
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
        assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"]
    assert all(set(volume) == {"name", "emptyDir"} for volume in spec["volumes"])
    assert parts(made())[2]["securityContext"]["capabilities"]["add"] == list(KEPT_CAPABILITIES)


def test_the_token_is_in_two_containers_and_nowhere_else() -> None:
    manifest = made()
    fetch, courier, candidate = parts(manifest)
    assert "the-token" in json.dumps(fetch["env"])
    assert "the-token" in json.dumps(courier["env"])
    assert "the-token" not in json.dumps(candidate)
    assert json.dumps(manifest).count("the-token") == 2


def test_limits_are_reserved_but_for_a_disk_that_no_node_has() -> None:
    resources = parts(made())[2]["resources"]
    assert resources["limits"] == {"cpu": "1500m", "memory": str(GIB), "ephemeral-storage": str(20 * GIB)}
    assert resources["requests"] == {**resources["limits"], "ephemeral-storage": str(8 * GIB)}
    usual = replace(REQUEST, limits=Limits())
    resources = parts(made(usual))[2]["resources"]
    assert resources["requests"] == resources["limits"]


def test_dollars_come_through_as_they_are() -> None:
    candidate = parts(made())[2]
    # By the API's rule: `$$` is `$`, `$(NAME)` is replaced; nothing else is special.
    arrived = [re.sub(r"\$\$", "$", word) for word in candidate["command"]]
    assert not any(re.search(r"(?<!\$)(\$\$)*\$\(", word) for word in candidate["command"])
    assert arrived[2] == SCRIPT
    assert arrived[-1] == REQUEST.command[-1]
    price = next(entry["value"] for entry in candidate["env"] if entry["name"] == "PRICE")
    assert price == "$$$$5 $$(TZ)"


def test_labels_that_cannot_be_labels_are_annotations() -> None:
    metadata = made()["metadata"]
    assert metadata["labels"][labels.RUN] == "run-1"
    assert metadata["labels"][AGENT] == "agent-1"
    assert re.fullmatch(r"[0-9a-f]{32}", metadata["labels"][labels.EXECUTION])
    assert metadata["annotations"][labels.EXECUTION] == REQUEST.execution_key
    odd = "run with spaces"
    assert marks("x", {labels.RUN: odd})["labels"][labels.RUN] in attempt_selector(odd)
    assert attempt_selector("run-1") == f"{labels.MANAGED_BY}={labels.OURS},{labels.RUN}=run-1"


def test_what_waits_for_a_node_does_not_expire() -> None:
    patient, hasty = (made(pending_s=seconds)["metadata"]["annotations"][labels.EXPIRES] for seconds in (5000.0, 50.0))
    assert int(patient) - int(hasty) == 4950
    assert int(hasty) > 1000 + 50 + Options().start_s + REQUEST.limits.deadline_s


def test_what_a_cluster_asks_for() -> None:
    spec = made(
        image_pull_secrets=("one", "two"),
        runtime_class="gvisor",
        priority_class="low",
        node_selector={"pool": "graders"},
        tolerations=({"key": "spot", "operator": "Exists"},),
        host_users=False,
        pull_policy="Never",
        courier_cpus=0.0,
    )["spec"]
    assert spec["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]
    assert (spec["runtimeClassName"], spec["priorityClassName"], spec["hostUsers"]) == ("gvisor", "low", False)
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"pool": "graders"}, [{"key": "spot", "operator": "Exists"}])
    assert {container["imagePullPolicy"] for container in (*spec["initContainers"], *spec["containers"])} == {"Never"}
    assert spec["containers"][0]["resources"]["requests"]["cpu"] == "0"
    bare = made()["spec"]
    assert not {"runtimeClassName", "priorityClassName", "hostUsers"} & set(bare)


def test_with_a_network_there_are_names() -> None:
    spec = made(replace(REQUEST, limits=replace(REQUEST.limits, network=True)))["spec"]
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert "dnsConfig" not in spec


def test_what_is_no_unicode_is_refused() -> None:
    with pytest.raises(PermanentError, match="no Unicode"):
        made(replace(REQUEST, environment={"X": "\udcff"}))


def test_a_probe_runs_nothing_of_a_candidate() -> None:
    manifest = probe_manifest("psm-p", "task:1", Options(), agent="a", found={labels.MANAGED_BY: labels.OURS})
    [container] = manifest["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c", "exit 0"]
    assert "volumeMounts" not in container
    assert manifest["spec"]["automountServiceAccountToken"] is False


def test_the_inbox_has_its_places() -> None:
    with tarfile.open(fileobj=io.BytesIO(inbox_archive({"a/b/c": b"x"}))) as packed:
        names = packed.getnames()
    assert names == ["in", "out", "work", "in/a", "in/a/b", "in/a/b/c"]


def test_the_fetched_inbox_is_the_inbox(tmp_path: Path) -> None:
    """The courier's own unpacking, in a process of its own, as in a pod."""
    path = Path(str(package.__file__)).with_name("inpod") / "courier.py"
    source = path.read_text("utf-8").replace('ROOT, WIRE = "/parsimony"', f'ROOT, WIRE = "{tmp_path}"')
    source = source.replace("    main(sys.argv[1])", "    os.umask(0); unpack(sys.stdin.buffer.read())")
    files = {"\u00fc/\u4e2d.txt": b"\xff\x00", "run.sh": b"#!/bin/sh\n", "big": b"x" * MIB, "empty": b""}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source], input=inbox_archive(files), env={"LC_ALL": "C.UTF-8"}, check=False
    )
    assert done.returncode == 0
    assert {
        str(p.relative_to(tmp_path / "in")): p.read_bytes() for p in (tmp_path / "in").rglob("*") if p.is_file()
    } == files
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "in" / "run.sh").stat().st_mode & 0o777 == 0o755
