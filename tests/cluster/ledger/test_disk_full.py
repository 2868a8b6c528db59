"""A full disk is told as DiskFull, loses nothing, and is forgotten when there is space again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import SCHEMA, Ledger, LedgerOptions, LedgerReader
from cluster.ledger.manifest import load_manifest
from parsimony.errors import DiskFull, LedgerError

Score = Callable[..., dict[str, Any]]
Seeds = Callable[[Path], list[int]]


def test_a_full_disk_at_every_change(tmp_path: Path, faulty_disk: type[Any], score: Score, seeds: Seeds) -> None:
    """Wherever space ends, the same calls succeed once there is some, and every row is there once."""
    full_at = 0
    hit = True
    while hit:
        directory = tmp_path / f"full-{full_at}"
        disk = faulty_disk(directory, full_at=full_at)
        hit = _write_all(directory, disk, score)
        assert seeds(directory) == list(range(6)), f"full at change {full_at}"
        LedgerReader(directory).verify()
        full_at += 1
    assert full_at > 30


def _write_all(directory: Path, disk: Any, score: Score) -> bool:
    """Six rows through every step; each step again with space after it met a full disk. Whether one did."""
    hit = False

    def patiently(step: Callable[[], Any]) -> Any:
        nonlocal hit
        try:
            return step()
        except DiskFull:
            hit = True
            disk.full_at = None
            return step()

    ledger = patiently(lambda: Ledger.open(directory, LedgerOptions(keep_segments=1), disk=disk))
    numbers = iter(range(6))
    for step in (ledger.flush, ledger.seal, ledger.flush, ledger.seal, ledger.compact, ledger.flush):
        ledger.append("score", score(next(numbers)))
        ledger.append("event", {"at": 1.0, "name": "n"})
        patiently(step)
        manifest = load_manifest(directory, SCHEMA)
        assert manifest is not None
        segments = {path.name for path in directory.iterdir() if ".parquet" in path.name}
        assert segments == {segment.file for segment in manifest.segments}
    patiently(ledger.close)
    return hit or disk.full_at < disk.changes


def test_what_is_flushed_after_a_full_disk_survives_a_power_cut(
    tmp_path: Path, faulty_disk: type[Any], score: Score, seeds: Seeds
) -> None:
    """Also when a manifest was published and only the sync of its name found the disk full."""
    for full_after in range(20):
        directory = tmp_path / f"full-{full_after}"
        disk = faulty_disk(directory)
        ledger = Ledger.open(directory, disk=disk)
        ledger.append("score", score(0))
        ledger.flush()
        disk.full_at = disk.changes + full_after
        with contextlib.suppress(DiskFull):
            ledger.seal()
        disk.full_at = None
        ledger.append("score", score(1))
        ledger.flush()
        ledger.abandon()
        for number in range(12):
            found = tmp_path / f"cut-{full_after}-{number}"
            disk.power_cut(random.Random(number), found)
            assert seeds(found) == [0, 1], found.name


def test_a_seal_on_the_way_is_postponed(directory: Path, faulty_disk: type[Any], score: Score, seeds: Seeds) -> None:
    """The rows of the flush are durable, so the flush succeeds; the seal comes later, with a note."""

    class NoSegments(faulty_disk):  # type: ignore[misc]
        full = True

        def create(self, path: Path) -> Any:
            self.full_at = 0 if self.full and ".parquet" in path.name else None
            return super().create(path)

    disk = NoSegments(directory)
    with Ledger.open(directory, LedgerOptions(seal_rows=40), disk=disk) as ledger:
        for number in range(100):
            ledger.append("score", score(number))
            disk.full_at = None
            ledger.flush()
        assert not list(directory.glob("*.parquet"))
        assert seeds(directory) == list(range(100))
        disk.full = False
        for number in range(100, 120):
            ledger.append("score", score(number))
            disk.full_at = None
            ledger.flush()
        assert list(directory.glob("*.parquet"))
    assert seeds(directory) == list(range(120))
    notes = [row for row in LedgerReader(directory).rows("event") if row["name"] == "ledger.seal_postponed"]
    assert 1 < len(notes) < 10
    assert "no space left" in json.loads(notes[0]["data"])["reason"]


def test_other_faults_of_a_file_system_are_no_disk_full(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(LedgerError, match="file") as caught:
        Ledger.open(path / "ledger")
    assert not isinstance(caught.value, DiskFull)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(mount)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


def test_a_real_full_disk(small_disk: Path, score: Score, seeds: Seeds) -> None:
    """Flush and seal on a tmpfs that another file fills, then with that file gone."""
    directory = small_disk / "ledger"
    filler = small_disk / "filler"
    ledger = Ledger.open(directory)
    ledger.append("score", score(0))
    ledger.flush()
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(1 << 20))
    for number in range(1, 100):
        ledger.append("score", score(number, score="x" * 200))
    for _ in range(3):
        with pytest.raises(DiskFull):
            ledger.flush()
    assert seeds(directory) == [0]
    with pytest.raises(DiskFull, match="no space left") as caught:
        ledger.seal()
    assert caught.value.retry_after > 0
    with pytest.raises(DiskFull):
        ledger.close()
    filler.unlink()
    ledger.flush()
    assert seeds(directory) == list(range(100))
    ledger.close()
    assert seeds(directory) == list(range(100))
    assert not list(directory.glob("wal-*"))
