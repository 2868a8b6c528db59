"""What only a real Docker Engine can show."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import subprocess
import sys
import tarfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from cluster.sandboxes import container_config, labels, shell
from cluster.sandboxes.docker import DockerEngine, DockerSandbox, digest_of
from parsimony.errors import Evicted, ImagePullFailed, PermanentError, SandboxUnavailable
from parsimony.execution import MIB, Ending, ExecutionRequest
from tests.cluster.sandboxes.conftest import RUN, Bench, opened, until

pytestmark = pytest.mark.docker


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    yield from opened("docker", request, tmp_path)


@pytest.fixture
def client(docker_image: str) -> Iterator[Any]:
    with contextlib.closing(docker.APIClient()) as made:
        yield made


def test_a_child_killed_for_memory_is_seen(bench: Bench) -> None:
    result = bench.run("tail /dev/zero; echo went on; exit 3", memory_bytes=64 * MIB)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 3)
    assert result.memory_kills == 1
    assert "memory" in result.notes[0]
    assert result.log.head.endswith(b"went on\n")


def test_what_root_can_and_cannot(bench: Bench) -> None:
    result = bench.run(
        """
        grep -E '^Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status
        [ "$(cat /proc/1/comm)" = docker-init ] || cat /proc/1/comm
        ulimit -c; ulimit -n; cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null
        mount -t tmpfs none /mnt 2>/dev/null && echo mounted
        mknod "$PARSIMONY_WORK/device" b 8 0 2>/dev/null && echo made
        stat -c '%U %a' "$PARSIMONY_IN" "$PARSIMONY_IN/deep" "$PARSIMONY_IN/deep/x" "$PARSIMONY_OUT"
        """,
        files={"deep/x": b""},
        pids=50,
    )
    kept = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7))
    assert result.log.head.decode().split("\n") == [
        *(f"Cap{kind}:\t{kept:016x}" for kind in ("Prm", "Eff", "Bnd")),
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "0",
        str(container_config.OPEN_FILES),
        str(50 + shell.HELPERS),
        *("root 755", "root 755", "root 644", "root 1777"),
        "",
    ]


def test_the_number_of_processes_is_limited(bench: Bench) -> None:
    script = 'n=0; while [ $n -lt 40 ]; do sleep 5 & n=$((n + 1)); done 2>/dev/null; ls /proc | grep -c "^[0-9]"'
    result = bench.run(f"({script}) 2>/dev/null", pids=20)
    assert result.exit_status != 0 or int(result.log.head) <= 20 + shell.HELPERS


def test_killed_from_outside_is_no_verdict(bench: Bench, client: Any) -> None:
    request = bench.request("sleep 30")

    async def killed(how: str) -> None:
        work = asyncio.ensure_future(bench.sandbox.run(request))
        await until(lambda: _running(client, request.name))
        if how == "kill":
            client.kill(request.name)
        else:
            client.remove_container(request.name, force=True)
        with pytest.raises(Evicted):
            await work

    bench.do(killed("kill"))
    bench.do(killed("remove"))


def _running(client: Any, name: str) -> bool:
    try:
        return bool(client.inspect_container(name)["State"]["Running"])
    except docker.errors.NotFound:
        return False


def test_a_container_ends_itself_when_nobody_else_does(docker_image: str, client: Any) -> None:
    name = f"psm-test-{uuid.uuid4().hex[:12]}"
    command = shell.wrapped(("/bin/sh", "-c", "trap '' TERM; (setsid sleep 99 &); sleep 99"), life_s=0.5, record="/r")
    client.create_container_from_config(
        {"Image": docker_image, "Entrypoint": command, "HostConfig": {"NetworkMode": "none", "Init": True}}, name
    )
    try:
        client.start(name)
        assert client.wait(name, timeout=30)["StatusCode"] == 137
    finally:
        client.remove_container(name, force=True)


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        (
            {
                "memory.peak": "1234\n",
                "cpu.stat": "usage_usec 5000\nuser_usec 1\n",
                "memory.events": "oom 3\noom_kill 2\n",
            },
            shell.Record(1234, 0.005, 2),
        ),
        (
            {
                "memory/memory.max_usage_in_bytes": "77\n",
                "cpuacct/cpuacct.usage": "2000000\n",
                "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            },
            shell.Record(77, 0.002, 1),
        ),
        ({"cpu.stat": "nr_periods 0\n"}, shell.Record()),
    ],
    ids=["cgroup 2", "cgroup 1", "neither"],
)
def test_counters_of_either_kind(
    docker_image: str, client: Any, tmp_path: Path, counters: dict[str, str], expected: shell.Record
) -> None:
    for name, text in counters.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    tmp_path.chmod(0o755)
    name = f"psm-test-{uuid.uuid4().hex[:12]}"
    command = shell.wrapped(("/bin/sh", "-c", "exit 9"), life_s=60, record="/dev/stdout")
    host = {"NetworkMode": "none", "Init": True, "Binds": [f"{tmp_path}:/sys/fs/cgroup:ro"]}
    client.create_container_from_config({"Image": docker_image, "Entrypoint": command, "HostConfig": host}, name)
    try:
        client.start(name)
        assert client.wait(name, timeout=30)["StatusCode"] == 9
        assert shell.parse_record(client.logs(name)) == expected
    finally:
        client.remove_container(name, force=True)


def test_the_driver_dies_and_another_clears_up(docker_image: str, client: Any) -> None:
    """SIGKILL in the middle of a run: the container goes on, and is found by its labels and removed."""
    name, run = f"psm-test-{uuid.uuid4().hex[:12]}", f"dead-{uuid.uuid4().hex[:8]}"
    code = f"""
