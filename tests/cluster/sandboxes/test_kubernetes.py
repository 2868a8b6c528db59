"""What only a real cluster can show."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.sandboxes import container_config, labels
from parsimony.errors import Evicted, ImagePullFailed, PermanentError, SandboxUnavailable
from parsimony.execution import MIB, Ending, ExecutionRequest, SandboxResult
from tests.cluster.sandboxes.conftest import RUN, Bench, _kubernetes, opened, until

pytestmark = pytest.mark.kubernetes


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    yield from opened("kubernetes", request, tmp_path)


def api(bench: Bench) -> Any:
    return bench.sandbox._api  # type: ignore[attr-defined]


def running(bench: Bench, name: str) -> bool:
    """Whether the candidate's container runs."""
    statuses = ((api(bench).get(name) or {}).get("status", {})).get("containerStatuses") or ()
    return any(status["name"] == "candidate" and "running" in status["state"] for status in statuses)


@contextlib.contextmanager
def optioned(bench: Bench, **options: Any) -> Iterator[None]:
    """The bench's sandbox with other options for a while."""
    sandbox = bench.sandbox
    before = sandbox._cluster  # type: ignore[attr-defined]
    sandbox._cluster = replace(before, options=replace(before.options, **options))  # type: ignore[attr-defined]
    yield
    sandbox._cluster = before  # type: ignore[attr-defined]


def test_a_child_killed_for_memory_is_seen(bench: Bench) -> None:
    result = bench.run("tail /dev/zero; echo went on; exit 3", memory_bytes=64 * MIB)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 3)
    assert result.memory_kills >= 1
    assert "memory" in result.notes[0]
    assert result.log.head.endswith(b"went on\n")


def test_what_root_can_and_cannot(bench: Bench) -> None:
    result = bench.run(
        """
        grep -E '^Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status
        ulimit -c; ulimit -n
        mount -t tmpfs none /mnt 2>/dev/null && echo mounted
        mknod "$PARSIMONY_WORK/device" b 8 0 2>/dev/null && echo made
        touch /.parsimony-wire/x 2>/dev/null && echo written
        ls /.parsimony-wire
        env | grep -c KUBERNETES
        stat -c '%U %a' "$PARSIMONY_IN" "$PARSIMONY_IN/deep" "$PARSIMONY_IN/deep/x" "$PARSIMONY_OUT"
        sh -c 'kill -INT $$; echo survived'; echo "interrupted $?"
        """,
        files={"deep/x": b""},
    )
    kept = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7))
    assert result.log.head.decode().split("\n") == [
        *(f"Cap{kind}:\t{kept:016x}" for kind in ("Prm", "Eff", "Bnd")),
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "0",
        str(container_config.OPEN_FILES),
        "0",
        *("root 755", "root 755", "root 644", "root 1777"),
        "interrupted 130",  # a candidate's SIGINT is not ignored, as it would be in a shell's background
        "",
    ]


HUNT = r"""
{
  env
  for process in /proc/[0-9]*; do
    tr '\0' '\n' <$process/environ; tr '\0' ' ' <$process/cmdline; ls -l $process/fd
  done
  cat /proc/self/mountinfo /dev/termination-log
  find / -xdev \( -name proc -o -name sys \) -prune -o -type f -newer /proc/1/cmdline -print 2>/dev/null
  ls -laR /parsimony /.parsimony-wire /var/run/secrets /run/secrets
  grep -rs -a -e '"token"' -e PARSIMONY_COURIER /parsimony /.parsimony-wire /tmp /run /var/run /dev/shm
} >/tmp/found 2>/dev/null
cp /tmp/found "$PARSIMONY_OUT/found"
"""


