"""The life of one command under its supervisor. Blocking; one thread each."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from cluster.sandboxes import archive
from cluster.sandboxes.output import OutputBuffer
from cluster.sandboxes.pinned import environment
from cluster.sandboxes.places import MARKER, Place
from cluster.sandboxes.processors import Processors
from cluster.sandboxes.supervisor.spec import Outcome, Spec
from cluster.sandboxes.workers import Aborted
from parsimony.errors import DiskFull, PermanentError, SandboxUnavailable
from parsimony.execution import MIB, Ending, ExecutionRequest, ResourceUsage, SandboxResult

BUFFER: Final = 1 << 20
OPEN_FILES: Final = 16_384
GRACE_S: Final = 15.0
"""Seconds beyond its deadline after which a supervisor that does not end is killed itself."""

ROOM_TO_START: Final = 512 * MIB
ROOM_TO_TRUST: Final = 16 * MIB

_ENDINGS: Final = {
    "exited": Ending.EXITED,
    "deadline": Ending.DEADLINE,
    "cpu": Ending.DEADLINE,
    "memory": Ending.OUT_OF_MEMORY,
    "disk": Ending.DISK_LIMIT,
    "processes": Ending.EXITED,
}
_PACKAGES: Final = str(Path(__file__).resolve().parents[2])
_START: Final = (
    f"import sys; sys.path.insert(0, {_PACKAGES!r}); from cluster.sandboxes.supervisor.main import main; main()"
)


class ProcessRun:
    """One request as a process of this machine.

    Args:
        request: what.
        make: makes its place.
        processors: of this machine; it waits for its share.
        path: the command's PATH.
        namespaces: whether the kernel lets us have them.
        readable: see `Spec`.
    """

    def __init__(
        self,
        request: ExecutionRequest,
        make: Callable[[ExecutionRequest], Place],
        *,
        processors: Processors,
        path: str,
        namespaces: bool,
        readable: list[str],
    ) -> None:
        self._request = request
        self._make = make
        self._processors = processors
        self._path = path
        self._namespaces = namespaces
        self._readable = readable
        self._aborted = threading.Event()
        self._output = OutputBuffer(request.limits.output_bytes)
        self._phases: dict[str, float] = {}
        self._notes: list[str] = []
        self._supervisor: _Supervisor | None = None
        self.place: Place | None = None

    def execute(self) -> SandboxResult:
        """See `workers.Job`. Nothing of it lives when this returns or raises; its place is there to be removed."""
        try:
            return self._execute()
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise DiskFull(f"no room for the files of an execution: {error}", retry_after=30.0) from error
            raise SandboxUnavailable(f"the process sandbox failed: {error}", retry_after=5.0) from error

    def abort(self) -> None:
        """See `workers.Job`."""
        self._aborted.set()
        if self._supervisor is not None:
            self._supervisor.cut_lifeline()

    def _execute(self) -> SandboxResult:
        files = archive.checked_inbox(self._request.files)
        with self._phase("create"):
            self.place = place = self._make(self._request)
            _check_room(place.path.parent, ROOM_TO_START)
        with self._phase("inject"):
            place.fill(files)
        with ExitStack() as held:
            with self._phase("queue"):
                held.enter_context(self._processors.running(self._request.limits.cpus, self._aborted))
            with self._phase("start"):
                self._supervisor = supervisor = _Supervisor(self._spec(place))
            try:
                with self._phase("run"):
                    supervisor.follow(self._output, self._request.limits.deadline_s + GRACE_S)
            finally:
                supervisor.end()
                if not self._namespaces or supervisor.outcome is None:
                    self._end_escaped(place)
        if self._aborted.is_set():
            raise Aborted
        outcome = self._checked(supervisor.outcome)
        with self._phase("collect"):
            outbox = place.collect(self._request.limits.artifact_bytes)
        if outcome.stop != "disk":
            _check_room(place.path.parent, ROOM_TO_TRUST)
        return self._result(outcome, outbox)

    def _spec(self, place: Place) -> Spec:
        limits, base = self._request.limits, str(place.path)
        own = {"PATH": self._path, "HOME": f"{base}/home", "TMPDIR": f"{base}/tmp"}  # noqa: S108 - a folder of ours
        variables = environment(
            {**own, **self._request.environment},
            inbox=f"{base}/in",
            outbox=f"{base}/out",
            work=f"{base}/work",
        )
        return Spec(
            command=list(self._request.command),
            environment={**variables, MARKER: place.owner.token},
            base=base,
            workdir=f"{base}/work",
            namespaces=self._namespaces,
            network=limits.network,
            readable=self._readable,
            deadline_s=limits.deadline_s,
            cpu_s=max(1.0, limits.cpus) * limits.deadline_s,
            memory_bytes=limits.memory_bytes,
            disk_bytes=limits.disk_bytes,
            pids=limits.pids,
            open_files=OPEN_FILES,
        )

    def _end_escaped(self, place: Place) -> None:
        """The last net: whoever got away from the supervisor still carries the mark, unless it took it off."""
        if escaped := place.end_marked():
            self._notes.append(f"{escaped} processes had got away from the supervisor and were killed")

    def _checked(self, outcome: Outcome | None) -> Outcome:
        """What never ran must not become a verdict; but without namespaces the command can kill its supervisor, and
        then that is what it did."""
        if outcome is None:
            if self._namespaces:
                raise SandboxUnavailable(f"the supervisor of {self._request.name} was killed", retry_after=1.0)
            self._notes.append("the supervisor was killed, by the command or by the machine")
            return Outcome("exited", 128 + 9, 0.0, 0)
        if outcome.problem is not None:
            if outcome.unrunnable:
                raise PermanentError(f"this machine cannot run the command: {outcome.problem}")
            raise SandboxUnavailable(f"the command could not be started: {outcome.problem}", retry_after=5.0)
        return outcome

    def _result(self, outcome: Outcome, outbox: archive.Outbox) -> SandboxResult:
        limits = self._request.limits
        if outcome.stop == "processes":
            self._notes.append(f"killed: more than {limits.pids} processes at once")
        elif outcome.stop == "cpu":
            self._notes.append("killed: all of its CPU time was used before its deadline")
        if not limits.network and not self._namespaces:
            self._notes.append("the network could not be cut off on this machine")
        return SandboxResult(
            ending=_ENDINGS[outcome.stop],
            exit_status=outcome.status,
            outputs=outbox.files,
            log=self._output.captured(),
            usage=ResourceUsage(self._phases["run"], outcome.cpu_seconds or None, outcome.peak_memory_bytes or None),
            phases=self._phases,
            notes=(*self._notes, *outbox.notes),
            memory_kills=int(outcome.stop == "memory"),
        )

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        if self._aborted.is_set():
            raise Aborted
        began = time.monotonic()
        yield
        self._phases[name] = time.monotonic() - began


class _Supervisor:
    """The supervisor's process and its three pipes: lifeline in, output out, status out."""

    def __init__(self, spec: Spec) -> None:
        self.outcome: Outcome | None = None
        self._told = b""
        self._lock = threading.Lock()
        self._output, output = os.pipe()
        self._status, status = os.pipe()
        lifeline, self._lifeline = os.pipe()
        try:
            with contextlib.suppress(OSError):  # a bigger pipe is only faster
                fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, BUFFER)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START, str(status)],
                stdin=lifeline,
                stdout=output,
                stderr=output,
                pass_fds=[status],
                cwd="/",
                env={MARKER: spec.environment[MARKER]},
                start_new_session=True,
            )
        except BaseException:
            for handle in (self._output, self._status, self._lifeline):
                os.close(handle)
            raise
        finally:
            for handle in (lifeline, output, status):
                os.close(handle)
        with contextlib.suppress(BrokenPipeError):
            _write_all(self._lifeline, spec.line())

    def follow(self, output: OutputBuffer, patience_s: float) -> None:
        """Read output until everybody has closed it, or until the supervisor is gone."""
        give_up = time.monotonic() + patience_s
        view = memoryview(bytearray(BUFFER))
        poller = select.poll()
        for handle in (self._output, self._status):
            os.set_blocking(handle, False)
            poller.register(handle, select.POLLIN)
        while (left := give_up - time.monotonic()) > 0:
            ready = {handle for handle, _ in poller.poll(left * 1000)}
            if self._output in ready:
                received = os.readv(self._output, [view])
                if not received:
                    break
                output.write(view[:received])
            elif self._status in ready and not self._hear():
                break

    def end(self) -> None:
        """Make sure that it is gone, and take what it said."""
        self.cut_lifeline()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        while self._hear():
            pass
        if self._told.endswith(b"\n"):
            self.outcome = Outcome.parse(self._told)
        os.close(self._output)
        os.close(self._status)

    def cut_lifeline(self) -> None:
        """Tell it to end; may be called from another thread, and again."""
        with self._lock:
            if self._lifeline >= 0:
                os.close(self._lifeline)
                self._lifeline = -1

    def _hear(self) -> bool:
        try:
            part = os.read(self._status, 65536)
        except BlockingIOError:
            return False
        self._told += part
        return bool(part)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _check_room(folder: Path, least_bytes: int) -> None:
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < least_bytes:
        raise DiskFull(f"{free // MIB} MiB left for executions ({folder})", retry_after=30.0)