import asyncio
from cluster.sandboxes.docker import DockerSandbox
from parsimony.execution import ExecutionRequest
async def main():
    sandbox = await DockerSandbox.open(slots=1)
    await sandbox.run(ExecutionRequest("key", {name!r}, ("/bin/sh", "-c", "sleep 300"), {{}}, image={docker_image!r},
                                       labels={{{labels.RUN!r}: {run!r}}}))
asyncio.run(main())
"""
    driver = subprocess.Popen([sys.executable, "-c", code])

    async def clear() -> list[str]:
        await until(lambda: _running(client, name))
        driver.kill()
        driver.wait()
        sandbox = await DockerSandbox.open(slots=1)
        assert _running(client, name)
        removed = await sandbox.reap(run)
        assert await sandbox.reap(run) == []
        await sandbox.close()
        return removed

    try:
        assert asyncio.run(clear()) == [name]
        assert not _running(client, name)
    finally:
        driver.kill()
        driver.wait()


def test_removal_is_off_the_critical_path(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = bench.sandbox._engine  # type: ignore[attr-defined]
    real, removing = engine.remove, asyncio.Event()

    def slow(container: str) -> None:
        removing.set()
        time.sleep(0.5)
        real(container)

    monkeypatch.setattr(engine, "remove", slow)
    request = bench.request("exit 0")

    async def run() -> None:
        await bench.sandbox.run(request)
        assert request.name in bench.standing()
        await until(removing.is_set)
        await bench.sandbox.close()

    bench.do(run())


# ---- images and engines that are not there


def test_an_image_that_is_not_anywhere(bench: Bench) -> None:
    with pytest.raises(ImagePullFailed, match="cannot be pulled"):
        bench.do(bench.sandbox.environment_digest("localhost:1/nothing:1"))
    with pytest.raises(ImagePullFailed):
        bench.do(bench.sandbox.run(replace(bench.request("exit 0"), image="localhost:1/nothing:1")))
    with pytest.raises(PermanentError, match="cannot be pulled"):
        bench.do(bench.sandbox.environment_digest("sha256:" + "0" * 64))
    with pytest.raises(PermanentError):
        bench.do(bench.sandbox.environment_digest("Not A Reference"))


def test_the_images_that_are_here(bench: Bench) -> None:
    here = bench.do(bench.sandbox.images())  # type: ignore[attr-defined]
    assert bench.image in here
    assert not any("<none>" in name for name in here)


def test_an_image_without_a_shell(bench: Bench, client: Any) -> None:
    tag = f"parsimony-test-{uuid.uuid4().hex[:8]}"
    empty = io.BytesIO()
    with tarfile.open(fileobj=empty, mode="w") as layer:
        layer.addfile(tarfile.TarInfo("nothing"))
    client.import_image_from_data(empty.getvalue(), repository=tag, tag="1")
    try:
        with pytest.raises(PermanentError, match="/bin/sh"):
            bench.do(bench.sandbox.run(replace(bench.request("exit 0"), image=f"{tag}:1")))
    finally:
        bench.do(bench.sandbox.close())
        client.remove_image(f"{tag}:1", force=True)


def test_an_image_that_goes_away_between_two_runs(bench: Bench, client: Any) -> None:
    tag = f"parsimony-test-{uuid.uuid4().hex[:8]}:1"
    client.tag(bench.image, tag.partition(":")[0], "1")
    request = replace(bench.request("exit 0"), image=tag)
    assert bench.do(bench.sandbox.run(request)).exit_status == 0
    client.remove_image(tag)
    # By content it is still here: what was looked up stays good.
    assert bench.do(bench.sandbox.run(replace(request, name=request.name + "-2"))).exit_status == 0


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # the SDK drops a socket that could not connect
def test_an_engine_that_is_away() -> None:
    with pytest.raises(SandboxUnavailable, match="is the Docker Engine up"):
        asyncio.run(DockerSandbox.open(slots=1, base_url="unix:///nonexistent/docker.sock"))
    gc.collect()


def test_limits_beyond_the_machine_are_no_error(bench: Bench) -> None:
    assert bench.run("exit 0", cpus=64.0, memory_bytes=1 << 40).exit_status == 0


def test_limits_that_cannot_be_are_permanent(bench: Bench) -> None:
    with pytest.raises(PermanentError, match="memory"):
        bench.run("exit 0", memory_bytes=1 << 20)


@pytest.mark.parametrize(
    ("reference", "digests", "expected"),
    [
        ("repo@sha256:aa", ["repo@sha256:bb"], "sha256:aa"),
        ("repo:1", ["repo@sha256:bb"], "sha256:bb"),
        ("host:5000/repo", ["a@sha256:cc", "host:5000/repo@sha256:bb"], "sha256:bb"),
        ("renamed:1", ["b@sha256:cc", "a@sha256:bb"], "sha256:bb"),
        ("local:1", [], "sha256:id"),
        ("local:1", None, "sha256:id"),
    ],
)
def test_which_digest_counts(reference: str, digests: list[str] | None, expected: str) -> None:
    assert digest_of(reference, {"Id": "sha256:id", "RepoDigests": digests}) == expected


def test_the_engine_keeps_none_of_the_output(bench: Bench, client: Any) -> None:
    request = bench.request("echo said; sleep 1")

    async def look() -> None:
        work = asyncio.ensure_future(bench.sandbox.run(request))
        await until(lambda: _running(client, request.name))
        found = client.inspect_container(request.name)
        assert found["HostConfig"]["LogConfig"]["Type"] == "none"
        assert (
            found["Config"]["Labels"].items()
            >= {
                labels.MANAGED_BY: labels.OURS,
                labels.RUN: RUN,
                labels.EXECUTION: request.execution_key,
            }.items()
        )
        assert (await work).log.head == b"said\n"

    bench.do(look())


def test_executions_are_made_from_the_image_by_content(bench: Bench) -> None:
    engine = DockerEngine(1)
    image = engine.image(str(bench.image))
    engine.close()
    request = ExecutionRequest("k", "n", ("true",), {}, image=bench.image)
    config = container_config.container_config(request, image.id, now=0.0, disk_quota=True)
    assert config["Image"] == image.id
    assert image.id.startswith("sha256:")
