"""Tar streams: there and back, hostile ones, broken ones."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.sandboxes import archive
from parsimony.errors import PermanentError

NAMES = st.text(st.characters(blacklist_characters="/\0", codec="utf-8"), min_size=1, max_size=120).filter(
    lambda name: name not in {".", ".."}
)


def pieces(data: bytes, size: int = 7) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=5), st.integers(1, 3000))
def test_there_and_back(files: dict[str, bytes], size: int) -> None:
    packed = archive.pack({f"out/{name}": data for name, data in files.items()}, {"out": 0o755})
    assert archive.unpack(pieces(packed, size), 1 << 20).files == files


def test_an_inbox_belongs_to_root_and_scripts_can_be_run() -> None:
    packed = archive.pack({"in/run.sh": b"#!/bin/sh\n", "in/data": b"x"}, {"in": 0o755, "out": 0o1777})
    with tarfile.open(fileobj=io.BytesIO(packed)) as found:
        modes = {member.name: member.mode for member in found}
        assert all((member.uid, member.gid) == (0, 0) for member in found)
    assert modes == {"in": 0o755, "out": 0o1777, "in/run.sh": 0o755, "in/data": 0o644}


@pytest.mark.parametrize("name", ["", ".", "/etc/passwd", "../x", "a/../../x", "a\0b"])
def test_names_that_no_inbox_can_hold(name: str) -> None:
    with pytest.raises(PermanentError, match="inbox"):
        archive.checked_inbox({name: b""})


def test_a_name_that_is_a_file_and_a_folder() -> None:
    with pytest.raises(PermanentError, match="folder"):
        archive.checked_inbox({"a/b": b"", "a": b""})
    with pytest.raises(PermanentError):
        archive.checked_inbox({"a/b": b"", "a//b": b""})


def test_names_are_made_normal() -> None:
    assert archive.checked_inbox({"./a//b": b"1", "c/": b"2"}) == {"a/b": b"1", "c": b"2"}
    assert archive.folders_of(["a/b/c", "a/d", "e"]) == ["a", "a/b"]


def hostile() -> bytes:
    """What no engine would send, and what a candidate may put into its outbox."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as out:
        for name, kind, target in (
            ("out", tarfile.DIRTYPE, ""),
            ("out/../../etc/x", tarfile.REGTYPE, ""),
            ("/out/absolute", tarfile.REGTYPE, ""),
            ("out/link", tarfile.SYMTYPE, "/etc/passwd"),
            ("out/hard", tarfile.LNKTYPE, "out/nothing"),
            ("out/../x", tarfile.LNKTYPE, "out/good"),
            ("out/device", tarfile.CHRTYPE, ""),
            ("out/pipe", tarfile.FIFOTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            out.addfile(member)
        member = tarfile.TarInfo("out/good")
        member.size = 2
        out.addfile(member, io.BytesIO(b"ok"))
        member = tarfile.TarInfo("out/same")
        member.type, member.linkname = tarfile.LNKTYPE, "out/good"
        out.addfile(member)
    return stream.getvalue()


def test_a_hostile_archive() -> None:
    outbox = archive.unpack(pieces(hostile(), 512), 1 << 20)
    assert outbox.files == {"good": b"ok", "same": b"ok"}
    [note] = outbox.notes
    assert note.startswith("7 in the outbox not read")


def test_reading_stops_at_the_cap() -> None:
    packed = archive.pack({"out/a": b"1" * 600, "out/b": b"2" * 600, "out/c": b""}, {})
    taken = 0

    def counted() -> Iterator[bytes]:
        nonlocal taken
        for piece in pieces(packed + bytes(1 << 22), 512):
            taken += len(piece)
            yield piece

    outbox = archive.unpack(counted(), 1000)
    assert outbox.files == {"a": b"1" * 600}
    assert "cut" in outbox.notes[0]
    assert taken <= 1 << 20


def test_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 3)
    outbox = archive.unpack([archive.pack({f"out/{n}": b"" for n in range(9)}, {})], 1000)
    assert set(outbox.files) == {"0", "1", "2"}
    assert "3 entries" in outbox.notes[0]


@given(st.data())
def test_a_stream_that_breaks_off_is_never_taken_for_a_whole_one(data: st.DataObject) -> None:
    packed = archive.pack({"out/a": bytes(2048), "out/b": b"2" * 100}, {"out": 0o755})
    end_mark = len(packed) - 2 * tarfile.BLOCKSIZE
    cut = data.draw(st.integers(0, end_mark) | st.sampled_from(range(0, end_mark + 1, tarfile.BLOCKSIZE)))
    with pytest.raises((tarfile.TarError, EOFError)):
        archive.unpack(pieces(packed[:cut], 300), 1 << 20)
