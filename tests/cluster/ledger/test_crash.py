"""A crash between any two changes of the disk loses nothing that was flushed and doubles nothing."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import SCHEMA, Ledger, LedgerOptions, LedgerReader
from cluster.ledger.disk import Disk
from cluster.ledger.manifest import load_manifest

TORN = b'0badc0de {"n":2,"ki'
OPTIONS = LedgerOptions(seal_rows=1000, keep_segments=1)
Score = Callable[..., dict[str, Any]]
Seeds = Callable[[Path], list[int]]


class Run:
    """A run that another writer began and left with a torn journal; it goes through every step there is."""

    def __init__(self, directory: Path, disk: Any, score: Score) -> None:
        self.directory = directory
        self.appended = [0, 1]
        self.durable = 2
        self._disk = disk
        self._score = score
        self._ledger: Ledger | None = None

    def go(self) -> None:
        """All steps. Stops where the disk does."""
        try:
            self._ledger = Ledger.open(self.directory, OPTIONS, disk=self._disk)
            self._append(2, 3)
            self._flush()
            self._ledger.seal()
            self._append(4)
            self._ledger.seal()
            self._append(5, 6)
            self._flush()
            self._ledger.compact()
            self._append(7)
            self._flush()
            self._append(8)
            self._ledger.close()
            self.durable = len(self.appended)
        finally:
            if self._ledger is not None:
                with contextlib.suppress(BaseException):
                    self._ledger.abandon()

    def _append(self, *numbers: int) -> None:
        assert self._ledger is not None
        for number in numbers:
            self._ledger.append("score", self._score(number))
            self.appended.append(number)

    def _flush(self) -> None:
        assert self._ledger is not None
        self._ledger.flush()
        self.durable = len(self.appended)


@pytest.fixture
def start(directory: Path, score: Score) -> Path:
    """A ledger with two durable rows, a segment, and half a line that a killed writer left."""
    ledger = Ledger.open(directory)
    ledger.append("score", score(0))
    ledger.seal()
    ledger.append("score", score(1))
    ledger.flush()
    ledger.abandon()
    journal = max(directory.glob("wal-*"))
    journal.write_bytes(journal.read_bytes() + TORN)
    return directory


def changes_of_a_whole_run(start: Path, faulty_disk: type[Any], score: Score, tmp_path: Path) -> int:
    whole = tmp_path / "whole"
    shutil.copytree(start, whole)
    disk = faulty_disk(whole)
    Run(whole, disk, score).go()
    changes: int = disk.changes
    return changes


@pytest.mark.slow
@pytest.mark.parametrize(
    "power_cuts", [pytest.param(0, id="killed"), pytest.param(4, id="power-cut", marks=pytest.mark.slow)]
)
def test_crash_before_every_change(
    power_cuts: int,
    start: Path,
    tmp_path: Path,
    faulty_disk: type[Any],
    machine_stopped: type[BaseException],
    score: Score,
    seeds: Seeds,
    quick_disk: Disk,
) -> None:
    """Stopped at each change in turn, the ledger opens again with a prefix of what was appended, all flushed in it."""
    total = changes_of_a_whole_run(start, faulty_disk, score, tmp_path)
    assert total > 60
    for stop_at in range(total):
        directory = tmp_path / f"stop-{stop_at}"
        shutil.copytree(start, directory)
        disk = faulty_disk(directory, stop_at=stop_at)
        run = Run(directory, disk, score)
        with pytest.raises(machine_stopped):
            run.go()
        survivors = [directory]
        if power_cuts:
            survivors = [tmp_path / f"stop-{stop_at}-cut-{number}" for number in range(power_cuts)]
            for number, survivor in enumerate(survivors):
                disk.power_cut(random.Random(stop_at * power_cuts + number), survivor)
        for survivor in survivors:
            with Ledger.open(survivor, OPTIONS, disk=quick_disk) as ledger:
                check_survivor(ledger, run, score, seeds, survivor.name)
            check_no_litter(survivor, survivor.name)
            shutil.rmtree(survivor)


def check_survivor(ledger: Ledger, run: Run, score: Score, seeds: Seeds, where: str) -> None:
    directory = ledger.directory
    found = seeds(directory)
    assert found == run.appended[: len(found)], where
    assert len(found) >= run.durable, where
    ledger.append("score", score(99))
    ledger.flush()
    assert seeds(directory) == [*found, 99], where
    ledger.seal()
    assert seeds(directory) == [*found, 99], where
    LedgerReader(directory).verify()
    torn = [row for row in LedgerReader(directory).rows("event") if row["name"] == "ledger.torn_tail"]
    for row in torn:
        note = json.loads(row["data"])
        assert (directory / note["kept_in"]).stat().st_size == note["bytes"], where
    first = json.loads(torn[0]["data"])["kept_in"]
    assert (directory / first).read_bytes() == TORN, where


def check_no_litter(directory: Path, where: str) -> None:
    manifest = load_manifest(directory, SCHEMA)
    assert manifest is not None
    names = {path.name for path in directory.iterdir()}
    expected = manifest.files() | {"LOCK", *(f"MANIFEST-{manifest.number - old:08d}.json" for old in (0, 1))}
    litter = {name for name in names - expected if not name.startswith("torn-")}
    assert not litter, where
    assert expected <= names, where


def test_a_torn_tail_is_noted_once_and_kept(start: Path) -> None:
    """Opening again and again notes the cut once; the cut bytes stay beside the ledger."""
    for _ in range(3):
        Ledger.open(start).close(seal=False)
    events = list(LedgerReader(start).rows("event"))
    assert [event["name"] for event in events] == ["ledger.torn_tail"]
    kept = list(start.glob("torn-*"))
    assert [path.read_bytes() for path in kept] == [TORN]
    assert kept[0].name in events[0]["data"]
