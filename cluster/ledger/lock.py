"""One writer at a time: a lock file held by flock, with the holder's name in it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from cluster.ledger.disk import reported
from parsimony.errors import LedgerLocked

LOCK_FILE = "LOCK"


class WriterLock:
    """The right to write one ledger, held until `release` or the end of the process.

    The file stays when the lock goes: removing it would let two writers each lock a file of that name. What is written
    in it is for people; the lock itself is the kernel's.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock. Raises LedgerLocked, naming the holder, when another writer has it."""
        self._path = directory / LOCK_FILE
        with reported(self._path):
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take()
        except BaseException:
            self.release()
            raise

    def _take(self) -> None:
        with reported(self._path):
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LedgerLocked(self._refusal()) from None
            since = datetime.now(UTC).isoformat(timespec="seconds")
            holder = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, holder.encode() + b"\n", 0)

    def _refusal(self) -> str:
        mend = "wait for it to end, or stop it"
        try:
            holder = json.loads(self._path.read_bytes())
            who = f"process {holder['pid']} on {holder['host']} (since {holder['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            who = "another process"  # it has the lock and has not written its name yet
        return f"{self._path.parent}: {who} writes this ledger; {mend}"

    def check(self) -> None:
        """Raise LedgerLocked when the file that we hold is no longer the one that others would lock."""
        try:
            ours, theirs = os.fstat(self._handle), self._path.stat()
        except OSError:
            same = False
        else:
            same = (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
        if not same:
            problem = f"the lock file {self._path} was removed or replaced under this writer, which stops here"
            raise LedgerLocked(f"{problem}; start it again, and leave that file alone")

    def release(self) -> None:
        """Let others write. Repeating it does no harm."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with contextlib.suppress(OSError):
                os.close(handle)
