"""Changed bytes are found wherever they are, and nothing else is ever read as rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.ledger import Ledger, LedgerReader
from parsimony.canonical import digest_json
from parsimony.errors import LedgerCorrupt, LedgerError

Score = Callable[..., dict[str, Any]]


@pytest.fixture
def sealed(directory: Path, score: Score) -> Path:
    """A ledger with one segment of 50 scores."""
    with Ledger.open(directory) as ledger:
        for number in range(50):
            ledger.append("score", score(number, reasons=["because"] * (number % 3), recorded_at=number / 3))
    return directory


@pytest.fixture
def segment(sealed: Path) -> Path:
    (path,) = sealed.glob("score-*.parquet")
    return path


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


@pytest.mark.slow
def test_every_changed_byte_of_a_segment_is_found(sealed: Path, segment: Path) -> None:
    """By whoever reads all columns; the error names the file."""
    whole = segment.read_bytes()
    for position in range(len(whole)):
        flip(segment, 8 * position + position % 8)
        with pytest.raises(LedgerCorrupt, match=segment.name):
            list(LedgerReader(sealed).rows("score"))
        segment.write_bytes(whole)


def test_a_changed_byte_in_a_page_or_footer_is_found_by_whoever_reads_it(sealed: Path, segment: Path) -> None:
    """A read of some columns finds damage in them, or does not meet it: it never gives other rows."""
    import pyarrow.parquet as pq

    expected = [row["outcome"] for row in LedgerReader(sealed).rows("score")]
    whole = segment.read_bytes()
    metadata = pq.ParquetFile(segment).metadata
    start = min(metadata.row_group(0).column(i).dictionary_page_offset or 1 << 40 for i in range(metadata.num_columns))
    found = 0
    for position in [*range(start, len(whole), 7), *range(len(whole) - 40, len(whole))]:
        flip(segment, 8 * position + position % 8)
        try:
            rows = LedgerReader(sealed).table("score", ["outcome"]).column("outcome").to_pylist()
        except LedgerCorrupt:
            found += 1
        else:
            assert rows == expected, position
        segment.write_bytes(whole)
    assert found > 40


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_truncated_and_scrambled_segments(sealed: Path, segment: Path, data: st.DataObject) -> None:
    whole = segment.read_bytes()
    size = data.draw(st.integers(0, len(whole) - 1))
    other = whole[:size] + data.draw(st.binary(max_size=60))
    if other == whole:
        return
    segment.write_bytes(other)
    try:
        for columns in (None, ["outcome"]):
            with pytest.raises(LedgerCorrupt, match=segment.name):
                list(LedgerReader(sealed).rows("score", columns))
        with pytest.raises(LedgerCorrupt, match=segment.name):
            LedgerReader(sealed).verify()
    finally:
        segment.write_bytes(whole)


@pytest.mark.slow
def test_every_changed_byte_of_a_manifest_is_found(sealed: Path) -> None:
    manifest = max(sealed.glob("MANIFEST-*"))
    whole = manifest.read_bytes()
    compact = json.dumps(json.loads(whole)).encode()  # blanks between values mean nothing
    for position in range(len(compact)):
        if compact[position : position + 1] == b" ":
            continue
        manifest.write_bytes(compact)
        flip(manifest, 8 * position)
        with pytest.raises(LedgerCorrupt, match=f"{manifest.name}.*copy of the run"):
            LedgerReader(sealed)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.pop("segments"),
        lambda body: body.update(epoch=None, segments=[{}]),
        lambda body: body["segments"][0].update(file="../../outside.parquet"),
        lambda body: body.update(journals=[{"file": "/etc/passwd", "schema": 1, "first": 0}]),
        lambda body: body.update(schema="1"),
        lambda body: body.update(segments=3),
    ],
)
def test_a_manifest_with_a_right_checksum_and_wrong_content(
    sealed: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    manifest = max(sealed.glob("MANIFEST-*"))
    body = json.loads(manifest.read_bytes())
    del body["checksum"]
    change(body)
    manifest.write_text(json.dumps({**body, "checksum": digest_json(body)}))
    with pytest.raises(LedgerError):
        LedgerReader(sealed)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200) | st.text(max_size=50).map(lambda text: json.dumps(text).encode()))
def test_anything_for_a_manifest(sealed: Path, data: bytes) -> None:
    (sealed / "MANIFEST-99999999.json").write_bytes(data)
    for use in (LedgerReader, Ledger.open):
        with pytest.raises(LedgerCorrupt):
            use(sealed)


def test_a_line_that_changes_after_it_was_counted(directory: Path, score: Score) -> None:
    """Each read checks the lines that it reads."""
    with Ledger.open(directory) as ledger:
        ledger.append("score", score(1))
        ledger.flush()
        reader = LedgerReader(directory)
        (journal,) = directory.glob("wal-*")
        whole = journal.read_bytes()
        journal.write_bytes(whole.replace(b"task-1", b"task-2"))
        with pytest.raises(LedgerCorrupt, match=f"{journal.name} \\(byte 0\\)"):
            list(reader.rows("score"))
        journal.write_bytes(whole)


def test_rows_that_do_not_fit_their_columns(directory: Path) -> None:
    """A line with a right checksum and a row that no writer of ours would write."""
    from cluster.ledger.journal import encode_line

    with Ledger.open(directory):
        (journal,) = directory.glob("wal-*")
        journal.write_bytes(encode_line(0, "verdict", "{}"))
        with pytest.raises(LedgerCorrupt, match="rows of unknown kinds \\(verdict\\)"):
            LedgerReader(directory)
        known = '"at":"2026-01-01T00:00:00.000000Z","name":"n"'
        for row in (
            '{"at":"never","name":"n"}',
            '{"at":1.5}',
            '{"name":"n"}',
            '{"name":[1]}',
            f'{{{known},"x":1}}',
            '{"data":}',
            f"{{{known}}}{{{known}}}",
        ):
            journal.write_bytes(encode_line(0, "event", row))
            with pytest.raises(LedgerCorrupt, match="event rows do not fit"):
                list(LedgerReader(directory).rows("event"))
        journal.write_bytes(b"")


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "wal-*", "score-*"])
@pytest.mark.parametrize("columns", [None, ["seed"]])
def test_what_cannot_be_read_is_told_in_words(
    directory: Path, score: Score, pattern: str, columns: list[str] | None
) -> None:
    """A folder where a file belongs stands for permissions and broken disks, which a test cannot have."""
    with Ledger.open(directory) as ledger:
        ledger.append("score", score(1))
        ledger.seal()
        ledger.append("score", score(2))
        ledger.flush()
        path = max(directory.glob(pattern))
        kept = path.rename(directory / "kept")
        path.mkdir()
        with pytest.raises(LedgerError, match=path.name) as caught:
            list(LedgerReader(directory).rows("score", columns))
        assert not isinstance(caught.value, LedgerCorrupt)
        path.rmdir()
        kept.rename(path)
