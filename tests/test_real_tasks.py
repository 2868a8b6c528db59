"""Real tasks in real images: every candidate of two of them gets its known verdict, cheats included."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.docker
@pytest.mark.shared
@pytest.mark.parametrize(
    ("task", "image"), [("flask", "given/flask-4992:1"), ("secure-json", "given/secure-json-parse-142:1")]
)
def test_known_verdicts(task: str, image: str) -> None:
    """`scripts/verify_tasks.py` does the same for all tasks, engines and numbers of workers."""
    folder = os.environ.get("PARSIMONY_TASKS")
    if not folder:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    if subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode:
        pytest.skip(f"no Docker Engine here that has the image {image}")
    command = [sys.executable, "scripts/verify_tasks.py", folder, "--runs", "1", "--workers", "2", "--engines", "local"]
    done = subprocess.run([*command, "--only", task], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 of 20 as expected" in done.stdout
    assert "0 containers left" in done.stdout


@pytest.mark.kubernetes
@pytest.mark.shared
def test_known_verdicts_in_pods(tmp_path: Path) -> None:
    """The same verdicts as in containers; the node must have the task's image."""
    folder = os.environ.get("PARSIMONY_TASKS")
    if not folder:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    if not (os.environ.get("PARSIMONY_KUBECONFIG") or os.environ.get("KUBECONFIG")):
        pytest.skip("neither PARSIMONY_KUBECONFIG nor KUBECONFIG names a Kubernetes cluster")
    choice = tmp_path / "cluster.yaml"
    choice.write_text("courier_cpus: 0\npull_policy: Never\npending_s: 240\n")
    command = [sys.executable, "scripts/verify_tasks.py", folder, "--runs", "1", "--workers", "2", "--engines", "local"]
    command += ["--sandbox", "kubernetes", "--only", "flask"]
    environment = {**os.environ, "PARSIMONY_KUBERNETES": str(choice)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 of 20 as expected" in done.stdout
    assert "0 pods left" in done.stdout
