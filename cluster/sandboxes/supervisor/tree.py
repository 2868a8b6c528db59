"""Process trees as /proc shows them: who descends from whom, and what they use together.

Processes come and go while one looks, so everything here takes a vanished process for one that uses nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICKS: Final = os.sysconf("SC_CLK_TCK")
_LISTS_CHILDREN: Final = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - no pathlib below


def descendants(root: int) -> list[int]:
    """Process ids of all that descend from `root`, parents first, without `root` itself."""
    of = _children if _LISTS_CHILDREN else _children_by_parent()
    found: list[int] = []
    queue = [root]
    while queue:
        below = of(queue.pop())
        found += below
        queue += below
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """Sum of the resident set sizes: cheap, and counts shared pages once per process."""
    return sum(int(fields[1]) * PAGE for fields in _fields(pids, "statm"))


def proportional_bytes(pids: Iterable[int]) -> int:
    """Sum of the proportional set sizes: shared pages are divided among those that share them. Walks page tables."""
    total = 0
    for pid in pids:
        text = _read(pid, "smaps_rollup")
        line = next((line for line in text.splitlines() if line.startswith(b"Pss:")), None)
        total += int(line.split()[1]) * 1024 if line is not None else resident_bytes([pid])
    return total


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time of `pids` and of what they have waited for."""
    ticks = 0
    for pid in pids:
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS


def kill_descendants(root: int, reap: Callable[[], object], patience_s: float) -> bool:
    """Kill all that descend from `root`; True when none is left.

    They are stopped first, so that none can start another behind our back.

    Args:
        reap: waits for the dead among them, without blocking.
    """
    give_up = time.monotonic() + patience_s
    while pids := descendants(root):
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            send(sign, pids)
        reap()
        if time.monotonic() > give_up:
            return False
        time.sleep(0.002)
    return True


def send(sign: signal.Signals, pids: Iterable[int]) -> None:
    """Signal each of `pids` that is still there and may be signalled."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, sign)


def marked(token: str) -> Iterator[int]:
    """Process ids of those whose environment at their start held `token`, as far as this user may look."""
    mark = token.encode("ascii")
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and mark in _read(int(name), "environ"):
            yield int(name)


def start_ticks(pid: int) -> int | None:
    """When a process was started, in clock ticks since boot: with its id, this names it for good."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[19]) if len(fields) > 19 else None


def disk_bytes(folder: str) -> int:
    """Blocks in use below `folder`; a file with several names counts once. Links are not followed."""
    total, seen, queue = 0, set(), [folder]
    while queue:
        try:
            with os.scandir(queue.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                        if status.st_ino in seen:
                            continue
                        seen.add(status.st_ino)
                    total += status.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
        except OSError:
            continue  # removed meanwhile
    return total


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return found
    for thread in threads:
        found += map(int, _read(pid, f"task/{thread}/children").split())
    return found


class _children_by_parent:  # noqa: N801 - stands in for the function above on kernels without such lists
    def __init__(self) -> None:
        self._below: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit():
                fields = _read(int(name), "stat").rpartition(b")")[2].split()
                if fields:
                    self._below.setdefault(int(fields[1]), []).append(int(name))

    def __call__(self, pid: int) -> list[int]:
        return self._below.get(pid, [])


def _fields(pids: Iterable[int], name: str) -> Iterator[list[bytes]]:
    return (fields for fields in (_read(pid, name).split() for pid in pids) if len(fields) > 1)


def _read(pid: int, name: str) -> bytes:
    try:
        with Path(f"/proc/{pid}/{name}").open("rb") as file:
            return file.read()
    except OSError:
        return b""
