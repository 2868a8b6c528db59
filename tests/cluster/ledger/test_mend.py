"""What is damaged is taken out and kept aside; the rest stays, and the ledger opens again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import Ledger, LedgerReader
from cluster.ledger.mend import main, mend
from parsimony.errors import InputError, LedgerCorrupt, LedgerLocked

Score = Callable[..., dict[str, Any]]
Seeds = Callable[[Path], list[int]]


@pytest.fixture
def ledger(directory: Path, score: Score) -> Path:
    """Scores 0 to 2 in a segment, 3 to 5 in a closed journal, 6 to 8 in the last one."""
    with Ledger.open(directory) as first:
        for number in range(3):
            first.append("score", score(number))
    for numbers in (range(3, 6), range(6, 9)):
        later = Ledger.open(directory)
        for number in numbers:
            later.append("score", score(number))
        later.flush()
        later.abandon()
    return directory


def damage(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


def notes(directory: Path) -> list[dict[str, Any]]:
    rows = LedgerReader(directory).rows("event")
    return [json.loads(row["data"]) for row in rows if row["name"] == "ledger.mended"]


def test_a_sound_ledger_is_left_alone(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in ledger.iterdir() if path.name != "LOCK"}
    assert mend(ledger) == ()
    assert main([str(ledger)]) == 0
    assert capsys.readouterr().out == "the ledger is sound\n"
    assert {path.name: path.read_bytes() for path in ledger.iterdir() if path.name != "LOCK"} == before


def test_whole_lines_of_damaged_journals_are_kept(ledger: Path, seeds: Seeds) -> None:
    """Of a closed journal and of the last one; the damaged files are kept under another name."""
    middle, last = sorted(ledger.glob("wal-*"))
    damage(middle, b"task-4", b"task-!")
    damage(last, b"task-6", b"task-!")
    broken = {path.name: path.read_bytes() for path in (middle, last)}
    with pytest.raises(LedgerCorrupt):
        Ledger.open(ledger)
    first, second = mend(ledger)
    assert (first.file, first.rows_lost, second.file, second.rows_lost) == (middle.name, 1, last.name, None)
    assert seeds(ledger) == [0, 1, 2, 3, 5, 7, 8]
    for name, content in broken.items():
        assert (ledger / f"damaged-{name}").read_bytes() == content
    assert [note["file"] for note in notes(ledger)] == [middle.name, last.name]
    assert [note["kept_in"] for note in notes(ledger)] == [f"damaged-{middle.name}", f"damaged-{last.name}"]


def test_a_damaged_segment_is_taken_out_whole(ledger: Path, score: Score, seeds: Seeds) -> None:
    (segment,) = ledger.glob("score-*.parquet")
    damage(segment, segment.read_bytes()[100:104], b"\0\1\2\3")
    (found,) = mend(ledger)
    assert (found.file, found.rows_lost) == (segment.name, 3)
    assert seeds(ledger) == [3, 4, 5, 6, 7, 8]
    with Ledger.open(ledger) as again:
        again.append("score", score(9))
    assert seeds(ledger) == [3, 4, 5, 6, 7, 8, 9]
    LedgerReader(ledger).verify()
    assert (ledger / f"damaged-{segment.name}").exists()


def test_missing_files_are_taken_out(ledger: Path, seeds: Seeds) -> None:
    (segment,) = ledger.glob("score-*.parquet")
    middle, last = sorted(ledger.glob("wal-*"))
    segment.unlink()
    middle.unlink()
    assert [(item.kept_in, item.rows_lost) for item in mend(ledger)] == [(None, 3), (None, 3)]
    assert seeds(ledger) == [6, 7, 8]
    assert last.exists()


def test_a_journal_without_a_whole_line(ledger: Path, seeds: Seeds) -> None:
    middle, _ = sorted(ledger.glob("wal-*"))
    middle.write_bytes(b"\n" * middle.stat().st_size)
    assert [item.rows_lost for item in mend(ledger)] == [3]
    assert seeds(ledger) == [0, 1, 2, 6, 7, 8]


def test_an_interrupted_mend_is_repeated(
    ledger: Path, tmp_path: Path, faulty_disk: type[Any], machine_stopped: type[BaseException], seeds: Seeds
) -> None:
    """Stopped at any change, mending again gives what mending once gives."""
    import shutil

    middle, _ = sorted(ledger.glob("wal-*"))
    (segment,) = ledger.glob("score-*.parquet")
    damage(middle, b"task-4", b"task-!")
    damage(segment, segment.read_bytes()[100:104], b"\0\1\2\3")
    stopped = True
    stop_at = 0
    while stopped:
        directory = tmp_path / f"stop-{stop_at}"
        shutil.copytree(ledger, directory)
        try:
            mend(directory, disk=faulty_disk(directory, stop_at=stop_at))
            stopped = False
        except machine_stopped:
            mend(directory)
        Ledger.open(directory).close()
        assert seeds(directory) == [3, 5, 6, 7, 8], f"stopped before change {stop_at}"
        assert (directory / f"damaged-{middle.name}").exists()
        assert (directory / f"damaged-{segment.name}").exists()
        stop_at += 1
    assert stop_at > 10


def test_what_cannot_be_mended(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="there is no ledger here"):
        mend(tmp_path)
    with Ledger.open(ledger), pytest.raises(LedgerLocked):
        mend(ledger)
    max(ledger.glob("MANIFEST-*")).write_text("{}")
    with pytest.raises(LedgerCorrupt, match="copy of the run"):
        mend(ledger)
    assert main([str(ledger)]) == 2
    assert main([]) == 2
    assert main(["--help"]) == 2
    assert "usage: python -m cluster.ledger.mend DIRECTORY" in capsys.readouterr().err


def test_the_command_that_errors_name(ledger: Path, seeds: Seeds) -> None:
    """Copied from the message of the error, it mends."""
    middle, _ = sorted(ledger.glob("wal-*"))
    damage(middle, b"task-4", b"task-!")
    with pytest.raises(LedgerCorrupt) as caught:
        LedgerReader(ledger)
    command = str(caught.value).split("`")[1].split()
    assert command[:3] == ["python", "-m", "cluster.ledger.mend"]
    done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True, check=True)
    assert "1 rows lost" in done.stdout
    assert seeds(ledger) == [0, 1, 2, 3, 5, 6, 7, 8]
