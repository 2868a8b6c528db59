"""The life of one container: create, fill, attach, wait for a turn, start, follow, look, collect. Blocking; each has a
thread of its own.

Round trips are what a short grading costs, so there are six and no polling: create, one archive in, attach, start,
(the end of the output says that it has ended), inspect, one archive out. Removal happens elsewhere.
"""

from __future__ import annotations

import re
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from typing import Any, Final

from cluster.sandboxes import archive, shell
from cluster.sandboxes.container_config import FOLDERS, INBOX, OUTBOX, container_config
from cluster.sandboxes.engine import Engine, Image, NameTaken, PathMissing, Stream
from cluster.sandboxes.output import FrameDecoder, OutputBuffer
from cluster.sandboxes.ownership import same_attempt
from cluster.sandboxes.processors import Processors
from cluster.sandboxes.workers import Aborted
from parsimony.errors import DiskFull, Evicted, ParsimonyError, PermanentError, SandboxUnavailable
from parsimony.execution import MIB, CapturedOutput, Ending, ExecutionRequest, ResourceUsage, SandboxResult

BUFFER: Final = 1 << 18
FIRST_WATCH_S: Final = 5.0
SAMPLE_S: Final = 1.0
DYING_S: Final = 60.0
"""Seconds that an engine may take from a kill, or from the end of the output, to the end of the container."""

NAME_FREE_S: Final = 20.0
"""Seconds that the removal of a leftover may take before its name is free."""

ROOM_TO_START: Final = 512 * MIB
ROOM_TO_TRUST: Final = 16 * MIB

KILLED: Final = 128 + 9
_INIT_FAILED: Final = re.compile(rb"\[FATAL tini \(\d+\)\] exec \S+ failed: ([^\n]*)\n")


