"""Start a command, watch it, end it and all that came of it, and say how it went.

    python -I -S -c 'from cluster.sandboxes.supervisor.main import main; main()' STATUS_FD  <SPEC  >OUTPUT

Standard input brings a line of JSON (`Spec`) and then stays open for as long as the sandbox lives: its end, however
it comes about, ends the command. Standard output and error are the command's. An `Outcome` goes to STATUS_FD.

With namespaces there are three processes: this one, process 1 of the namespace, and the command. When process 1 ends
(it does with the command, with us, or killed by us) the kernel ends everything in the namespace. Without, this one
adopts the orphans among the command's descendants and kills them one by one.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
from typing import Final, NoReturn

from cluster.sandboxes.supervisor import namespaces, tree
from cluster.sandboxes.supervisor.spec import Outcome, Spec, Stop
from cluster.sandboxes.supervisor.watch import Watch

LIFELINE: Final = 0
CANNOT_RUN: Final = 127
PATIENCE_S: Final = 10.0


def main() -> None:
    """See the module."""
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    status = int(sys.argv[1])
    os.set_inheritable(status, False)
    outcome = Supervisor(Spec.parse(_line(LIFELINE))).run()
    os.write(status, outcome.line())


class Supervisor:
    """One command from start to end."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._main = 0
        self._status: int | None = None
        self._used: list[resource.struct_rusage] = []
        self._cpu_at_kill = 0.0
        self._ended, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def run(self) -> Outcome:
        """Everything."""
        messages, writer = os.pipe()
        try:
            self._start(writer)
        except OSError as error:
            return Outcome("exited", None, 0.0, 0, problem=str(error))
        os.close(writer)
        with contextlib.suppress(OSError):  # where it may, the watcher goes before the watched
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        watch = Watch(self._spec, self._pids)
        stop = self._wait(watch)
        self._end()
        told = _messages(messages)
        problem = told.get("unrunnable") or told.get("problem")
        status = int(told["status"]) if "status" in told else None if self._spec.namespaces else self._status
        if stop == "exited" and status is None and problem is None:
            problem = "process 1 of the sandbox was killed"
        return Outcome(
            stop=stop,
            status=status if stop == "exited" else None,
            cpu_seconds=max(self._cpu_at_kill, sum(used.ru_utime + used.ru_stime for used in self._used)),
            peak_memory_bytes=max([watch.peak_memory_bytes, *(used.ru_maxrss * 1024 for used in self._used)]),
            problem=problem,
            unrunnable="unrunnable" in told,
        )

    def _start(self, messages: int) -> None:
        if self._spec.namespaces:
            namespaces.leave_user_and_processes()
        else:
            namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)
        self._main = os.fork()
        if self._main == 0:
            try:
                if self._spec.namespaces:
                    _be_process_one(self._spec, messages)
                _be_command(self._spec, messages)
            finally:
                os._exit(CANNOT_RUN)

    def _pids(self) -> list[int]:
        """The command's processes: with namespaces, process 1 is ours and does not count."""
        return tree.descendants(self._main if self._spec.namespaces else os.getpid())

    def _wait(self, watch: Watch) -> Stop:
        deadline = time.monotonic() + self._spec.deadline_s
        poller = select.poll()
        poller.register(self._ended, select.POLLIN)
        poller.register(LIFELINE, select.POLLIN)
        while True:
            pause = max(0.0, min(deadline, watch.next_at) - time.monotonic())
            ready = {handle for handle, _ in poller.poll(pause * 1000)}
            if self._ended in ready:
                os.read(self._ended, 4096)
                if self._reap():
                    return "exited"
            if LIFELINE in ready and not os.read(LIFELINE, 4096):
                return "abandoned"
            if time.monotonic() >= deadline:
                return "deadline"
            if (stop := watch.breach()) is not None:
                return stop

    def _reap(self) -> bool:
        """Wait for whatever has ended; whether the main child is among it."""
        over = False
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return over
            if pid == 0:
                return over
            self._used.append(used)
            if pid == self._main:
                self._status, over = _exit_status(status), True

    def _end(self) -> None:
        """Leave nothing alive."""
        if not self._spec.namespaces:
            tree.kill_descendants(os.getpid(), self._reap, PATIENCE_S)
        elif self._status is None:
            # What is killed with its namespace is waited for by nobody, and its CPU time is lost.
            self._cpu_at_kill = tree.cpu_seconds([self._main, *self._pids()])
            os.kill(self._main, signal.SIGKILL)
            _, status, used = os.wait4(self._main, 0)  # returns when the whole namespace is gone
            self._used.append(used)
            self._status = _exit_status(status)


def _be_process_one(spec: Spec, messages: int) -> NoReturn:
    """Make the namespaces ready, start the command in them, and be its init until it ends."""
    namespaces.prctl(namespaces.PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        namespaces.leave_rest(spec.base, spec.readable, network=spec.network)
    except OSError as error:
        _tell(messages, "problem", str(error))
        os._exit(CANNOT_RUN)
    command = os.fork()
    if command == 0:
        _be_command(spec, messages)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == command:
            _tell(messages, "status", str(_exit_status(status)))
            os._exit(0)


def _be_command(spec: Spec, messages: int) -> NoReturn:
    """Become the command."""
    try:
        os.setsid()
        if spec.namespaces:
            namespaces.lower_capabilities()
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, spec.disk_bytes)
        _limit(resource.RLIMIT_NOFILE, spec.open_files)
        signal.set_wakeup_fd(-1)
        _forget_signal_settings()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(spec.workdir)
    except OSError as error:
        _tell(messages, "problem", str(error))
        os._exit(CANNOT_RUN)
    try:
        os.execvpe(spec.command[0], spec.command, spec.environment)  # noqa: S606 - other handles close by themselves
    except OSError as error:
        _tell(messages, "unrunnable", f"{spec.command[0]}: {error.strerror}")
    os._exit(CANNOT_RUN)


def _forget_signal_settings() -> None:
    """Every signal as the kernel has it: what Python ignores would be inherited, and what `nohup` ignored for us."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is not None:  # None: not set from Python, the C library's own
            signal.signal(number, signal.SIG_DFL)


def _limit(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))


def _exit_status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _tell(messages: int, name: str, value: str) -> None:
    os.write(messages, f"{name} {' '.join(value.split())}\n".encode("utf-8", "replace"))


def _messages(handle: int) -> dict[str, str]:
    """What the children told: one `NAME VALUE` a line."""
    with open(handle, "rb") as stream:
        lines = stream.read().decode("utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def _line(handle: int) -> bytes:
    """A line, byte-exact: nothing behind it is taken from the pipe."""
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = os.read(handle, 65536)
        if not part:
            raise SystemExit("the specification broke off")
        parts.append(part)
    return b"".join(parts)
