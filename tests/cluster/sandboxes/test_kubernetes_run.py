"""The life of a pod against an API in memory, with the courier's own code at the other end of a real connection."""

from __future__ import annotations

import http.client
import importlib.util
import io
import json
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import cluster.sandboxes.kubernetes as package
from cluster.sandboxes import archive
from cluster.sandboxes.kubernetes import cluster as cluster_module
from cluster.sandboxes.kubernetes import run as run_module
from cluster.sandboxes.kubernetes.bucket import Bucket
from cluster.sandboxes.kubernetes.calls import QuotaFull, Throttled
from cluster.sandboxes.kubernetes.cluster import Cluster
from cluster.sandboxes.kubernetes.options import Options
from cluster.sandboxes.kubernetes.post import ChunkedBody, PostOffice, Ticket, receive
from cluster.sandboxes.kubernetes.run import PodRun
from cluster.sandboxes.kubernetes.watch import PodWatch
from cluster.sandboxes.ownership import own_labels
from cluster.sandboxes.workers import Aborted
from parsimony.errors import Evicted, NodeLost, PermanentError, SandboxUnavailable
from parsimony.execution import MIB, Ending, ExecutionRequest, Limits, SandboxResult
from tests.cluster.sandboxes.kubernetes_fake import FakeApi

NAME = "psm-one"
REQUEST = ExecutionRequest(
    execution_key="sha256:one",
    name=NAME,
    command=("/bin/sh", "-c", "true"),
    files={"a/b": b"\x00\xff", "run.sh": b"#!/bin/sh\n"},
    image="task:1",
    limits=Limits(timeout_s=60, overhead_s=0, memory_bytes=64 * MIB, artifact_bytes=MIB),
)


