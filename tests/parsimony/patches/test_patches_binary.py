"""`GIT binary patch` data."""

import base64
import contextlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.patches.binary import blob_id, content, read_hunk
from parsimony.patches.model import BinaryHunk

LIMIT = 1 << 20


def packed(method: bytes, data: bytes, size: int | None = None) -> list[bytes]:
    """Lines of a binary hunk as git writes them, without the blank line at the end."""
    deflated = zlib.compress(data)
    lines = [b"%s %d\n" % (method, len(data) if size is None else size)]
    for at in range(0, len(deflated), 52):
        chunk = deflated[at : at + 52]
        letter = len(chunk) + (64 if len(chunk) <= 26 else 70)
        lines.append(bytes([letter]) + base64.b85encode(chunk, pad=True) + b"\n")
    return lines


def hunk(method: bytes, data: bytes, size: int | None = None) -> BinaryHunk:
    lines = packed(method, data, size)
    read = read_hunk(lines, 0)
    assert read is not None
    assert read[1] == len(lines)
    return read[0]


@given(st.binary(max_size=500))
def test_literals(data: bytes) -> None:
    assert content(hunk(b"literal", data), b"old", LIMIT) == data


def test_deltas_copy_and_insert() -> None:
    old = bytes(range(256)) * 300  # 76,800 bytes: a copy of size 0 means 65,536
    delta = b"\x80\xd8\x04" + b"\x85\x80\x04" + b"\x80" + b"\x91\x05\x02" + b"\x03xyz"
    expected = old[:0x10000] + old[5:7] + b"xyz"
    assert len(expected) == 0x10005
    assert content(hunk(b"delta", delta), old, LIMIT) == expected


@pytest.mark.parametrize(
    "delta",
    [
        b"",
        b"\x80",
        b"\x02\x01\x01a",  # made for a base of two bytes
        b"\x03\x02\x01a",  # too short
        b"\x03\x01\x02ab",  # too long
        b"\x03\x02\x00",  # a reserved code
        b"\x03\x02\x05ab",  # an insertion that is cut
        b"\x03\x02\x91\x02\x02",  # a copy beyond the end
        b"\x03\x02\x91\x02",  # a copy that is cut
        b"\x03" + b"\xff" * 12 + b"\x01",  # an endless size
        b"\x03\xff\xff\xff\xff\x7f",  # a result over the limit
    ],
)
def test_damaged_deltas(delta: bytes) -> None:
    with pytest.raises(InputError):
        content(hunk(b"delta", delta), b"old", LIMIT)


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_any_delta_ends_in_bytes_or_an_input_error(delta: bytes, old: bytes) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(content(hunk(b"delta", b"%c" % len(old) + delta), old, LIMIT), bytes)


def test_stated_sizes_are_held_to() -> None:
    for size in (2, 4):
        with pytest.raises(InputError, match=f"stated {size} bytes"):
            content(hunk(b"literal", b"abc", size), b"", LIMIT)


def test_a_bomb_is_not_inflated() -> None:
    with pytest.raises(InputError, match="over the limit"):
        content(hunk(b"literal", b"", 10**15), b"", LIMIT)
    with pytest.raises(InputError, match="stated 10 bytes"):
        content(hunk(b"literal", bytes(10_000_000), 10), b"", LIMIT)


def test_damaged_data() -> None:
    lines = packed(b"literal", b"hello")
    for bad in (lines[1][:1] + b"~" * (len(lines[1]) - 2) + b"\n", lines[1].replace(lines[1][3:6], b"000")):
        read = read_hunk([lines[0], bad], 0)
        assert read is not None
        with pytest.raises(InputError):
            content(read[0], b"", LIMIT)


@pytest.mark.parametrize(
    "line", [b"A00000 \n", b"A0000\n", b"B0000000000\n", b"000000\n", b"A0000/\n", b"\n", b"diff\n"]
)
def test_a_line_that_is_no_data_ends_the_data(line: bytes) -> None:
    lines = [*packed(b"literal", b"x"), line]
    read = read_hunk(lines, 0)
    assert read is not None
    assert read[1] == len(lines) - 1


def test_no_data_at_all() -> None:
    assert read_hunk([], 0) is None
    assert read_hunk([b"literal\n"], 0) is None
    assert read_hunk([b"literal -3\n"], 0) is None


def test_blob_ids() -> None:
    assert blob_id(b"", 40) == b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id(b"", 64) == b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
