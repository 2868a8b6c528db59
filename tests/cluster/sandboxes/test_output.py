"""Head, tail and count, against the plain definition; frames cut anywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster.sandboxes.output import FrameDecoder, OutputBuffer

PIECES = st.lists(st.binary(max_size=40), max_size=40)


@given(PIECES, st.integers(0, 60))
def test_head_and_tail_of_any_stream(pieces: list[bytes], limit: int) -> None:
    buffer = OutputBuffer(limit)
    for piece in pieces:
        buffer.write(piece)
    whole = b"".join(pieces)
    kept = buffer.captured()
    assert kept.total_bytes == len(whole)
    if len(whole) <= limit:
        assert (kept.head, kept.tail) == (whole, b"")
    else:
        assert kept.head == whole[: limit - limit // 2]
        assert kept.tail == whole[len(whole) - limit // 2 :]
    assert kept.omitted_bytes == max(0, len(whole) - limit)


@given(PIECES, st.data())
def test_frames_cut_anywhere(pieces: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(
        bytes([data.draw(st.sampled_from((1, 2))), 0, 0, 0]) + len(piece).to_bytes(4, "big") + piece for piece in pieces
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=12)))
    buffer = OutputBuffer(1 << 20)
    decoder = FrameDecoder(buffer)
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        decoder.feed(memoryview(bytearray(wire[start:end])))
    assert buffer.captured().head == b"".join(pieces)
    assert decoder.complete


@given(st.binary(min_size=1, max_size=30), st.data())
def test_a_frame_that_breaks_off_is_noticed(payload: bytes, data: st.DataObject) -> None:
    wire = b"\1\0\0\0" + len(payload).to_bytes(4, "big") + payload
    decoder = FrameDecoder(OutputBuffer(100))
    decoder.feed(memoryview(wire[: data.draw(st.integers(1, len(wire) - 1))]))
    assert not decoder.complete


def test_memory_stays_bounded_however_small_the_pieces() -> None:
    buffer = OutputBuffer(1000)
    for _ in range(50_000):
        buffer.write(b"x")
    assert len(buffer._head) <= 500
    assert len(buffer._tail) <= 1000
