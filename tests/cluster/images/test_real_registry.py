"""With the reference registry (distribution), where its binary is here: push, pin, pull by digest, grade by digest."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.imagelock import read_lock
from cluster.plan import load
from cluster.sweep import Sweep
from parsimony import cli
from tests.cluster.images.test_pinning import parsimony, rows
from tests.cluster.images.test_verify import row as real_row

row = real_row
CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {root}}}}}
http: {{addr: "{address}"}}
log: {{level: error}}
"""


@pytest.fixture
def distribution(tmp_path: Path) -> Iterator[str]:
    """HOST:PORT of a registry of the test's own."""
    binary = os.environ.get("PARSIMONY_REGISTRY") or shutil.which("registry")
    if binary is None:
        pytest.skip("PARSIMONY_REGISTRY does not name the registry's binary (docs/images.md says how to build it)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "config.yml").write_text(CONFIG.format(root=tmp_path / "blobs", address=address))
    server = subprocess.Popen(
        [binary, "serve", str(tmp_path / "config.yml")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://{address}/v2/", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, "the registry does not start"
                time.sleep(0.1)
        yield address
    finally:
        server.kill()
        server.wait()


@pytest.mark.docker
@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_from_push_to_a_grading_by_digest(
    distribution: str,
    row: dict[str, Any],
    engine: Any,
    own_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PARSIMONY_STATE", str(tmp_path / "state"))
    name = f"{distribution}/{own_name}:1"
    engine.tag(row["image"], f"{distribution}/{own_name}", "1")
    pushed = [json.loads(line) for line in engine.push(name).splitlines()]
    assert not any("error" in step for step in pushed)
    engine.remove_image(name)
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({**row, "image": name}) + "\n")

    assert parsimony(monkeypatch, capsys, "pin", tasks, "--from", "registry")[0] == cli.DONE
    locked = read_lock(tmp_path / "images.lock.json").of(name)
    assert (locked.source, locked.packed) == ("registry", True)
    status, planned = parsimony(monkeypatch, capsys, "plan", tasks)
    assert (planned["pulls"], planned["here"]) == ({"least": 1, "most": 1}, 0)
    blobs = sum(path.stat().st_size for path in (tmp_path / "blobs").rglob("data"))
    assert 0 < planned["sent_bytes_per_node"]["most"] < blobs < planned["sent_bytes_per_node"]["most"] + 100_000

    status, found = parsimony(monkeypatch, capsys, "prefetch", tasks)
    assert (status, found["images"][0]["state"]) == (cli.DONE, "pulled")
    assert found["images"][0]["reference"] == f"{distribution}/{own_name}@{locked.digest}"
    status, found = parsimony(monkeypatch, capsys, "verify", tasks)
    assert (status, found["tasks"][0]["checks"]["gold"]["verdict"]) == (cli.DONE, "pass")

    # The tag moves in the registry: the pin does not.
    engine.tag("debian:bookworm-slim", f"{distribution}/{own_name}", "1", force=True)
    engine.push(name)
    engine.remove_image(name)
    status, found = parsimony(monkeypatch, capsys, "verify", tasks, "--no-grade")
    assert (status, found["tasks"][0]["lock"]) == (cli.DONE, "here")
    sweep = Sweep.model_validate(
        {"tasks": {"file": tasks}, "predictions": ["x"], "images_lock": tmp_path / "images.lock.json"}
    )
    inputs = load(sweep.resolved(tmp_path), with_candidates=False)
    assert [task.image for task in inputs.tasks.values()] == [f"{distribution}/{own_name}@{locked.digest}"]
    status, found = parsimony(monkeypatch, capsys, "pin", tasks, "--from", "registry")
    assert found["changed"][name][0] == locked.digest


@pytest.mark.docker
@pytest.mark.slow
def test_what_the_registry_does_not_have(
    distribution: str, engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = rows(tmp_path / "tasks.jsonl", one=f"{distribution}/nobody/has:1")
    status, found = parsimony(monkeypatch, capsys, "prefetch", tasks)
    assert (status, found["images"][0]["tries"]) == (cli.NO, 1)
    assert "push it" in found["images"][0]["text"]