class ContainerRun:
    """One request in one container.

    Args:
        engine: where to.
        request: what.
        image: of `request.image`, already here.
        processors: of the engine's machine; it waits for its share.
    """

    def __init__(self, engine: Engine, request: ExecutionRequest, image: Image, processors: Processors) -> None:
        self._engine = engine
        self._processors = processors
        self._request = request
        self._image = image
        self._aborted = threading.Event()
        self._output = OutputBuffer(request.limits.output_bytes)
        self._phases: dict[str, float] = {}
        self._notes: list[str] = []
        self._sampled: tuple[int | None, float | None] = (None, None)
        self.container: str | None = None

    def execute(self) -> SandboxResult:
        """Run to the end. The container has ended when this returns or raises; it is still there to be removed.

        Raises:
            ImageMissing: the image went away since it was looked up.
            Aborted: see `abort`.
            TemporaryError, PermanentError: as `Sandbox.run`.
        """
        try:
            return self._execute()
        except BaseException:
            self._kill_quietly()
            raise

    def abort(self) -> None:
        """Give up, from another thread: kills the container and makes `execute` raise `Aborted` soon."""
        self._aborted.set()
        self._kill_quietly()

    def _execute(self) -> SandboxResult:
        files = archive.checked_inbox(self._request.files)
        cpus = self._request.limits.cpus
        with ExitStack() as held:
            with self._phase("queue"):
                held.enter_context(self._processors.prepared(cpus, self._aborted))
            with self._phase("create"):
                self._engine.check_room(ROOM_TO_START)
                self.container = container = self._create()
            with self._phase("inject"):
                self._engine.put(container, _inbox(files))
                stream = held.enter_context(closing(self._engine.attach(container)))
            with self._phase("queue"):
                held.enter_context(self._processors.running(cpus, self._aborted))
            started = time.time()
            with self._phase("start"):
                self._engine.start(container)
            with self._phase("run"):
                ending = self._follow(stream, container)
        with self._phase("collect"):
            state = self._ended(container)
            outbox = self._collect(container)
            ending = self._check_disk(container, ending)
        return self._result(ending, state, outbox, started)

    # ---- before

    def _create(self) -> str:
        config = container_config(self._request, self._image.id, now=time.time(), disk_quota=self._engine.disk_quota)
        give_up = time.monotonic() + NAME_FREE_S
        while True:
            try:
                return self._engine.create(self._request.name, config)
            except NameTaken:
                if time.monotonic() > give_up:
                    raise SandboxUnavailable(f"the name {self._request.name} stays taken", retry_after=5.0) from None
            self.clear_leftover()
            self._check_aborted()
            time.sleep(0.05)  # a removal that was under way already takes its time

    def clear_leftover(self) -> None:
        """Remove a container of our name that an earlier driver left of this very attempt.

        Raises:
            PermanentError: it is somebody else's, or another attempt's.
        """
        for found in self._engine.find({}, self._request.name):
            if not same_attempt(self._request, found.labels):
                raise PermanentError(
                    f"there is a container {found.name} that is not of this execution; remove it or rename the run"
                )
            self._engine.remove(found.id)

    # ---- while it runs

    def _follow(self, stream: Stream, container: str) -> Ending:
        """Read output to its end, which is the container's end; kill it at a limit."""
        watch = _Watch(self, container)
        decoder = FrameDecoder(self._output)
        view = memoryview(bytearray(BUFFER))
        ending = Ending.EXITED
        give_up = time.monotonic() + self._request.limits.deadline_s
        while True:
            now = time.monotonic()
            if ending is Ending.EXITED:
                if now >= give_up:
                    ending = Ending.DEADLINE
                elif watch.due(now) and watch.over_disk_limit():
                    ending = Ending.DISK_LIMIT
                if ending is not Ending.EXITED:
                    give_up = now + DYING_S
                    ending = self._stop(container, ending)
            elif now >= give_up:
                raise SandboxUnavailable("the container does not die", retry_after=30.0)
            try:
                received = stream.receive(view, max(0.001, min(give_up, watch.next_at) - now))
            except TimeoutError:
                continue
            if not received:
                break
            decoder.feed(view[:received])
        if not decoder.complete:
            raise SandboxUnavailable("the engine broke off in the middle of the output", retry_after=5.0)
        self._check_aborted()
        return ending

    def _stop(self, container: str, ending: Ending) -> Ending:
        """Kill at a limit. The counters are read first: they go with the processes. What has ended just now by
        itself has not reached the limit."""
        self.sample(container)
        return ending if self._engine.kill(container) else Ending.EXITED

    def sample(self, container: str) -> None:
        """Note memory and CPU time so far; the highest memory counts."""
        try:
            memory, cpu = self._engine.memory_and_cpu(container)
        except ParsimonyError:
            return  # it may have ended meanwhile; a number less is no reason to lose the result
        peaks = [peak for peak in (memory, self._sampled[0]) if peak is not None]
        self._sampled = (max(peaks, default=None), cpu if cpu is not None else self._sampled[1])

    def _ended(self, container: str) -> dict[str, Any]:
        state = self._engine.state(container)
        if state.get("Running"):  # the output's end comes a moment before the engine's own books are closed
            self._engine.wait(container, DYING_S)
            state = self._engine.state(container)
        self._check_aborted()
        return dict(state)

    # ---- afterwards

    def _collect(self, container: str) -> archive.Outbox:
        try:
            with closing(self._engine.fetch(container, OUTBOX)) as chunks:
                return archive.unpack(chunks, self._request.limits.artifact_bytes)
        except PathMissing:
            return archive.Outbox(notes=["the outbox is gone"])
        except (tarfile.TarError, EOFError) as error:
            raise SandboxUnavailable(f"the outbox came back damaged: {error}", retry_after=5.0) from error

    def _check_disk(self, container: str, ending: Ending) -> Ending:
        """A disk that is full now may have been full under the tests: no verdict then, unless this very execution is
        what filled it."""
        try:
            self._engine.check_room(ROOM_TO_TRUST)
        except DiskFull:
            if (self._engine.written_bytes(container) or 0) <= self._request.limits.disk_bytes:
                raise
            return Ending.DISK_LIMIT
        return ending

    def _result(self, ending: Ending, state: dict[str, Any], outbox: archive.Outbox, started: float) -> SandboxResult:
        raw = outbox.files.pop(shell.RECORD, None)
        record = shell.parse_record(raw or b"")
        log = self._output.captured()
        status = int(state.get("ExitCode", 0))
        kills = max(record.memory_kills, int(bool(state.get("OOMKilled"))))
        if ending is Ending.EXITED:
            self._check_that_it_ran(record, raw is not None, status, log)
            if status == KILLED and kills:
                ending = Ending.OUT_OF_MEMORY
            elif status == KILLED and raw is None and self._engine.killed_by_api(self._container, started):
                raise Evicted("the container was killed from outside")
        if kills and ending is not Ending.OUT_OF_MEMORY:
            self._notes.append(f"the kernel killed {kills} of its processes at the memory limit; it went on")
        return SandboxResult(
            ending=ending,
            exit_status=status if ending is Ending.EXITED else None,
            outputs=outbox.files,
            log=log,
            usage=self._usage(record, state, memory_full=bool(kills)),
            phases=self._phases,
            image_digest=self._image.digest,
            notes=(*self._notes, *outbox.notes),
            memory_kills=kills,
        )

    def _check_that_it_ran(self, record: shell.Record, recorded: bool, status: int, log: CapturedOutput) -> None:
        """What never ran must not become a verdict. A command that ran cannot make this look true: its own output
        would be in the log, and /bin/sh is known to be there when the lines around it ran."""
        failed = _INIT_FAILED.fullmatch(log.head) if not recorded and status in {126, 127} else None
        if failed is not None:
            reason = failed[1].decode("utf-8", "replace")
            raise PermanentError(f"the image {self._request.image} cannot run /bin/sh: {reason}")
        program = self._request.command[0]
        if record.command_missing and status == 127 and not log.total_bytes and program != "/bin/sh":
            raise PermanentError(f"the image {self._request.image} has no command {program!r}")

    def _usage(self, record: shell.Record, state: dict[str, Any], *, memory_full: bool) -> ResourceUsage:
        """Counters from inside, else what was sampled; numbers that cannot be are dropped."""
        limits = self._request.limits
        wall = _seconds_between(state) or self._phases["run"]
        cpu = record.cpu_seconds if record.cpu_seconds is not None else self._sampled[1]
        if cpu is not None and cpu > wall * max(1.0, limits.cpus) * 1.5 + 1.0:
            cpu = None
        peaks = [
            peak
            for peak in (record.peak_memory_bytes, self._sampled[0])
            if peak is not None and peak <= limits.memory_bytes
        ]
        if memory_full:
            peaks.append(limits.memory_bytes)
        return ResourceUsage(wall, cpu, max(peaks, default=None))

    # ---- helpers

    @property
    def _container(self) -> str:
        assert self.container is not None
        return self.container

    @property
    def engine(self) -> Engine:
        """Where it runs."""
        return self._engine

    @property
    def request(self) -> ExecutionRequest:
        """What it runs."""
        return self._request

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self._check_aborted()
        began = time.monotonic()
        yield
        self._phases[name] = self._phases.get(name, 0.0) + time.monotonic() - began

    def _check_aborted(self) -> None:
        if self._aborted.is_set():
            raise Aborted

    def _kill_quietly(self) -> None:
        if self.container is not None:
            try:
                self._engine.kill(self.container)
            except ParsimonyError:
                return  # removal by force comes next, and says what is wrong


