"""Capturing output in constant memory: the head, the tail, and how many bytes there were."""

from __future__ import annotations

from parsimony.execution import CapturedOutput


class OutputBuffer:
    """Keeps the first and the last half of at most `limit` bytes of a stream of any length.

    Args:
        limit: bytes kept in all.
    """

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def write(self, data: bytes | memoryview) -> None:
        """Take in the next bytes of the stream; a view may be reused by the caller afterwards."""
        self.total_bytes += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[max(0, len(data) - self._tail_limit) :]
        # Cutting only at twice the limit makes a byte move once on average, however small the pieces are.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def captured(self) -> CapturedOutput:
        """What was kept so far. When nothing was left out, all of it is in the head."""
        head, tail = bytes(self._head), bytes(self._tail[max(0, len(self._tail) - self._tail_limit) :])
        if len(head) + len(tail) == self.total_bytes:
            return CapturedOutput(head + tail, b"", self.total_bytes)
        return CapturedOutput(head, tail, self.total_bytes)


class FrameDecoder:
    """Takes Docker's multiplexed stream apart: frames of an 8-byte header (kind, 3 zeros, big-endian length) and data.

    Standard output and standard error go to `sink` alike, in the order of their frames.
    """

    HEADER = 8

    def __init__(self, sink: OutputBuffer) -> None:
        self._sink = sink
        self._header = bytearray()
        self._left = 0

    def feed(self, data: memoryview) -> None:
        """Take in the next bytes from the wire, cut anywhere."""
        while data:
            if self._left:
                self._sink.write(data[: self._left])
                taken = min(self._left, len(data))
                self._left -= taken
            else:
                taken = min(self.HEADER - len(self._header), len(data))
                self._header += data[:taken]
                if len(self._header) == self.HEADER:
                    self._left = int.from_bytes(self._header[4:], "big")
                    self._header.clear()
            data = data[taken:]

    @property
    def complete(self) -> bool:
        """Whether the stream so far ends at the end of a frame."""
        return not self._left and not self._header
