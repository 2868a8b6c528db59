"""One writer at a time, across processes; readers are never in the way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import Ledger, LedgerReader
from parsimony.errors import LedgerLocked

HOLD = """
import sys
from pathlib import Path
from cluster.ledger import Ledger
ledger = Ledger.open(Path(sys.argv[1]))
ledger.append("score", {"task_id": "t", "arm": "a", "seed": 0, "repeat": 0, "outcome": "resolved"})
ledger.flush()
print("holding", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(directory: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_holder_is_named(directory: Path) -> None:
    """Process, host and time of the one that writes, and what to do."""
    with holder(directory) as process:
        with pytest.raises(LedgerLocked, match="wait for it to end, or stop it") as caught:
            Ledger.open(directory)
        written = json.loads((directory / "LOCK").read_text())
        assert written["pid"] == process.pid
        for part in (f"process {process.pid}", socket.gethostname(), written["since"], str(directory)):
            assert part in str(caught.value)


def test_a_killed_holder_holds_nothing(directory: Path, score: Callable[..., dict[str, Any]]) -> None:
    with holder(directory) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with Ledger.open(directory) as ledger:
            ledger.append("score", score(1))
    assert LedgerReader(directory).count("score") == 2


def test_readers_need_no_lock(directory: Path) -> None:
    with holder(directory):
        assert LedgerReader(directory).count("score") == 1


def test_one_process_cannot_write_twice(directory: Path) -> None:
    with Ledger.open(directory), pytest.raises(LedgerLocked, match=f"process {os.getpid()} "):
        Ledger.open(directory)


def test_a_child_process_does_not_inherit_the_lock(directory: Path) -> None:
    """What a driver starts (docker, ray) may outlive it."""
    ledger = Ledger.open(directory)
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout is not None
        child.stdout.readline()
        ledger.abandon()
        Ledger.open(directory).close()
        child.kill()


def test_a_holder_that_has_not_signed_yet(directory: Path) -> None:
    with Ledger.open(directory):
        for content in (b"", b"{", b"[]", b"\xff"):
            (directory / "LOCK").write_bytes(content)
            with pytest.raises(LedgerLocked, match="another process writes this ledger"):
                Ledger.open(directory)
