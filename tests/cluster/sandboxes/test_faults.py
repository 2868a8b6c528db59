"""Every way in which an engine can fail, on an engine in memory: a typed error, never a verdict, nothing left."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from cluster.sandboxes import container, images, labels
from cluster.sandboxes.archive import pack
from cluster.sandboxes.containers import ContainerSandbox
from cluster.sandboxes.engine import Found, Image, ImageMissing, NameTaken, PathMissing, fault, pull_fault
from cluster.sandboxes.ownership import own_labels
from cluster.sandboxes.shell import RECORD
from parsimony.errors import (
    DiskFull,
    Evicted,
    ImagePullFailed,
    ParsimonyError,
    PermanentError,
    SandboxUnavailable,
    TemporaryError,
)
from parsimony.execution import MIB, Ending, ExecutionRequest, Limits, SandboxResult

IMAGE = Image("sha256:one", "sha256:digest-one")
REQUEST = ExecutionRequest(
    "sha256:key",
    "psm-memory",
    ("/bin/sh", "-c", "true"),
    {"run.sh": b"true"},
    Limits(timeout_s=5, overhead_s=0, memory_bytes=64 * MIB),
    "image:1",
    labels={labels.RUN: "run", labels.ATTEMPT: "1"},
)
RECORDED = b"peak=1048576\nmicro=250000\nnano=\nkills=0\n"


class MemoryEngine:
    """An engine whose containers print one frame and end; `broken` makes calls fail, by name."""

    processors = 2.0
    disk_quota = True
    tells_peak_memory = True

    def __init__(self) -> None:
        self.containers: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.images: dict[str, Image] = {"image:1": IMAGE}
        self.broken: dict[str, Exception | list[Exception]] = {}
        self.wire = b"\1\0\0\0\0\0\0\3out"
        self.outputs: dict[str, bytes] = {RECORD: RECORDED, "report.json": b"{}"}
        self.final: dict[str, Any] = {"Running": False, "ExitCode": 0, "OOMKilled": False}
        self.written = 0
        self.killed_outside = False
        self.endless = False
        self.killed = threading.Event()

    def _called(self, name: str) -> None:
        self.calls.append(name)
        error = self.broken.get(name)
        if isinstance(error, list):
            error = error.pop(0) if error else None
        if error is not None:
            raise error

    def image(self, reference: str) -> Image:
        self._called("image")
        if reference not in self.images:
            raise ImageMissing(reference)
        return self.images[reference]

    def pull(self, reference: str) -> None:
        self._called("pull")
        time.sleep(0.02)
        self.images[reference] = IMAGE

    def references(self) -> frozenset[str]:
        return frozenset(self.images)

    def create(self, name: str, config: Mapping[str, object]) -> str:
        if name in self.containers:
            raise NameTaken(name)
        if not any(image.id == config["Image"] for image in self.images.values()):
            raise ImageMissing(str(config["Image"]))
        self._called("create")
        self.containers[name] = {"labels": config["Labels"]}
        return name

    def put(self, container: str, archive: bytes) -> None:
        self._called("put")

    def attach(self, container: str) -> MemoryStream:
        self._called("attach")
        return MemoryStream(self)

    def start(self, container: str) -> None:
        self._called("start")

    def kill(self, container: str) -> bool:
        self._called("kill")
        running = self.endless and not self.killed.is_set()
        self.killed.set()
        return running

    def wait(self, container: str, timeout_s: float) -> None:
        self._called("wait")

    def state(self, container: str) -> Mapping[str, Any]:
        self._called("state")
        return self.final

    def killed_by_api(self, container: str, since: float) -> bool:
        self._called("killed_by_api")
        return self.killed_outside

    def memory_and_cpu(self, container: str) -> tuple[int | None, float | None]:
        self._called("memory_and_cpu")
        return 2 * MIB, 0.5

    def written_bytes(self, container: str) -> int | None:
        self._called("written_bytes")
        return self.written

    def fetch(self, container: str, path: str) -> Generator[bytes]:
        self._called("fetch")
        yield pack({f"out/{name}": data for name, data in self.outputs.items()}, {"out": 0o755})

    def remove(self, container: str) -> None:
        self._called("remove")
        self.containers.pop(container, None)

    def find(self, labels: Mapping[str, str], name: str | None = None) -> list[Found]:
        self._called("find")
        return [
            Found(key, key, row["labels"])
            for key, row in self.containers.items()
            if (name is None or key == name) and labels.items() <= row["labels"].items()
        ]

    def check_room(self, least_bytes: int) -> None:
        self._called("check_room")

    def close(self) -> None:
        self._called("close")


class MemoryStream:
    """Gives out the engine's wire, then ends, at the latest when the container is killed."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine
        self._left = engine.wire
        self.closed = False

    def receive(self, buffer: memoryview, timeout_s: float) -> int:
        self._engine._called("receive")
        if self._left:
            size = min(len(buffer), len(self._left))
            buffer[:size], self._left = self._left[:size], self._left[size:]
            return size
        if self._engine.endless and not self._engine.killed.wait(timeout_s):
            raise TimeoutError
        return 0

    def close(self) -> None:
        self.closed = True