def test_the_candidate_cannot_find_the_token(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    post = bench.sandbox._cluster.post  # type: ignore[attr-defined]
    given: list[str] = []
    real = post.ticket

    def noting(name: str, ticket: Any) -> Any:
        given.append(ticket.token)
        return real(name, ticket)

    monkeypatch.setattr(post, "ticket", noting)
    found = bench.run(HUNT).outputs["found"]
    assert b"PARSIMONY_OUT=" in found  # it did look
    [token] = given
    assert token.encode() not in found
    assert b"PARSIMONY_COURIER" not in found.replace(b"-e PARSIMONY_COURIER", b"")
    assert b"serviceaccount" not in found


def test_a_neighbour_in_the_network_gets_nothing(bench: Bench) -> None:
    """What a candidate could send to the agent, which it can reach where no policy forbids it, is refused."""
    cluster = bench.sandbox._cluster  # type: ignore[attr-defined]
    ask = 'printf "GET /$HOSTNAME/inbox HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3'
    request = bench.request(f"exec 3<>/dev/tcp/{cluster.host}/{cluster.post.port}; {ask}")
    request = replace(request, command=("/bin/bash", *request.command[1:]), files={"secret": b"of the inbox"})
    result = bench.do(bench.sandbox.run(request))
    assert b" 410 " in result.log.head
    assert b"of the inbox" not in result.log.head


def test_deleted_from_outside_is_no_verdict(bench: Bench) -> None:
    request = bench.request("sleep 60")

    async def deleted() -> None:
        work = asyncio.ensure_future(bench.sandbox.run(request))
        await until(lambda: running(bench, request.name))
        api(bench).delete(request.name, None, 1)
        with pytest.raises(Evicted):
            await work

    bench.do(deleted())


def test_replaced_under_its_name_is_no_verdict(bench: Bench) -> None:
    request = bench.request("sleep 60")

    async def replaced() -> None:
        work = asyncio.ensure_future(bench.sandbox.run(request))
        await until(lambda: running(bench, request.name))
        api(bench).delete(request.name, None, 0)
        bench.abandon(request.name, {"someone": "else"})
        with pytest.raises(Evicted):
            await work
        await bench.sandbox.close()
        assert request.name in bench.standing()  # the other one is not ours to remove
        bench.forget(request.name)

    bench.do(replaced())


def test_a_candidate_that_kills_whoever_watches_it_still_meets_its_deadline(bench: Bench) -> None:
    fight = "for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = 1 ] || [ $p = $$ ] || kill -9 $p; done 2>/dev/null"
    result = bench.run(f"{fight}; echo kept >$PARSIMONY_OUT/kept; while :; do sleep 1; done", timeout_s=1.0)
    assert (result.ending, result.exit_status) == (Ending.DEADLINE, None)
    assert result.outputs == {"kept": b"kept\n"}


def test_images_that_are_not_anywhere(bench: Bench) -> None:
    with pytest.raises(ImagePullFailed, match="cannot be pulled"):
        bench.do(bench.sandbox.environment_digest("localhost:1/nothing:1"))
    with pytest.raises(ImagePullFailed):
        bench.do(bench.sandbox.run(replace(bench.request("exit 0"), image="localhost:1/nothing:1")))
    with optioned(bench, pull_policy="Never"), pytest.raises(ImagePullFailed, match="pull_policy: Never"):
        bench.do(bench.sandbox.run(replace(bench.request("exit 0"), image="localhost:1/nothing:1")))
    with pytest.raises(PermanentError, match="no name of an image"):
        bench.do(bench.sandbox.environment_digest("Not A Reference"))
    with optioned(bench, courier_image="localhost:1/nothing:1"), pytest.raises(ImagePullFailed):
        bench.run("exit 0")


def test_what_a_tag_is_and_what_a_digest_is(bench: Bench) -> None:
    asked = bench.do(bench.sandbox.environment_digest(bench.image))
    assert bench.run("exit 0").image_digest == asked
    pinned = "sha256:" + "a" * 64
    assert bench.do(bench.sandbox.environment_digest(f"task@{pinned}")) == pinned
    bench.sandbox._seen[str(bench.image)] = pinned  # type: ignore[attr-defined]
    with pytest.raises(ImagePullFailed, match="on another"):
        bench.run("exit 0")


def test_no_node_is_told_with_the_schedulers_words(bench: Bench) -> None:
    words = r"had no node after 2 s: Unschedulable: .*node"
    with (
        optioned(bench, node_selector={"nowhere": "to-be"}, pending_s=2.0),
        pytest.raises(SandboxUnavailable, match=words),
    ):
        bench.run("exit 0")


def test_limits_beyond_the_cluster_wait_for_a_node(bench: Bench) -> None:
    with optioned(bench, pending_s=2.0), pytest.raises(SandboxUnavailable, match="Insufficient memory"):
        bench.run("exit 0", memory_bytes=1 << 45)


def test_two_requests_a_pod(bench: Bench) -> None:
    async def five() -> None:
        await asyncio.gather(*(bench.sandbox.run(bench.request("exit 0", cpus=0.1)) for _ in range(5)))
        await bench.sandbox.close()

    bench.do(five())
    made = bench.sandbox.requests  # type: ignore[attr-defined]
    assert (made["create"], made["delete"]) == (5, 5)
    assert sum(made.values()) <= 5 * 6
    assert set(made) <= {"version", "list", "watch", "create", "delete"}


def test_the_driver_dies_and_another_clears_up(kubernetes_image: str) -> None:
    """SIGKILL in the middle of a run: the pod is found by its labels and removed."""
    name, run = f"psm-test-{uuid.uuid4().hex[:12]}", f"dead-{uuid.uuid4().hex[:8]}"
    code = f"""
import asyncio
from cluster.sandboxes.kubernetes.sandbox import KubernetesSandbox
from parsimony.execution import ExecutionRequest
async def main():
    sandbox = await KubernetesSandbox.open(slots=1, courier_cpus=0.0)
    marks = {{{labels.RUN!r}: {run!r}}}
    command = ("/bin/sh", "-c", "sleep 300")
    await sandbox.run(ExecutionRequest("key", {name!r}, command, {{}}, image={kubernetes_image!r}, labels=marks))
asyncio.run(main())
"""
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    with asyncio.Runner() as loop:
        bench = _kubernetes(loop, kubernetes_image)

        async def clear() -> list[str]:
            await until(lambda: running(bench, name))
            driver.kill()
            driver.wait()
            removed = await bench.sandbox.reap(run)
            assert await bench.sandbox.reap(run) == []
            return removed

        try:
            assert loop.run(clear()) == [name]
            assert name not in bench.standing()
        finally:
            driver.kill()
            driver.wait()
            loop.run(bench.sandbox.close())


def test_a_pod_says_whose_it_is(bench: Bench) -> None:
    request = bench.request("sleep 2")

    async def look() -> dict[str, Any]:
        work = asyncio.ensure_future(bench.sandbox.run(request))
        await until(lambda: running(bench, request.name))
        found: dict[str, Any] = api(bench).get(request.name)
        assert (await work).exit_status == 0
        return found

    found = bench.do(look())
    said = found["metadata"]["annotations"]
    assert said[labels.EXECUTION] == request.execution_key
    assert found["metadata"]["labels"][labels.MANAGED_BY] == labels.OURS
    assert found["metadata"]["labels"][labels.RUN] == RUN
    assert found["spec"]["automountServiceAccountToken"] is False
    assert found["status"]["qosClass"] == "Burstable"  # the courier reserves no processor here


@pytest.mark.slow
def test_what_is_written_outside_the_places_is_limited_by_the_kubelet(bench: Bench) -> None:
    script = "i=0; while [ $i -lt 20 ]; do head -c 16000000 /dev/zero >/var/tmp/$i; i=$((i + 1)); done; sleep 200"
    result = bench.run(script, disk_bytes=64 * MIB, timeout_s=240.0)
    assert (result.ending, result.exit_status) == (Ending.DISK_LIMIT, None)


def test_ray_workers_reach_it_by_a_kubeconfig_alone(kubernetes_image: str, tmp_path: Path) -> None:
    """What an agent elsewhere needs is data: a spec that is pickled, and a file."""
    import pickle

    from cluster.agent import SandboxSpec

    config = os.environ.get("PARSIMONY_KUBECONFIG") or os.environ["KUBECONFIG"]
    (tmp_path / "config").write_bytes(Path(config).read_bytes())
    options = {"kubeconfig": tmp_path / "config", "courier_cpus": 0.0}
    spec = pickle.loads(pickle.dumps(SandboxSpec("kubernetes", options)))
    request = ExecutionRequest("k", f"psm-test-{uuid.uuid4().hex[:12]}", ("true",), {}, image=kubernetes_image)

    async def one() -> SandboxResult:
        sandbox = await spec.open(1)
        try:
            result: SandboxResult = await sandbox.run(request)
            return result
        finally:
            await sandbox.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KUBECONFIG", raising=False)
        patch.delenv("PARSIMONY_KUBECONFIG", raising=False)
        assert asyncio.run(one()).exit_status == 0
