"""Journal lines: whole ones are kept, torn ends are cut, everything else is damage that is named."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.ledger import Ledger, LedgerReader
from cluster.ledger.disk import Disk
from cluster.ledger.journal import JournalScan, JournalWriter, encode_line, parse_line
from parsimony.errors import LedgerCorrupt, LedgerError

Score = Callable[..., dict[str, Any]]
LINES = [encode_line(n, "event", f'{{"name":"{"x" * n}"}}') for n in range(5)]


def scan(path: Path, *, end: int | None = None, first: int = 0) -> tuple[list[int], JournalScan]:
    found = JournalScan(path, first=first, end=end)
    return [line.n for line in found], found


def test_line_format() -> None:
    """`crc32 SP json LF`, as docs/ledger-format.md says."""
    raw = encode_line(12, "score", '{"a":1}')
    body = b'{"n":12,"kind":"score","row":{"a":1}}'
    assert raw == b"%08x " % zlib.crc32(body) + body + b"\n"
    line = parse_line(raw)
    assert line is not None
    assert (line.n, line.kind, line.row) == (12, "score", b'{"a":1}')


@given(st.binary())
def test_no_bytes_make_the_parser_fail(data: bytes) -> None:
    assert parse_line(data) is None


@given(st.integers(0, 4), st.data())
def test_a_changed_line_is_no_line(number: int, data: st.DataObject) -> None:
    """Every change of one byte is found, the checksum's own digits and the newline included."""
    raw = bytearray(LINES[number])
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= data.draw(st.integers(1, 255))
    assert parse_line(bytes(raw)) is None


def test_truncated_at_every_byte(tmp_path: Path) -> None:
    """A journal cut anywhere gives its whole lines, and the rest as a torn tail."""
    path = tmp_path / "wal"
    whole = b"".join(LINES)
    ends = [len(b"".join(LINES[:count])) for count in range(len(LINES) + 1)]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        numbers, found = scan(path)
        count = sum(end <= size for end in ends) - 1
        assert numbers == list(range(count))
        assert (found.rows, found.end, found.torn) == (count, ends[count], size - ends[count])


def test_blocks_that_were_never_written_are_a_torn_tail(tmp_path: Path) -> None:
    """After a power cut a file may have its new length and zeros for content."""
    path = tmp_path / "wal"
    for keep in range(len(LINES[-1])):
        path.write_bytes(b"".join(LINES[:-1]) + LINES[-1][:keep] + bytes(len(LINES[-1]) - keep))
        numbers, found = scan(path)
        assert numbers == [0, 1, 2, 3]
        assert found.torn == len(LINES[-1])
    path.write_bytes(b"".join(LINES[:2]) + bytes(10) + b"\n" + bytes(10) + b"\n")
    assert scan(path)[0] == [0, 1]


@pytest.mark.parametrize("line", range(5))
def test_a_flipped_bit_is_named_by_file_and_line(tmp_path: Path, line: int) -> None:
    """In the last line too: a write that was interrupted leaves no whole wrong line."""
    path = tmp_path / "wal"
    for bit in range(8 * (len(LINES[line]) - 1)):
        lines = list(LINES)
        changed = bytearray(lines[line])
        changed[bit // 8] ^= 1 << bit % 8
        lines[line] = bytes(changed)
        path.write_bytes(b"".join(lines))
        if line == 4 and (0 in changed or changed.count(10) != 1):
            continue  # what an interrupted write can leave: zeros, or an end without a newline
        with pytest.raises(LedgerCorrupt, match=rf"wal:{line + 1}: .*mend"):
            scan(path)


def test_zeros_in_the_middle_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "wal"
    path.write_bytes(LINES[0] + bytes(len(LINES[1]) - 1) + b"\n" + LINES[2])
    with pytest.raises(LedgerCorrupt, match="wal:2:"):
        scan(path)


@pytest.mark.parametrize("order", [[0, 2, 3], [0, 1, 1, 2], [0, 2, 1], [1, 2]])
def test_lost_doubled_and_swapped_lines_are_damage(tmp_path: Path, order: list[int]) -> None:
    path = tmp_path / "wal"
    path.write_bytes(b"".join(LINES[number] for number in order))
    with pytest.raises(LedgerCorrupt, match=r"row \d stands where row \d belongs"):
        scan(path)


def test_a_closed_journal_ends_where_it_was_closed(tmp_path: Path) -> None:
    """What a writer that was thought dead adds later does not exist; what is short of the end is damage."""
    path = tmp_path / "wal"
    end = len(LINES[0] + LINES[1])
    path.write_bytes(b"".join(LINES) + b"garbage\n")
    assert scan(path, end=end)[0] == [0, 1]
    path.write_bytes(LINES[0] + LINES[1][:-1])
    with pytest.raises(LedgerCorrupt, match="bytes where it had"):
        scan(path, end=end)


@pytest.mark.parametrize("broken", [["write"], ["sync"], ["sync", "truncate"], ["write", "truncate"]])
def test_a_failed_write_is_cut_off_before_the_next(tmp_path: Path, broken: list[str]) -> None:
    """At once where that works, else before anything else is written; no line is there twice."""

    class Broken(Disk):
        def write(self, file: FileIO, data: bytes | bytearray | memoryview) -> None:
            super().write(file, data)
            self.fail("write")

        def sync(self, file: FileIO) -> None:
            super().sync(file)
            self.fail("sync")

        def truncate(self, file: FileIO, size: int) -> None:
            self.fail("truncate")
            super().truncate(file, size)

        def fail(self, name: str) -> None:
            if name in broken:
                broken.remove(name)
                raise LedgerError("broken")

    path = tmp_path / "wal"
    writer = JournalWriter(path, Broken(), first=0)
    with pytest.raises(LedgerError):
        writer.write(LINES[:2])
    assert (writer.rows, writer.end) == (0, 0)
    writer.write(LINES[:3])
    writer.write(LINES[3:])
    writer.close()
    assert scan(path)[0] == [0, 1, 2, 3, 4]
    assert (writer.rows, writer.end) == (5, path.stat().st_size)


def test_a_ledger_cut_at_every_byte_of_its_last_record_opens(
    directory: Path, score: Score, seeds: Callable[[Path], list[int]]
) -> None:
    ledger = Ledger.open(directory)
    for number in range(3):
        ledger.append("score", score(number))
        ledger.flush()
    ledger.abandon()
    (journal,) = directory.glob("wal-*")
    whole = journal.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for size in range(last, len(whole)):
        journal.write_bytes(whole[:size])
        assert seeds(directory) == [0, 1]
    with Ledger.open(directory) as ledger:
        ledger.append("score", score(7))
    assert seeds(directory) == [0, 1, 7]
    assert [row["name"] for row in LedgerReader(directory).rows("event")] == ["ledger.torn_tail"]


def test_a_damaged_journal_is_not_opened(directory: Path, score: Score) -> None:
    """Neither a writer nor a reader goes on; both say where and how to mend it, and the lock is free again."""
    ledger = Ledger.open(directory)
    for number in range(3):
        ledger.append("score", score(number))
    ledger.flush()
    ledger.abandon()
    (journal,) = directory.glob("wal-*")
    journal.write_bytes(journal.read_bytes().replace(b"task-1", b"task-!"))
    for attempt in (Ledger.open, LedgerReader):
        with pytest.raises(LedgerCorrupt, match=rf"{journal.name}:2: .*cluster.ledger.mend"):
            attempt(directory)