def room(*answers: DiskFull | None) -> Callable[[int], None]:
    """A `check_room` that gives these answers, one a call."""
    left = iter(answers)

    def check_room(least_bytes: int) -> None:
        if (error := next(left)) is not None:
            raise error

    return check_room


def run(engine: MemoryEngine, request: ExecutionRequest = REQUEST) -> SandboxResult:
    """One request; afterwards nothing may be left on the engine."""

    async def once() -> SandboxResult:
        sandbox = ContainerSandbox(engine, slots=2)
        try:
            return await sandbox.run(request)
        finally:
            await sandbox.close()

    try:
        return asyncio.run(once())
    finally:
        assert not engine.containers


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


def test_when_nothing_fails(engine: MemoryEngine) -> None:
    result = run(engine)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0)
    assert result.outputs == {"report.json": b"{}"}
    assert (result.log.head, result.image_digest) == (b"out", "sha256:digest-one")
    assert (result.usage.peak_memory_bytes, result.usage.cpu_seconds) == (MIB, 0.25)
    # The round trips that a short grading pays for; room is looked at without one.
    assert [call for call in engine.calls if call not in {"receive", "check_room", "close"}] == [
        "image", "create", "put", "attach", "start", "state", "fetch", "remove",
    ]  # fmt: skip


