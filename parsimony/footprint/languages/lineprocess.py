"""A program that answers lines with lines: kept between requests, bounded in time, and started again when it ended."""

from __future__ import annotations

import atexit
import os
import selectors
import subprocess
import time
from collections.abc import Callable
from threading import Lock

_READ = 1 << 20
_LOOK_SECONDS = 0.5
_PATIENCE = 10.0
"""How many times longer than its processor time a program may take by the clock: others may want the machine too."""


class Ended(Exception):
    """The program ended, or never answered a request, twice."""


class LineProcess:
    """One running program, shared by the threads of this process; a forked child gets one of its own.

    The program must end when its stdin does, so that it does not outlive a killed owner.

    Args:
        start: starts it, with pipes for stdin and stdout.
        most: bytes of an answer; a longer one ends the program.
    """

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]], *, most: int = 1 << 28) -> None:
        self._start = start
        self._most = most
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def ask(self, line: bytes, seconds: float) -> bytes:
        """The answer to a line, both with a line feed at the end and none before.

        A program that ends instead of answering is asked once more after a new start: it may have been killed from
        outside.

        Args:
            seconds: processor time that the program may take, so that the outcome does not depend on what else runs.

        Raises:
            TimeoutError: no answer in time; the program was killed.
            Ended: it ended twice.
        """
        with self._lock:
            for _ in range(2):
                process = self._running()
                try:
                    return self._exchange(process, line, seconds)
                except (EOFError, BrokenPipeError):
                    self._end()
                except BaseException:  # also an interrupt: what comes late would be taken for the next answer
                    self._end()
                    raise
        raise Ended("the program ended without an answer")

    def close(self) -> None:
        """End the program. The next request starts it again."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = self._start()
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes, seconds: float) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        to, back = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(to, False)
        deadline = time.monotonic() + _PATIENCE * seconds
        spent = _processor_seconds(process.pid)
        unsent, answer = memoryview(line), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(to, selectors.EVENT_WRITE)
            selector.register(back, selectors.EVENT_READ)
            while not answer.endswith(b"\n"):
                late = time.monotonic() > deadline or _processor_seconds(process.pid) - spent > seconds
                if late:
                    raise TimeoutError
                for key, _ in selector.select(_LOOK_SECONDS):
                    if key.fd == to:
                        unsent = unsent[os.write(to, unsent) :]
                        if not unsent:
                            selector.unregister(to)
                    else:
                        answer += _read(back)
                        if len(answer) > self._most:
                            raise EOFError
        return bytes(answer)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            _close(process)

    def _forget(self) -> None:
        """In a forked child: the program is the parent's, and its pipes are closed here, so that it ends with it."""
        self._lock = Lock()
        process, self._process = self._process, None
        if process is not None:
            _close(process)
            process.returncode = 0


def _processor_seconds(pid: int) -> float:
    """What a process has used, by the clock that Linux keeps for it (`clock_getcpuclockid`)."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it ended; what it wrote before may still be there to read
        return 0.0


def _read(descriptor: int) -> bytes:
    part = os.read(descriptor, _READ)
    if not part:
        raise EOFError
    return part


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
