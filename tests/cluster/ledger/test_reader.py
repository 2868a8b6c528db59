"""A reader sees one state, whatever a writer does meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import Ledger, LedgerOptions, LedgerReader, segments, write_table
from cluster.ledger.disk import Disk
from parsimony.errors import InputError, LedgerCorrupt, LedgerError

Score = Callable[..., dict[str, Any]]


def write(ledger: Ledger, score: Score, *numbers: int) -> None:
    for number in numbers:
        ledger.append("score", score(number))
    ledger.flush()


def seeds_of(reader: LedgerReader) -> list[int]:
    return [row["seed"] for row in reader.rows("score", ["seed"])]


def test_a_reader_keeps_its_state_while_rows_move(directory: Path, score: Score) -> None:
    """Rows that a seal or a merger moves to other files are followed there; later ones are not seen."""
    with Ledger.open(directory, LedgerOptions(keep_segments=1)) as ledger:
        write(ledger, score, 0, 1)
        ledger.seal()
        write(ledger, score, 2)
        reader = LedgerReader(directory)
        write(ledger, score, 3)
        for move in (ledger.seal, ledger.compact):
            move()
            write(ledger, score, 9)
            assert seeds_of(reader) == [0, 1, 2]
            assert reader.table("score").column("seed").to_pylist() == [0, 1, 2]
            assert reader.count("score") == 3
            reader.verify()


def test_rows_go_on_where_they_were_when_files_move(directory: Path, score: Score) -> None:
    """Also in the middle of an iteration, and of two."""
    with Ledger.open(directory, LedgerOptions(keep_segments=1)) as ledger:
        for part in range(3):
            write(ledger, score, *range(part * 10, part * 10 + 10))
            ledger.seal()
        write(ledger, score, *range(30, 40))
        reader = LedgerReader(directory)
        first, second = reader.rows("score", ["seed"]), reader.rows("score", ["seed"])
        seen = [[next(rows)["seed"] for _ in range(count)] for rows, count in ((first, 3), (second, 17))]
        ledger.seal()
        ledger.compact()
        write(ledger, score, 99)
        for found, rows in zip(seen, (first, second), strict=True):
            found += [row["seed"] for row in rows]
            assert found == list(range(40))


def test_columns_are_chosen_and_ordered(directory: Path, score: Score) -> None:
    with Ledger.open(directory) as ledger:
        write(ledger, score, 1)
        ledger.seal()
        write(ledger, score, 2)
        reader = LedgerReader(directory)
        assert [list(row) for row in reader.rows("score", ["seed", "arm"])] == [["seed", "arm"]] * 2
        assert reader.table("score", ["seed", "arm"]).column_names == ["seed", "arm"]
        encoded = reader.table("score", ["arm"], as_dictionary=["arm"]).unify_dictionaries()
        assert encoded.column("arm").to_pylist() == ["a", "a"]


def test_rows_are_found_by_a_value(directory: Path, score: Score, monkeypatch: pytest.MonkeyPatch) -> None:
    """In segments of many row groups, merged or not, and in the journal; later rows are not seen."""
    monkeypatch.setattr(segments, "GROUP_ROWS", 4)
    with Ledger.open(directory, LedgerOptions(keep_segments=1)) as ledger:
        for number in range(20):
            ledger.append("score", score(number, arm="even" if number % 2 == 0 else "odd"))
            if number in {9, 15}:
                ledger.seal()
        ledger.flush()
        reader = LedgerReader(directory)
        for change in (ledger.flush, ledger.seal, ledger.compact):
            ledger.append("score", score(3, arm="later"))
            ledger.append("score", score(40, arm="even"))
            change()
            assert [row["seed"] for row in reader.find("score", "arm", "even")] == list(range(0, 20, 2))
            assert reader.find("score", "seed", 3) == [row for row in reader.rows("score") if row["seed"] == 3]
            assert reader.find("score", "arm", "later") == []
            assert reader.find("score", "scorer_version", "1") == []


def test_what_cannot_be_searched_for(directory: Path) -> None:
    Ledger.open(directory).close()
    reader = LedgerReader(directory)
    for column, value in (
        ("wall_seconds", 1),
        ("arm", 1),
        ("seed", "1"),
        ("repeat", 2**31),
        ("arm", "\ud800"),
        ("colour", "red"),
    ):
        with pytest.raises(InputError, match=f"score.{column}"):
            reader.find("score", column, value)


def test_unknown_kinds_and_columns_are_refused(directory: Path) -> None:
    """At the call, not at the first row."""
    Ledger.open(directory).close()
    reader = LedgerReader(directory)
    for use in (reader.rows, reader.table):
        with pytest.raises(InputError, match=r"score\.colour"):
            use("score", ["seed", "colour"])
        with pytest.raises(InputError, match="no column is named"):
            use("score", [])
        with pytest.raises(InputError, match="verdict"):
            use("verdict")
    with pytest.raises(InputError, match="verdict"):
        reader.count("verdict")


def test_an_empty_ledger_has_empty_tables(directory: Path) -> None:
    Ledger.open(directory).close()
    reader = LedgerReader(directory)
    assert list(reader.rows("score")) == []
    assert reader.table("score").num_rows == 0
    assert reader.table("score").column_names[0] == "task_id"


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir], ids=["nothing", "empty"])
def test_no_ledger(directory: Path, make: Callable[[Path], None]) -> None:
    make(directory)
    with pytest.raises(InputError, match="there is no ledger here"):
        LedgerReader(directory)


@pytest.mark.parametrize("pattern", ["wal-*", "score-*"])
def test_a_missing_file_is_named(directory: Path, score: Score, pattern: str) -> None:
    with Ledger.open(directory) as ledger:
        write(ledger, score, 1)
        ledger.seal()
        write(ledger, score, 2)
        (gone,) = directory.glob(pattern)
        kept = gone.read_bytes()
        gone.unlink()
        with pytest.raises(LedgerCorrupt, match=f"{gone.name}.*missing"):
            seeds_of(LedgerReader(directory))
        gone.write_bytes(kept)


def test_rows_that_a_mend_took_out_are_missed(directory: Path, score: Score, quick_disk: Disk) -> None:
    """A reader from before the mend does not hang, and does not give fewer rows than it promised."""
    from cluster.ledger.mend import mend

    ledger = Ledger.open(directory)
    write(ledger, score, 0, 1, 2)
    ledger.abandon()
    reader = LedgerReader(directory)
    (journal,) = directory.glob("wal-*")
    journal.write_bytes(journal.read_bytes().replace(b"task-1", b"task-!"))
    mend(directory, disk=quick_disk)
    Ledger.open(directory).close()
    with pytest.raises(LedgerError, match="have gone"):
        seeds_of(reader)
    with pytest.raises(LedgerError, match="have gone"):
        reader.table("score")


def test_readers_beside_a_busy_writer(directory: Path, score: Score, quick_disk: Disk) -> None:
    """Every state is a prefix, no state is older than the one before, and all answers of a reader agree."""
    options = LedgerOptions(seal_rows=15, keep_segments=2)
    stop = threading.Event()
    problems: list[BaseException] = []
    states: list[int] = []

    def watch() -> None:
        try:
            while not stop.is_set():
                reader = LedgerReader(directory)
                found = seeds_of(reader)
                assert found == list(range(len(found)))
                assert reader.count("score") == len(found) == len(reader.table("score", ["seed"]))
                states.append(len(found))
        except BaseException as error:
            problems.append(error)

    with Ledger.open(directory, options, disk=quick_disk) as ledger:
        watcher = threading.Thread(target=watch)
        watcher.start()
        for number in range(400):
            write(ledger, score, number)
            if number % 60 == 59:
                ledger.compact()
        stop.set()
        watcher.join()
    assert not problems
    assert states == sorted(states)
    assert len(set(states)) > 3


def test_a_reader_in_another_process(directory: Path, score: Score, quick_disk: Disk) -> None:
    """Beside a writer that seals all the time, for as long as it writes."""
    watch = (
        "import sys; from pathlib import Path; from cluster.ledger import LedgerReader\n"
        "print('ready', flush=True)\n"
        "last = 0\n"
        "while last < 300:\n"
        "    found = [row['seed'] for row in LedgerReader(Path(sys.argv[1])).rows('score', ['seed'])]\n"
        "    assert found == list(range(len(found))) and len(found) >= last, found\n"
        "    last = len(found)\n"
    )
    with Ledger.open(directory, LedgerOptions(seal_rows=10), disk=quick_disk) as ledger:
        with subprocess.Popen([sys.executable, "-c", watch, str(directory)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            for number in range(300):
                write(ledger, score, number)
        assert process.returncode == 0


def test_pyarrow_is_loaded_for_parquet_only(directory: Path) -> None:
    """A writer that does not seal, and a reader that only counts, start fast."""
    script = (
        "import sys; from pathlib import Path; from cluster.ledger import Ledger, LedgerReader\n"
        "ledger = Ledger.open(Path(sys.argv[1]))\n"
        "ledger.append('event', {'at': 1.0, 'name': 'n'})\n"
        "ledger.flush()\n"
        "assert LedgerReader(Path(sys.argv[1])).count('event') == 1\n"
        "ledger.close(seal=False)\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script, str(directory)], check=True)


def test_tables_for_other_tools(tmp_path: Path) -> None:
    """Types from values, columns from all rows, text that Parquet can hold; an earlier file is replaced."""
    import pyarrow.parquet as pq

    path = tmp_path / "table.parquet"
    write_table(path, [])
    write_table(path, [{"name": "a\udc80", "count": 1}, {"name": None, "rate": 0.5}])
    assert pq.read_table(path).to_pylist() == [
        {"name": "a\\udc80", "count": 1, "rate": None},
        {"name": None, "count": None, "rate": 0.5},
    ]
    assert [item.name for item in tmp_path.iterdir()] == ["table.parquet"]