@pytest.mark.parametrize("call", ["create", "put", "attach", "start", "receive", "state", "fetch"])
@pytest.mark.parametrize(
    "error",
    [
        SandboxUnavailable("the engine is away", retry_after=5),
        DiskFull("no space left on device"),
        Evicted("gone"),
        PermanentError("never"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_fault_in_any_call_is_raised_as_it_is(engine: MemoryEngine, call: str, error: ParsimonyError) -> None:
    engine.broken[call] = error
    with pytest.raises(type(error)) as raised:
        run(engine)
    assert raised.value is error
    assert call == "create" or "kill" in engine.calls


def test_a_removal_that_fails_is_tried_again(engine: MemoryEngine) -> None:
    engine.broken["remove"] = [SandboxUnavailable("busy"), SandboxUnavailable("busy")]
    assert run(engine).exit_status == 0
    assert engine.calls.count("remove") == 3


def test_output_that_breaks_off(engine: MemoryEngine) -> None:
    engine.wire = engine.wire[:-1]
    with pytest.raises(SandboxUnavailable, match="output"):
        run(engine)


def test_an_outbox_that_breaks_off(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b"".join(engine.fetch("", ""))
    monkeypatch.setattr(engine, "fetch", lambda *_: (piece for piece in (whole[:1500],)))
    with pytest.raises(SandboxUnavailable, match="outbox"):
        run(engine)


def test_an_outbox_that_is_gone_is_the_candidates_doing(engine: MemoryEngine) -> None:
    engine.broken["fetch"] = PathMissing("/parsimony/out")
    result = run(engine)
    assert (result.exit_status, result.outputs, result.notes) == (0, {}, ("the outbox is gone",))


def test_a_disk_that_is_full_afterwards_is_no_verdict(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "check_room", room(None, DiskFull("full")))
    with pytest.raises(DiskFull):
        run(engine)


def test_a_disk_that_the_candidate_filled_is_its_limit(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "check_room", room(None, DiskFull("full")))
    engine.written = REQUEST.limits.disk_bytes + 1
    assert run(engine).ending is Ending.DISK_LIMIT


def test_killed_by_someone_else_is_no_verdict(engine: MemoryEngine) -> None:
    engine.final, engine.killed_outside = {"Running": False, "ExitCode": 137}, True
    del engine.outputs[RECORD]
    with pytest.raises(Evicted):
        run(engine)


def test_killing_oneself_is_a_result(engine: MemoryEngine) -> None:
    engine.final = {"Running": False, "ExitCode": 137}
    del engine.outputs[RECORD]
    result = run(engine)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 137)
    assert result.usage.peak_memory_bytes is None


def test_a_child_killed_for_memory_shows(engine: MemoryEngine) -> None:
    engine.outputs[RECORD] = b"peak=67108864\nmicro=1\nkills=2\n"
    result = run(engine)
    assert (result.ending, result.exit_status, result.memory_kills) == (Ending.EXITED, 0, 2)
    assert "2 of its processes" in result.notes[0]


def test_killed_for_memory(engine: MemoryEngine) -> None:
    engine.final = {"Running": False, "ExitCode": 137, "OOMKilled": True}
    del engine.outputs[RECORD]
    result = run(engine)
    assert (result.ending, result.exit_status, result.memory_kills) == (Ending.OUT_OF_MEMORY, None, 1)
    assert result.usage.peak_memory_bytes == REQUEST.limits.memory_bytes


@pytest.mark.parametrize(
    "record",
    [b"", b"\xff\0", b"peak=-5\nmicro=x\nkills=\n", b"peak=" + b"9" * 40, b"peak=99999999999999\nmicro=99999999999999"],
)
def test_a_record_that_makes_no_sense_is_dropped(engine: MemoryEngine, record: bytes) -> None:
    engine.outputs[RECORD] = record
    result = run(engine)
    assert (result.exit_status, result.usage.cpu_seconds, result.usage.peak_memory_bytes) == (0, None, None)


def test_a_forged_record_cannot_turn_a_result_into_an_error(engine: MemoryEngine) -> None:
    engine.outputs[RECORD] = b"missing=1\n"
    engine.final, engine.wire = {"Running": False, "ExitCode": 127}, b""
    assert run(engine).exit_status == 127


def test_a_deadline_takes_what_was_used_so_far(engine: MemoryEngine) -> None:
    engine.endless = True
    del engine.outputs[RECORD]
    request = replace(REQUEST, limits=Limits(timeout_s=0.1, overhead_s=0, memory_bytes=64 * MIB))
    result = run(engine, request)
    assert (result.ending, result.exit_status) == (Ending.DEADLINE, None)
    assert (result.usage.peak_memory_bytes, result.usage.cpu_seconds) == (2 * MIB, 0.5)


def test_a_container_that_does_not_die(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "DYING_S", 0.1)
    monkeypatch.setattr(engine, "kill", lambda _: True)
    engine.endless = True
    request = replace(REQUEST, limits=Limits(timeout_s=0.1, overhead_s=0))
    with pytest.raises(SandboxUnavailable, match="die"):
        run(engine, request)


def test_the_books_are_closed_a_moment_late(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter([{"Running": True}, {"Running": False, "ExitCode": 3}])
    monkeypatch.setattr(engine, "state", lambda _: next(states))
    assert run(engine).exit_status == 3
    assert "wait" in engine.calls


def test_a_kernel_without_peak_is_sampled(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "SAMPLE_S", 0.02)
    engine.tells_peak_memory = False
    engine.endless = True
    engine.outputs[RECORD] = b"peak=\nmicro=7\n"
    threading.Timer(0.3, engine.killed.set).start()
    assert run(engine).usage.peak_memory_bytes == 2 * MIB


# ---- images


def test_an_image_that_is_not_here_is_pulled_once_for_all(engine: MemoryEngine) -> None:
    engine.images.clear()

    async def many() -> set[str]:
        sandbox = ContainerSandbox(engine, slots=2)
        found = await asyncio.gather(*(sandbox.environment_digest("image:1") for _ in range(20)))
        await sandbox.close()
        return set(found)

    assert asyncio.run(many()) == {"sha256:digest-one"}
    assert engine.calls.count("pull") == 1


def test_one_that_gives_up_does_not_take_the_pull_with_it(engine: MemoryEngine) -> None:
    engine.images.clear()

    async def two() -> str:
        sandbox = ContainerSandbox(engine, slots=2)
        first = asyncio.ensure_future(sandbox.environment_digest("image:1"))
        second = asyncio.ensure_future(sandbox.environment_digest("image:1"))
        await asyncio.sleep(0)
        first.cancel()
        found = await second
        await sandbox.close()
        return found

    assert asyncio.run(two()) == "sha256:digest-one"
    assert engine.calls.count("pull") == 1


def test_a_pull_that_fails_is_tried_again_by_the_next(engine: MemoryEngine) -> None:
    engine.images.clear()
    engine.broken["pull"] = [ImagePullFailed("the registry is away")]

    async def twice() -> str:
        sandbox = ContainerSandbox(engine, slots=2)
        with pytest.raises(ImagePullFailed):
            await sandbox.environment_digest("image:1")
        found = await sandbox.environment_digest("image:1")
        await sandbox.close()
        return found

    assert asyncio.run(twice()) == "sha256:digest-one"


def test_a_pull_that_hangs(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.images.clear()
    monkeypatch.setattr(images, "PATIENCE_S", 0.1)
    over = threading.Event()
    monkeypatch.setattr(engine, "pull", lambda _: over.wait(30))
    with pytest.raises(ImagePullFailed, match="of pulling"):
        run(engine)
    over.set()


@pytest.mark.parametrize(
    ("afterwards", "outcome"),
    [(IMAGE, 0), (Image("sha256:two", "sha256:digest-one"), 0), (Image("sha256:two", "sha256:other"), PermanentError)],
    ids=["the same", "the same content", "another one"],
)
def test_an_image_that_was_evicted_meanwhile(
    engine: MemoryEngine, afterwards: Image, outcome: int | type[Exception]
) -> None:
    async def evicted() -> SandboxResult:
        sandbox = ContainerSandbox(engine, slots=2)
        try:
            await sandbox.environment_digest("image:1")
            engine.images.clear()
            engine.pull = lambda reference: engine.images.update({reference: afterwards})  # type: ignore[method-assign]
            return await sandbox.run(REQUEST)
        finally:
            await sandbox.close()

    if isinstance(outcome, int):
        assert asyncio.run(evicted()).exit_status == outcome
    else:
        with pytest.raises(outcome, match="another image"):
            asyncio.run(evicted())


def test_no_image_named(engine: MemoryEngine) -> None:
    request = ExecutionRequest("k", "n", ("true",), {})
    with pytest.raises(PermanentError, match="image"):
        run(engine, request)


# ---- names


def test_a_create_without_an_answer_may_have_made_one(engine: MemoryEngine) -> None:
    def create(name: str, config: Mapping[str, object]) -> str:
        engine.containers[name] = {"labels": config["Labels"]}
        raise SandboxUnavailable("timed out")

    engine.create = create  # type: ignore[method-assign]
    with pytest.raises(SandboxUnavailable):
        run(engine)


def test_a_name_that_stays_taken(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.containers[REQUEST.name] = {"labels": own_labels(REQUEST, 0)}
    monkeypatch.setattr(engine, "remove", lambda _: None)
    monkeypatch.setattr(container, "NAME_FREE_S", 0.2)
    with pytest.raises(SandboxUnavailable, match="taken"):
        asyncio.run(ContainerSandbox(engine, slots=1).run(REQUEST))


# ---- what engines say


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (None, "Connection refused", SandboxUnavailable),
        (500, "write /var/lib/docker/x: no space left on device", DiskFull),
        (400, "mkdir /x: No Space Left On Device", DiskFull),
        (500, "driver failed", SandboxUnavailable),
        (503, "shutting down", SandboxUnavailable),
        (429, "slow down", SandboxUnavailable),
        (409, "conflict", SandboxUnavailable),
        (404, "No such container: abc", Evicted),
        (500, "RWLayer of container abc is unexpectedly nil", Evicted),
        (400, 'OCI runtime create failed: exec: "x": executable file not found in $PATH', PermanentError),
        (400, "OCI runtime create failed: cannot allocate memory", SandboxUnavailable),
        (400, "Minimum memory limit allowed is 6MB", PermanentError),
    ],
)
def test_refusals(status: int | None, message: str, expected: type[ParsimonyError]) -> None:
    error = fault("trying", status, message)
    assert type(error) is expected
    assert "\n" not in str(error)
    assert message.split(maxsplit=1)[0] in str(error)


@pytest.mark.parametrize(
    ("message", "expected", "patience"),
    [
        ("manifest for x:1 not found: manifest unknown", PermanentError, None),
        ("no matching manifest for linux/arm64", PermanentError, None),
        ("pull access denied for x, repository does not exist or may require login", ImagePullFailed, 10),
        ("toomanyrequests: You have reached your pull rate limit", ImagePullFailed, 60),
        ("dial tcp: lookup registry: no such host", ImagePullFailed, 10),
        ("failed to register layer: no space left on device", DiskFull, 30),
    ],
)
def test_refused_pulls(message: str, expected: type[ParsimonyError], patience: float | None) -> None:
    error = pull_fault("x:1", message)
    assert type(error) is expected
    if isinstance(error, TemporaryError):
        assert error.retry_after == patience
