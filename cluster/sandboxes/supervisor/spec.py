"""What the sandbox tells its supervisor, and what it hears from it: one line of JSON each way.

Tuples, since importing dataclasses would take as long as all the rest of the supervisor together.
"""

from __future__ import annotations

import json
from typing import Literal, NamedTuple

Stop = Literal["exited", "deadline", "memory", "disk", "processes", "cpu", "abandoned"]


class Spec(NamedTuple):
    """What to run, and within which limits.

    Attributes:
        command, environment: for exec; the program is looked up in the PATH of `environment`.
        base: the execution's own folder, holding `work`, `tmp` and the like; all that it may write to.
        workdir: where the command starts.
        namespaces: whether to give it process, mount, IPC and (unless `network`) network namespaces.
        readable: paths that stay visible, read-only, although they lie in folders that are replaced.
        deadline_s, cpu_s: wall-clock and CPU seconds of the whole tree.
        memory_bytes: proportional set sizes of the whole tree. disk_bytes: growth of `base`.
    """

    command: list[str]
    environment: dict[str, str]
    base: str
    workdir: str
    namespaces: bool
    network: bool
    readable: list[str]
    deadline_s: float
    cpu_s: float
    memory_bytes: int
    disk_bytes: int
    pids: int
    open_files: int

    def line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(self._asdict()).encode("ascii") + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Spec:
        """The inverse of `line`."""
        return cls(**json.loads(line))


class Outcome(NamedTuple):
    """How it went.

    Attributes:
        stop: why it ended; all but `exited` mean that the supervisor ended it.
        status: exit status, 128 + N for signal N; None when the supervisor ended it.
        problem: why it could not be started; None when it was.
        unrunnable: the problem is that there is no such program, or that it cannot be executed.
    """

    stop: Stop
    status: int | None
    cpu_seconds: float
    peak_memory_bytes: int
    problem: str | None = None
    unrunnable: bool = False

    def line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(self._asdict()).encode("ascii") + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Outcome:
        """The inverse of `line`."""
        return cls(**json.loads(line))