class _Watch:
    """What has to be looked at while a container runs, on kernels and storage that do not watch by themselves."""

    def __init__(self, run: ContainerRun, container: str) -> None:
        self._run = run
        self._container = container
        now = time.monotonic()
        self._disk_at = float("inf") if run.engine.disk_quota else now + FIRST_WATCH_S
        self._sample_at = float("inf") if run.engine.tells_peak_memory else now + SAMPLE_S / 4

    @property
    def next_at(self) -> float:
        """When to look next, by the monotonic clock."""
        return min(self._disk_at, self._sample_at)

    def due(self, now: float) -> bool:
        """Whether it is time."""
        return now >= self.next_at

    def over_disk_limit(self) -> bool:
        """Take the samples that are due; True when more is written than may be."""
        now = time.monotonic()
        if now >= self._sample_at:
            self._run.sample(self._container)
            self._sample_at = now + SAMPLE_S
        if now < self._disk_at:
            return False
        written = self._run.engine.written_bytes(self._container) or 0
        # The engine walks the whole layer for this: at most a twentieth of the time may go into it.
        self._disk_at = time.monotonic() + max(FIRST_WATCH_S, 20 * (time.monotonic() - now))
        return written > self._run.request.limits.disk_bytes


def _inbox(files: dict[str, bytes]) -> bytes:
    inner = {f"{INBOX[1:]}/{folder}": 0o755 for folder in archive.folders_of(files)}
    return archive.pack({f"{INBOX[1:]}/{name}": data for name, data in files.items()}, {**FOLDERS, **inner})


def _seconds_between(state: dict[str, Any]) -> float | None:
    """Seconds from start to end by the engine's own clock."""
    try:
        started, finished = (datetime.fromisoformat(state[name]) for name in ("StartedAt", "FinishedAt"))
    except (KeyError, TypeError, ValueError):
        return None
    seconds = (finished - started).total_seconds()
    return seconds if seconds > 0 else None
