"""Disks that stop or fill up, and a ledger's rows to compare with."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import LedgerReader
from cluster.ledger.disk import Disk, reported


class MachineStopped(BaseException):
    """The machine lost power: nothing more reaches the disk."""


class QuickDisk(Disk):
    """A disk that loses everything in a power cut, for tests that have none: fsync is slow on a busy machine."""

    def sync(self, file: FileIO) -> None:
        """Nothing."""

    def sync_directory(self, path: Path) -> None:
        """Nothing."""


class FaultyDisk(QuickDisk):
    """A disk that stops before its `stop_at`-th change, or has no room for changes from `full_at` on.

    Every name is a second link to a file in a hidden folder, so that `power_cut` can make a directory as it may look
    after a power cut: names that no sync covered may be there or not, and of bytes that no sync covered any number may
    be there, the others missing or zero.
    """

    def __init__(self, directory: Path, *, stop_at: int | None = None, full_at: int | None = None) -> None:
        self.directory = directory
        self.changes = 0
        self.stop_at = stop_at
        self.full_at = full_at
        self._inodes = directory.with_name(f"{directory.name}.inodes")
        self._inodes.mkdir(exist_ok=True)
        self._synced_bytes: dict[int, int] = {}
        self._names: dict[str, int] = {}
        self._durable_names: dict[str, int] = {}
        self._unsynced: list[dict[str, int | None]] = []
        for path in sorted(directory.iterdir()) if directory.exists() else []:
            if path.name != "LOCK":
                self._adopt(path)
        self._durable_names = dict(self._names)
        self._unsynced.clear()

    def _adopt(self, path: Path) -> None:
        inode = len(self._synced_bytes)
        os.link(path, self._inodes / str(inode))
        self._synced_bytes[inode] = path.stat().st_size
        self._named(**{path.name: inode})

    def _change(self) -> None:
        if self.stop_at is not None and self.changes >= self.stop_at:
            raise MachineStopped
        self.changes += 1

    def _take_space(self, path: Path) -> None:
        self._change()
        if self.full_at is not None and self.changes > self.full_at:
            with reported(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _named(self, **names: int | None) -> None:
        for name, inode in names.items():
            if inode is None:
                self._names.pop(name, None)
            else:
                self._names[name] = inode
        self._unsynced.append(names)

    def create(self, path: Path) -> FileIO:
        self._take_space(path)
        file = super().create(path)
        self._adopt(path)
        return file

    def write(self, file: FileIO, data: bytes | bytearray | memoryview) -> None:
        path = Path(str(file.name))
        try:
            self._take_space(path)
        except MachineStopped:
            super().write(file, memoryview(data)[: random.Random(self.changes).randrange(len(data) + 1)])
            raise
        except Exception:
            super().write(file, memoryview(data)[: len(data) // 2])  # a full disk takes what still fits
            raise
        super().write(file, data)

    def sync(self, file: FileIO) -> None:
        self._take_space(Path(str(file.name)))
        self._synced_bytes[self._inode(file)] = os.fstat(file.fileno()).st_size

    def truncate(self, file: FileIO, size: int) -> None:
        self._change()
        super().truncate(file, size)
        inode = self._inode(file)
        self._synced_bytes[inode] = min(self._synced_bytes[inode], size)

    def _inode(self, file: FileIO) -> int:
        return self._names[Path(str(file.name)).name]

    def rename(self, old: Path, new: Path) -> None:
        self._change()
        super().rename(old, new)
        self._named(**{old.name: None, new.name: self._names[old.name]})

    def publish(self, old: Path, new: Path) -> None:
        self._take_space(new)
        inode = self._names[old.name]
        super().publish(old, new)
        self._named(**{new.name: inode})

    def sync_directory(self, path: Path) -> None:
        self._take_space(path)
        if path == self.directory:
            self._durable_names = dict(self._names)
            self._unsynced.clear()

    def discard(self, paths: Sequence[Path]) -> None:
        for path in paths:
            if path.exists():
                self._change()
                super().discard([path])
                self._named(**{path.name: None})

    def power_cut(self, chance: random.Random, found: Path) -> None:
        """Make the folder `found` as the ledger's may be found after the power comes back."""
        names: dict[str, int | None] = dict(self._durable_names)
        for change in self._surviving_changes(chance):
            names.update(change)
        found.mkdir()
        for name, inode in names.items():
            if inode is not None:
                (found / name).write_bytes(self._content_after_power_cut(inode, chance))

    def _surviving_changes(self, chance: random.Random) -> list[dict[str, int | None]]:
        """The first ones, the last ones, or any: file systems promise no order without a sync."""
        border = chance.randrange(len(self._unsynced) + 1)
        some = [change for change in self._unsynced if chance.random() < 0.5]
        return chance.choice([self._unsynced[:border], self._unsynced[border:], some])

    def _content_after_power_cut(self, inode: int, chance: random.Random) -> bytes:
        data = (self._inodes / str(inode)).read_bytes()
        synced = min(self._synced_bytes[inode], len(data))
        arrived = chance.randrange(synced, len(data) + 1)
        zeros = chance.choice([0, 0, len(data) - arrived])
        return data[:arrived] + bytes(zeros)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the ledger of a test is; not there yet."""
    return tmp_path / "ledger"


@pytest.fixture
def quick_disk() -> Disk:
    return QuickDisk()


@pytest.fixture
def faulty_disk() -> type[FaultyDisk]:
    return FaultyDisk


@pytest.fixture
def machine_stopped() -> type[BaseException]:
    return MachineStopped


@pytest.fixture
def score() -> Callable[..., dict[str, Any]]:
    return score_row


def score_row(number: int, **columns: object) -> dict[str, Any]:
    """A score that `number` tells apart from others."""
    return {"task_id": f"task-{number}", "arm": "a", "seed": number, "repeat": 0, "outcome": "resolved", **columns}


@pytest.fixture
def seeds() -> Callable[[Path], list[int]]:
    """The numbers of the scores in a ledger, in their order."""

    def read(directory: Path) -> list[int]:
        return [row["seed"] for row in LedgerReader(directory).rows("score", ["seed"])]

    return read
