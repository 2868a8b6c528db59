"""What a writer does by itself, and how its life ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cluster.ledger import SCHEMA, Ledger, LedgerOptions, LedgerReader
from cluster.ledger.disk import Disk
from cluster.ledger.manifest import load_manifest, publish_manifest
from parsimony.errors import InputError, LedgerError, LedgerLocked

Score = Callable[..., dict[str, Any]]
Seeds = Callable[[Path], list[int]]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rows_are_visible_after_a_flush_and_not_before(directory: Path, score: Score, seeds: Seeds) -> None:
    with Ledger.open(directory) as ledger:
        ledger.append("score", score(1))
        assert seeds(directory) == []
        assert ledger.pending == 1
        ledger.flush()
        assert seeds(directory) == [1]
        assert ledger.pending == 0


def test_a_flush_is_due_by_rows_by_bytes_and_by_time(directory: Path, score: Score, quick_disk: Disk) -> None:
    clock = Clock()
    options = LedgerOptions(flush_rows=3, flush_bytes=2000, flush_seconds=0.2)
    with Ledger.open(directory, options, clock=clock, disk=quick_disk) as ledger:
        assert not ledger.due(now=1e9)
        ledger.append("score", score(1))
        assert not ledger.due()
        assert ledger.due(now=100.2)
        clock.now = 100.3
        assert ledger.flush_if_due()
        assert not ledger.due()
        ledger.append("score", score(2))
        ledger.append("score", score(3))
        assert not ledger.flush_if_due()
        ledger.append("score", score(4))
        assert ledger.flush_if_due()
        ledger.append("score", score(5, score="x" * 2000))
        assert ledger.due()


def test_a_long_journal_is_sealed_on_the_way(directory: Path, score: Score, seeds: Seeds, quick_disk: Disk) -> None:
    """By rows, and by bytes."""
    for options in (LedgerOptions(seal_rows=10), LedgerOptions(seal_bytes=1500)):
        before = len(seeds(directory)) if directory.exists() else 0
        with Ledger.open(directory, options, disk=quick_disk) as ledger:
            for number in range(25):
                ledger.append("score", score(before + number))
                ledger.flush()
            assert len(list(directory.glob("score-*.parquet"))) >= 2
            assert sum(path.stat().st_size for path in directory.glob("wal-*")) < 1500
    assert seeds(directory) == list(range(50))


def test_closing_leaves_one_segment_a_kind_and_no_journal(directory: Path, score: Score, seeds: Seeds) -> None:
    with Ledger.open(directory, LedgerOptions(seal_rows=2, keep_segments=3)) as ledger:
        for number in range(12):
            ledger.append("score", score(number))
            ledger.append("event", {"at": float(number), "name": "n"})
            ledger.flush()
    names = sorted(path.name.split("-")[0] for path in directory.iterdir())
    assert names == ["LOCK", "MANIFEST", "MANIFEST", "event", "score"]
    assert seeds(directory) == list(range(12))


def test_few_segments_are_left_alone(directory: Path, score: Score) -> None:
    with Ledger.open(directory, LedgerOptions(keep_segments=3)) as ledger:
        for number in range(3):
            ledger.append("score", score(number))
            ledger.seal()
    assert len(list(directory.glob("score-*.parquet"))) == 3


def test_closing_without_a_seal_leaves_rows_to_the_next_writer(
    directory: Path, score: Score, seeds: Seeds, quick_disk: Disk
) -> None:
    for number in range(3):
        ledger = Ledger.open(directory, disk=quick_disk)
        ledger.append("score", score(number))
        ledger.close(seal=False)
    assert not list(directory.glob("*.parquet"))
    assert len(list(directory.glob("wal-*"))) == 3
    Ledger.open(directory).close()
    assert not list(directory.glob("wal-*"))
    assert seeds(directory) == [0, 1, 2]


def test_an_idle_writer_adds_no_files(directory: Path) -> None:
    for _ in range(3):
        with Ledger.open(directory) as ledger:
            ledger.flush()
            ledger.seal()
    assert sorted(path.name[:8] for path in directory.iterdir()) == ["LOCK", "MANIFEST", "MANIFEST"]


def test_segments_are_plain_parquet(directory: Path, score: Score) -> None:
    """Any tool reads them: zstd, checksums on pages, kind and schema version in the metadata."""
    with Ledger.open(directory) as ledger:
        ledger.append("score", score(1, recorded_at=1.5, reasons=["a"]))
    (path,) = directory.glob("score-*.parquet")
    file = pq.ParquetFile(path)
    assert file.metadata.metadata[b"parsimony.ledger.kind"] == b"score"
    assert file.metadata.metadata[b"parsimony.ledger.schema"] == str(SCHEMA.version).encode()
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert str(file.schema_arrow.field("recorded_at").type) == "timestamp[us, tz=UTC]"
    assert not file.schema_arrow.field("outcome").nullable
    assert file.read().num_rows == 1


def test_equal_rows_give_equal_segments(tmp_path: Path, score: Score, quick_disk: Disk) -> None:
    """Contents alone decide the bytes, so a digest means something."""
    for name in ("a", "b"):
        with Ledger.open(tmp_path / name, disk=quick_disk) as ledger:
            for number in range(100):
                ledger.append("score", score(number, recorded_at=number / 7))
    first, second = ((next((tmp_path / name).glob("score-*"))).read_bytes() for name in ("a", "b"))
    assert first == second


def test_a_closed_ledger_takes_nothing(directory: Path, score: Score) -> None:
    ledger = Ledger.open(directory)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.append("score", score(1))
    for use in (ledger.seal, ledger.compact):
        with pytest.raises(LedgerError, match="closed"):
            use()
    ledger.flush()


def test_an_exception_in_the_with_block_keeps_what_was_appended(directory: Path, score: Score, seeds: Seeds) -> None:
    """Without the long part: no seal. The lock is free."""

    def fail() -> None:
        with Ledger.open(directory) as ledger:
            ledger.append("score", score(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(directory.glob("*.parquet"))
    Ledger.open(directory).close()
    assert seeds(directory) == [1]


def test_abandoned_rows_are_lost_and_flushed_ones_are_not(directory: Path, score: Score, seeds: Seeds) -> None:
    ledger = Ledger.open(directory)
    ledger.append("score", score(1))
    ledger.flush()
    ledger.append("score", score(2))
    ledger.abandon()
    with pytest.raises(LedgerError, match="closed"):
        ledger.flush()
    assert seeds(directory) == [1]


def test_a_writer_whose_lock_file_was_removed_stops(directory: Path, score: Score, seeds: Seeds) -> None:
    """The one that took over keeps all it wrote; nothing of the first gets in after it."""
    first = Ledger.open(directory)
    first.append("score", score(1))
    first.flush()
    (directory / "LOCK").unlink()
    with Ledger.open(directory) as second:
        second.append("score", score(2))
        first.append("score", score(3))
        for use in (first.flush, first.seal):
            with pytest.raises(LedgerLocked, match="lock file"):
                use()
        second.flush()
    first.abandon()
    assert seeds(directory) == [1, 2]


def test_two_writers_cannot_publish_one_manifest(directory: Path, score: Score, seeds: Seeds) -> None:
    """Where the lock fails (a network file system without locks), the manifest's number fences."""
    first = Ledger.open(directory)
    first.append("score", score(1))
    first.flush()
    lock, held_by_first, held_by_second = (directory / name for name in ("LOCK", "LOCK.1", "LOCK.2"))
    lock.rename(held_by_first)
    second = Ledger.open(directory)

    def refused(use: Callable[[], None]) -> None:
        lock.rename(held_by_second)
        held_by_first.rename(lock)  # the check of the lock file passes again
        with pytest.raises(LedgerLocked, match="taken this ledger over"):
            use()
        lock.rename(held_by_first)
        held_by_second.rename(lock)

    first.append("score", score(2))
    refused(first.flush)
    refused(first.seal)
    second.append("score", score(3))
    second.seal()
    second.seal()
    refused(first.flush)
    first.abandon()
    second.close()
    assert seeds(directory) == [1, 3]


