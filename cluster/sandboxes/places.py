"""The folders of the `process` sandbox: one per execution, owned by a process that can be asked whether it lives.

ROOT/ID/            ID = 12 hex digits of the name's hash: short, since unix socket paths must be
  owner.json        whose it is
  in/ out/ work/    the command's places
  tmp/ home/ private/
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from cluster.sandboxes.archive import Outbox, OutboxCap, folders_of, passed_over_note
from cluster.sandboxes.ownership import own_labels, same_attempt
from cluster.sandboxes.supervisor import tree
from parsimony.errors import PermanentError, SandboxUnavailable
from parsimony.execution import ExecutionRequest

OWNER: Final = "owner.json"
MAX_DEPTH: Final = 32
MARKER: Final = "PARSIMONY_SANDBOX"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a place is.

    Attributes:
        token: what the environment of every process of the execution holds.
        pid, ticks: the process of the sandbox, and when it was started.
    """

    name: str
    labels: Mapping[str, str]
    token: str
    pid: int
    ticks: int | None

    @property
    def alive(self) -> bool:
        """Whether the sandbox that made the place still runs."""
        return self.ticks is not None and tree.start_ticks(self.pid) == self.ticks


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one execution."""

    path: Path
    owner: Owner

    def fill(self, files: Mapping[str, bytes]) -> None:
        """Write the inbox; `files` as from `archive.checked_inbox`."""
        inbox = self.path / "in"
        for folder in folders_of(files):
            (inbox / folder).mkdir()
            (inbox / folder).chmod(0o755)
        for name, data in files.items():
            path = os.fsencode(inbox / name)
            with open(path, "wb") as file:  # noqa: PTH123 - names are bytes to the system
                file.write(data)
            os.chmod(path, 0o755 if data.startswith(b"#!") else 0o644)  # noqa: PTH101

    def collect(self, limit: int) -> Outbox:
        """Read the outbox: regular files only, nothing through a link, at most `limit` bytes."""
        outbox, cap, passed_over = Outbox(), OutboxCap(limit), list[str]()
        try:
            top = os.open(self.path / "out", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return Outbox(notes=["the outbox is gone"])
        try:
            _scan(top, "", outbox, cap, passed_over)
        except _Full:
            outbox.notes.append(cap.note)
        finally:
            os.close(top)
        outbox.notes += passed_over_note(passed_over)
        return outbox

    def end_marked(self, patience_s: float = 5.0) -> int:
        """Kill every process whose environment carries the token; how many there were."""
        killed: set[int] = set()
        give_up = time.monotonic() + patience_s
        while (pids := set(tree.marked(self.owner.token))) and time.monotonic() < give_up:
            tree.send(signal.SIGKILL, pids)
            killed |= pids
            time.sleep(0.005)
        return len(killed)

    def remove(self) -> None:
        """Remove the folder and all below, of any depth and with any permissions.

        Raises:
            SandboxUnavailable: something is left.
        """
        doomed = self.path
        if not doomed.name.startswith("."):
            doomed = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
            try:
                self.path.rename(doomed)
            except FileNotFoundError:
                return
        for unlock in (False, True):
            if unlock:
                subprocess.run(["chmod", "-R", "u+rwX", "--", doomed], stderr=subprocess.DEVNULL, check=False)
            subprocess.run(["rm", "-rf", "--", doomed], stderr=subprocess.DEVNULL, check=False)
            if not doomed.exists():
                return
        raise SandboxUnavailable(f"{doomed} cannot be removed")


class Places:
    """All places of this user on this machine.

    Args:
        root: folder that holds them; None = `psm-UID` in the machine's folder for temporary files.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or Path(tempfile.gettempdir()).resolve() / f"psm-{os.getuid()}"

    def make(self, request: ExecutionRequest) -> Place:
        """The empty place of `request`; what a dead driver left of this very attempt is removed first.

        Raises:
            PermanentError: the name is taken by something else.
            OSError: it cannot be made.
        """
        self._make_root()
        path = self.root / hashlib.sha256(request.name.encode()).hexdigest()[:12]
        labels = own_labels(request, time.time())
        owner = Owner(request.name, labels, secrets.token_hex(16), os.getpid(), tree.start_ticks(os.getpid()))
        for attempt in range(2):
            draft = Path(tempfile.mkdtemp(prefix=".new-", dir=self.root))
            try:
                _furnish(draft, owner)
                draft.rename(path)
                return Place(path, owner)
            except OSError as error:
                shutil.rmtree(draft, ignore_errors=True)
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST} or attempt:
                    raise
            self._clear_leftover(path, request)
        raise AssertionError("not reached")

    def found(self) -> Iterator[Place]:
        """Every place with an owner."""
        for path in sorted(self.root.iterdir()) if self.root.is_dir() else ():
            place = _place(path)
            if place is not None:
                yield place

    def _clear_leftover(self, path: Path, request: ExecutionRequest) -> None:
        place = _place(path)
        if place is None or not same_attempt(request, place.owner.labels):
            raise PermanentError(f"{path} is there and not of this execution; remove it or rename the run")
        if place.owner.alive:
            raise PermanentError(f"{request.name} is being run by process {place.owner.pid}")
        place.end_marked()
        place.remove()

    def _make_root(self) -> None:
        # Root's own helpers may run as another user inside, and must be able to pass through.
        mode = 0o711 if os.getuid() == 0 else 0o700
        self.root.mkdir(mode=mode, parents=True, exist_ok=True)
        status = self.root.stat(follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise PermanentError(f"{self.root} belongs to someone else, or others may write to it; remove it")


def _furnish(path: Path, owner: Owner) -> None:
    path.chmod(0o755)
    for name, mode in {"in": 0o755, "out": 0o1777, "work": 0o755, "tmp": 0o1777, "home": 0o755}.items():
        (path / name).mkdir()
        (path / name).chmod(mode)
    record = path / OWNER
    record.write_text(json.dumps(asdict(owner) | {"labels": dict(owner.labels)}), "utf-8")
    record.chmod(0o600)


def _place(path: Path) -> Place | None:
    try:
        return Place(path, Owner(**json.loads((path / OWNER).read_text("utf-8"))))
    except (OSError, ValueError, TypeError):
        return None


class _Full(Exception):
    """The cap of an outbox is reached."""


def _scan(folder: int, prefix: str, outbox: Outbox, cap: OutboxCap, passed_over: list[str]) -> None:
    for name in sorted(os.listdir(folder)):
        path = prefix + name
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except OSError:  # a link, a socket, a device without a driver
            passed_over.append(path)
            continue
        try:
            status = os.fstat(handle)
            if stat.S_ISDIR(status.st_mode) and path.count("/") < MAX_DEPTH:
                _scan(handle, path + "/", outbox, cap, passed_over)
            elif stat.S_ISREG(status.st_mode):
                if not cap.admits(status.st_size):
                    raise _Full
                with open(handle, "rb", closefd=False) as file:
                    outbox.files[path] = file.read(status.st_size)
            else:
                passed_over.append(path)
        finally:
            os.close(handle)