def _courier() -> Any:
    path = Path(str(package.__file__)).with_name("inpod") / "courier.py"
    spec = importlib.util.spec_from_file_location("courier_in_pod", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


courier = _courier()


@dataclass
class Stage:
    """A run under way, and what plays the rest of the world."""

    api: FakeApi
    cluster: Cluster
    run: PodRun
    future: Future[SandboxResult]

    def agent(self) -> Any:
        """The courier's connection."""
        assert self.api.created.wait(10)
        return courier.Agent(self.api.settings(NAME))

    def begin(self) -> Any:
        """Up to the candidate's first line."""
        agent = self.agent()
        self.api.place(NAME)
        agent.ask("inbox")
        self.api.change(NAME, initContainerStatuses=[_ended("fetch", 0, "Completed")])
        agent.ask("started", "POST", b"{}")
        return agent

    def end(self, code: int, reason: str = "Error") -> None:
        """The candidate's container ends."""
        self.api.change(NAME, containerStatuses=[_ended("candidate", code, reason)])

    def deliver(self, agent: Any, ending: str = "exited", files: dict[str, bytes] | None = None) -> None:
        """Wait for the order to collect, and bring a result."""
        while json.loads(agent.ask("orders", "POST", b"{}")[1])["do"] != "collect":
            pass
        packed = archive.pack({f"out/{name}": data for name, data in (files or {}).items()}, {"out": 0o755})
        about = {"ending": ending, "head": 5, "tail": 0, "total": 5, "seconds": 1.5, "outbox": True}
        agent.send("result", lambda: [json.dumps(about).encode() + b"\n", b"hello", b"", packed])

    def result(self) -> SandboxResult:
        return self.future.result(30)

    def error(self, kind: type[BaseException], match: str | None = None) -> None:
        with pytest.raises(kind, match=match):
            self.result()


def _ended(name: str, code: int, reason: str) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": reason}}
    return {"name": name, "state": state, "imageID": "task@sha256:" + "a" * 64}


@pytest.fixture
def stage() -> Iterator[Callable[..., Stage]]:
    """Starts a run."""
    opened: list[tuple[PodWatch, PostOffice]] = []
    pool = ThreadPoolExecutor(2)

    def start(request: ExecutionRequest = REQUEST, api: FakeApi | None = None, **options: Any) -> Stage:
        api = api or FakeApi()
        post, watch = PostOffice("127.0.0.1", 0), PodWatch(api, "")
        opened.append((watch, post))
        buckets = Bucket(1000, 100), Bucket(1000, 100)
        cluster = Cluster(api, watch, post, Options(**options), "127.0.0.1", "agent-1", *buckets)
        watch.start()
        run = PodRun(cluster, request)
        return Stage(api, cluster, run, pool.submit(run.execute))

    yield start
    for watch, post in opened:
        watch.close()
        post.close()
    pool.shutdown()


def test_from_create_to_result(stage: Callable[..., Stage]) -> None:
    one = stage()
    agent = one.agent()
    headers, data = agent.ask("inbox")
    assert int(headers["Content-Length"]) == len(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as inbox:
        found = {member.name: (member.mode, member.isdir()) for member in inbox}
        file = inbox.extractfile("in/a/b")
        assert file is not None
        assert file.read() == b"\x00\xff"
    assert found["in/run.sh"] == (0o755, False)
    assert (found["out"], found["work"]) == ((0o1777, True), (0o1777, True))
    agent = one.begin()
    one.end(3)
    one.deliver(agent, files={"x": b"y", ".parsimony-usage": b"peak=1000\nmicro=2000\nkills=0\n"})
    result = one.result()
    assert (result.ending, result.exit_status, result.outputs) == (Ending.EXITED, 3, {"x": b"y"})
    assert (result.log.head, result.image_digest) == (b"hello", "sha256:" + "a" * 64)
    assert (result.usage.wall_seconds, result.usage.cpu_seconds, result.usage.peak_memory_bytes) == (1.5, 0.002, 1000)
    assert set(result.phases) == {"queue", "create", "inject", "start", "run", "collect"}
    assert one.api.requests == {"list": 1, "watch": 1, "create": 1}


@pytest.mark.parametrize(
    ("code", "reason", "record", "ending"),
    [
        (137, "OOMKilled", b"", Ending.OUT_OF_MEMORY),
        (137, "Error", b"kills=2\n", Ending.OUT_OF_MEMORY),
        (137, "Error", b"kills=0\n", Ending.EXITED),
        (1, "OOMKilled", b"kills=1\n", Ending.EXITED),
    ],
)
def test_out_of_memory(stage: Callable[..., Stage], code: int, reason: str, record: bytes, ending: Ending) -> None:
    one = stage()
    agent = one.begin()
    one.end(code, reason)
    one.deliver(agent, files={".parsimony-usage": record})
    result = one.result()
    assert result.ending is ending
    assert (result.exit_status is None) == (ending is Ending.OUT_OF_MEMORY)
    assert bool(result.notes) == (ending is Ending.EXITED and result.memory_kills > 0)


def test_what_takes_a_running_pod_away_is_no_verdict(stage: Callable[..., Stage]) -> None:
    one = stage()
    one.begin()
    one.api.change(NAME, phase="Failed", reason="Evicted", message="The node was low on resource: memory. ")
    one.error(Evicted, "low on resource")


def test_a_pod_that_is_deleted(stage: Callable[..., Stage]) -> None:
    one = stage()
    one.begin()
    one.api.vanish(NAME)
    one.error(Evicted, "deleted by someone else")


def test_a_pod_whose_end_was_missed_is_found_missing_in_the_next_list(stage: Callable[..., Stage]) -> None:
    one = stage()
    one.begin()
    one.api.vanish(NAME, tell=False)
    one.api.say(None)
    one.api.say(SandboxUnavailable("broken"))
    one.error(Evicted, "deleted by someone else")


def test_a_pod_that_is_replaced(stage: Callable[..., Stage]) -> None:
    one = stage()
    one.begin()
    other = {**one.api.pods[NAME], "metadata": {"name": NAME, "uid": "another"}}
    one.api.say({"type": "ADDED", "object": other})
    one.api.vanish(NAME)
    one.error(Evicted, "replaced by another one")


def test_a_courier_that_dies(stage: Callable[..., Stage]) -> None:
    one = stage()
    one.begin()
    one.api.change(NAME, containerStatuses=[_ended("courier", 1, "Error")])
    one.error(SandboxUnavailable, "courier ended with 1")


def test_a_pod_that_goes_silent(stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "LOOK_S", 0.05)
    monkeypatch.setattr(run_module, "SILENT_S", 0.2)
    monkeypatch.setattr(run_module, "DYING_S", 0.1)
    one = stage()
    one.begin()
    one.error(NodeLost, "nothing was heard from the pod on node-1")


def test_no_node_in_time(stage: Callable[..., Stage]) -> None:
    one = stage(pending_s=0.3)
    assert one.api.created.wait(10)
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: no cpu"}
    one.api.change(NAME, conditions=[why])
    one.error(SandboxUnavailable, "had no node after 0.3 s: Unschedulable: 0/1 nodes: no cpu")


def test_no_beginning_in_time(stage: Callable[..., Stage]) -> None:
    one = stage(start_s=0.3)
    assert one.api.created.wait(10)
    waits = {"waiting": {"reason": "ContainerCreating", "message": "no volume"}}
    one.api.place(NAME)
    one.api.change(NAME, containerStatuses=[{"name": "candidate", "state": waits}])
    one.error(SandboxUnavailable, "had not begun after 0.3 s.*no volume")


def test_the_clusters_own_deadline_before_the_candidates(stage: Callable[..., Stage]) -> None:
    one = stage()
    one.begin()
    one.api.change(NAME, phase="Failed", reason="DeadlineExceeded")
    one.error(SandboxUnavailable, "took too long to start")


def test_the_clusters_own_deadline_after_the_candidates(stage: Callable[..., Stage]) -> None:
    one = stage(replace(REQUEST, limits=replace(REQUEST.limits, timeout_s=0.1)))
    one.begin()
    time.sleep(0.2)
    one.api.change(NAME, phase="Failed", reason="DeadlineExceeded")
    result = one.result()
    assert (result.ending, result.exit_status, result.outputs) == (Ending.DEADLINE, None, {})


def test_evicted_for_its_own_writing(stage: Callable[..., Stage]) -> None:
    one = stage()
    one.begin()
    message = "Pod ephemeral local storage usage exceeds the total limit of containers 1048576. "
    one.api.change(NAME, phase="Failed", reason="Evicted", message=message)
    result = one.result()
    assert (result.ending, result.exit_status) == (Ending.DISK_LIMIT, None)
    assert "total limit of containers" in result.notes[0]


def test_a_candidate_that_fights_its_deadline(stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "LATE_S", 0.1)
    one = stage(replace(REQUEST, limits=replace(REQUEST.limits, timeout_s=0.1)))
    agent = one.begin()
    one.deliver(agent, "deadline", files={"x": b"y"})
    result = one.result()
    assert (result.ending, result.exit_status, result.outputs) == (Ending.DEADLINE, None, {"x": b"y"})
    assert "while it still ran" in result.notes[0]
    assert NAME not in one.api.pods


def test_abort_before_it_begins_waits_for_nothing(stage: Callable[..., Stage]) -> None:
    one = stage()
    agent = one.agent()
    one.run.abort()
    one.error(Aborted)
    with pytest.raises(courier.GoneError):
        agent.ask("started", "POST", b"{}")  # so that the candidate never gets its word
    assert "delete" not in one.api.requests


def test_abort_of_a_running_candidate_sees_it_dead(stage: Callable[..., Stage]) -> None:
    one = stage()
    agent = one.begin()
    one.run.abort()
    one.error(Aborted)
    assert NAME not in one.api.pods
    with pytest.raises(courier.GoneError):
        agent.ask("orders", "POST", b"{}")


def test_a_command_that_is_not_there(stage: Callable[..., Stage]) -> None:
    one = stage(replace(REQUEST, command=("nothing",)))
    agent = one.begin()
    one.end(127)
    while json.loads(agent.ask("orders", "POST", b"{}")[1])["do"] != "collect":
        pass
    packed = archive.pack({"out/.parsimony-usage": b"missing=1\n"}, {"out": 0o755})
    about = {"ending": "exited", "head": 0, "tail": 0, "total": 0, "seconds": 0.1, "outbox": True}
    agent.send("result", lambda: [json.dumps(about).encode() + b"\n", packed])
    one.error(PermanentError, "no command 'nothing'")


def test_an_api_that_asks_to_come_back_later(stage: Callable[..., Stage]) -> None:
    api = FakeApi()
    api.refuse["create"] = [Throttled(0.05), Throttled(0.05)]
    one = stage(api=api)
    one.begin()
    assert api.requests["create"] == 3
    one.api.vanish(NAME)
    one.error(Evicted)


def test_a_full_quota_is_waited_for(stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "QUOTA_LOOK_S", 0.01)
    api = FakeApi()
    api.refuse["create"] = [QuotaFull("exceeded quota") for _ in range(3)]
    one = stage(api=api)
    one.begin()
    one.api.vanish(NAME)
    one.error(Evicted)
    api.refuse["create"] = [QuotaFull("exceeded quota") for _ in range(10_000)]
    stage(api=api, pending_s=0.1).error(SandboxUnavailable, "exceeded quota")


def test_a_leftover_of_this_attempt_is_removed_and_another_is_not(stage: Callable[..., Stage]) -> None:
    for marks, found in ((own_labels(REQUEST, 0), None), ({"someone": "else"}, PermanentError)):
        api = FakeApi()
        api.create({"metadata": {"name": NAME, "annotations": dict(marks)}, "spec": {"containers": []}})
        api.created.clear()
        one = stage(api=api)
        if found is None:
            one.begin()
            one.api.vanish(NAME)
            one.error(Evicted)
        else:
            one.error(found, "not of this execution")
            assert NAME in api.pods


# ---- the post


def test_only_the_token_opens(stage: Callable[..., Stage]) -> None:
    one = stage()
    settings = one.api.settings(NAME) if one.api.created.wait(10) else {}
    for token in ("", "wrong", settings["token"][:-1], settings["token"] + "x"):
        with pytest.raises(courier.GoneError):
            courier.Agent({**settings, "token": token}).ask("inbox")
    with pytest.raises(courier.GoneError):
        courier.Agent({**settings, "name": "psm-two"}).ask("inbox")
    connection = http.client.HTTPConnection(settings["host"], settings["port"], timeout=10)
    connection.request("GET", f"/{NAME}/inbox")
    assert connection.getresponse().status == 410
    connection.close()
    one.run.abort()
    one.error(Aborted)


def _wire(*pieces: bytes, digest: str | None = None, cut: int | None = None) -> ChunkedBody:
    import hashlib

    whole = b"".join(pieces)
    chunks = b"".join(b"%x\r\n" % len(piece) + piece + b"\r\n" for piece in pieces)
    digest = digest or hashlib.sha256(whole).hexdigest()
    chunks += f"0\r\nParsimony-Digest: {digest}\r\nParsimony-Length: {len(whole)}\r\n\r\n".encode()
    return ChunkedBody(io.BytesIO(chunks[:cut]))


ABOUT = b'{"ending":"exited","head":2,"tail":0,"total":2,"seconds":1,"outbox":true}\n'


def test_a_result_is_whole_or_nothing() -> None:
    packed = archive.pack({"out/x": b"y" * 1000}, {"out": 0o755})
    pieces = (ABOUT, b"hi", packed[:700], packed[700:])
    assert receive(_wire(*pieces), MIB).outbox.files == {"x": b"y" * 1000}
    with pytest.raises(ValueError, match="damaged"):
        receive(_wire(*pieces, digest="0" * 64), MIB)
    whole = len(_wire(*pieces)._source.getvalue())
    for cut in range(0, whole - 1, 37):
        with pytest.raises((EOFError, ValueError, tarfile.TarError)):
            receive(_wire(*pieces, cut=cut), MIB)


def test_an_order_is_heard_by_who_waits_for_it() -> None:
    ticket = Ticket(b"", 0, lambda _: None)
    assert ticket.order(0.01) == "wait"
    results: list[str] = []
    waiting = threading.Thread(target=lambda: results.append(ticket.order(10)))
    waiting.start()
    ticket.collect()
    waiting.join(10)
    assert results == ["collect"]


def test_what_is_called_off_does_not_begin_and_what_has_begun_is_known_to_have() -> None:
    told: list[object] = []
    early, late = Ticket(b"", 0, told.append), Ticket(b"", 0, told.append)
    assert not early.cancel()
    assert not early.begin()
    assert told == []
    assert late.begin()
    assert late.cancel()
    assert len(told) == 1


# ---- the courier's own parts


def test_a_packed_outbox_is_what_the_agent_reads(tmp_path: Path) -> None:
    import os

    out = tmp_path / "out"
    (out / "deep" / "er").mkdir(parents=True)
    (out / "deep" / "er" / "f").write_bytes(b"x" * 5000)
    (out / "empty").write_bytes(b"")
    (out / "link").symlink_to("/etc/passwd")
    os.mkfifo(out / "pipe")
    (out / "z").write_bytes(b"z")
    handle = os.open(out, os.O_RDONLY)
    packed = [*courier.Packer(MIB, 100).folder(handle, "out", 0), bytes(1024)]
    assert archive.unpack(packed, MIB).files == {"deep/er/f": b"x" * 5000, "empty": b"", "z": b"z"}
    assert "2 in the outbox not read" in archive.unpack(packed, MIB).notes[0]
    cut = list(courier.Packer(100, 100).folder(handle, "out", 0))
    assert sum(map(len, cut)) < 1000
    found = archive.unpack([*cut, bytes(1024)], 100)
    assert found.files == {}
    assert "cut" in found.notes[0]
    os.close(handle)


def test_what_lies_on_disk(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "f").write_bytes(b"x" * 100_000)
    (tmp_path / "again").hardlink_to(tmp_path / "deep" / "f")
    assert 100_000 <= courier.used(str(tmp_path)) < 150_000
    assert courier.used(str(tmp_path / "nothing")) == 0


def test_output_is_kept_as_the_agent_would() -> None:
    from cluster.sandboxes.output import OutputBuffer

    for limit in (0, 1, 10, 11):
        for pieces in ([b"abc"], [b"0123456789"], [b"01234", b"56789", b"abcdefg"], [b"x"] * 50):
            theirs, ours = courier.Output(limit), OutputBuffer(limit)
            for piece in pieces:
                theirs.write(piece)
                ours.write(piece)
            kept = ours.captured()
            assert (*theirs.kept(), theirs.total) == (kept.head, kept.tail, kept.total_bytes)