def test_a_manifest_number_is_given_once(directory: Path, quick_disk: Disk) -> None:
    """Whoever comes second is refused by the file system, whatever it believed before."""
    Ledger.open(directory).close()
    manifest = load_manifest(directory, SCHEMA)
    assert manifest is not None
    with pytest.raises(LedgerLocked, match="taken this ledger over"):
        publish_manifest(directory, manifest, quick_disk)
    assert not list(directory.glob("*.tmp"))


def test_where_there_are_no_hard_links_manifests_are_renamed(directory: Path, score: Score, seeds: Seeds) -> None:
    class NoLinks(Disk):
        def link(self, old: Path, new: Path) -> None:
            raise PermissionError(1, "Operation not permitted")

    with Ledger.open(directory, disk=NoLinks()) as ledger:
        ledger.append("score", score(1))
    assert seeds(directory) == [1]
    first, second = directory / "a", directory / "b"
    first.touch()
    second.touch()
    with pytest.raises(FileExistsError):
        NoLinks().publish(first, second)


def test_appends_flushes_and_seals_from_several_threads(directory: Path, score: Score, quick_disk: Disk) -> None:
    """Every row once, and those of one thread in their order."""
    with Ledger.open(directory, LedgerOptions(seal_rows=60), disk=quick_disk) as ledger:

        def work(worker: int) -> None:
            for number in range(100):
                ledger.append("score", score(number, arm=str(worker)))
                if number % 7 == worker:
                    ledger.flush()

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rows = list(LedgerReader(directory).rows("score", ["arm", "seed"]))
    for worker in range(4):
        assert [row["seed"] for row in rows if row["arm"] == str(worker)] == list(range(100))


@pytest.mark.parametrize("use", [Ledger.open, LedgerReader])
def test_a_file_is_no_ledger(tmp_path: Path, use: Callable[[Path], object]) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises((InputError, LedgerError), match="file"):
        use(path)
