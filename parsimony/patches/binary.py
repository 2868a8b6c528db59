"""The data of a `GIT binary patch`: base85 lines around zlib, literal or as a delta.

The format is git's own; each data line starts with a letter for its length (A-Z are 1 to 26 bytes, a-z are 27 to 52),
then five characters for every four bytes.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Sequence

from parsimony.errors import InputError
from parsimony.patches.model import BinaryHunk

_METHOD = re.compile(rb"(literal|delta) (\d{1,18})\r?\n")
_ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_LENGTH = {letter: number for number, letter in enumerate(_ALPHABET[10:62], start=1)}
_DIGITS = bytes(_ALPHABET.index(code) if code in _ALPHABET else 255 for code in range(256))
_PLACES = (85**4, 85**3, 85**2, 85, 1)
_MEND = "make the patch again with git diff --binary"


def read_hunk(lines: Sequence[bytes], at: int) -> tuple[BinaryHunk, int] | None:
    """The binary hunk at line `at` and the line after its last; None if none starts there.

    The end is at a blank line or where a line is no base85 any more. Nothing is inflated here: `inflate` does that.
    """
    method = _METHOD.fullmatch(lines[at]) if at < len(lines) else None
    if method is None:
        return None
    end = at + 1
    while end < len(lines) and _is_data_line(lines[end]):
        end += 1
    return BinaryHunk(at + 1, method[1], int(method[2]), tuple(lines[at:end])), end


def _is_data_line(line: bytes) -> bool:
    text = line.rstrip(b"\r\n")
    length = _LENGTH.get(text[0]) if text else None
    if length is None:
        return False
    return len(text) - 1 == (length + 3) // 4 * 5 and not text.translate(None, _ALPHABET)


def content(hunk: BinaryHunk, old: bytes, limit: int) -> bytes:
    """What a binary hunk makes of `old`.

    Args:
        limit: most bytes that the data and the result may have; nothing larger is ever inflated.

    Raises:
        InputError: the data are damaged, do not have the stated size, do not fit `old`, or are too large.
    """
    data = inflate(hunk, limit)
    return data if hunk.method == b"literal" else _apply_delta(data, old, limit, hunk.row)


def inflate(hunk: BinaryHunk, limit: int) -> bytes:
    """The data of a hunk: the new content for a literal, git's delta otherwise.

    Raises:
        InputError: the data are damaged, do not have the stated size, or are over `limit` bytes.
    """
    if hunk.size > limit:
        raise InputError(f"binary data of {hunk.size} bytes are over the limit of {limit}", mend=_MEND, row=hunk.row)
    try:
        inflater = zlib.decompressobj()
        data = inflater.decompress(_decode(hunk.lines[1:]), hunk.size + 1)
    except (ValueError, zlib.error) as error:
        raise InputError(f"damaged binary data ({error})", mend=_MEND, row=hunk.row) from None
    if len(data) != hunk.size or not inflater.eof:
        raise InputError(f"binary data do not have the stated {hunk.size} bytes", mend=_MEND, row=hunk.row)
    return data


def _decode(lines: Sequence[bytes]) -> bytes:
    """Base85 lines, all at once: pure Python takes nearly a second for a megabyte."""
    import numpy as np  # noqa: PLC0415 - few patches are binary, and it takes a while to load

    texts = [line.rstrip(b"\r\n") for line in lines]
    digits = np.frombuffer(b"".join(text[1:] for text in texts).translate(_DIGITS), np.uint8)
    words = digits.reshape(-1, 5).astype(np.uint64) @ np.array(_PLACES, np.uint64)
    if words.size and int(words.max()) > 0xFFFFFFFF:
        raise ValueError("base85 overflow")
    decoded = words.astype(">u4").tobytes()
    out, at = bytearray(), 0
    for text in texts:
        out += decoded[at : at + _LENGTH[text[0]]]
        at += (len(text) - 1) // 5 * 4
    return bytes(out)


def _apply_delta(delta: bytes, old: bytes, limit: int, row: int) -> bytes:
    """Git's pack delta: two sizes, then copies from `old` and insertions."""
    damaged = InputError("damaged binary delta", mend=_MEND, row=row)
    try:
        old_size, at = _size(delta, 0)
        new_size, at = _size(delta, at)
        if old_size != len(old):
            raise InputError(f"a delta for {old_size} bytes meets a base of {len(old)}", mend=_MEND, row=row)
        if new_size > limit:
            raise InputError(f"a delta makes {new_size} bytes, over the limit of {limit}", mend=_MEND, row=row)
        out = bytearray()
        while at < len(delta) and len(out) <= new_size:
            code = delta[at]
            at += 1
            if code & 0x80:
                offset, length, at = _copy_range(delta, at, code)
                if offset + length > len(old):
                    raise damaged
                out += old[offset : offset + length]
            elif code and at + code <= len(delta):
                out += delta[at : at + code]
                at += code
            else:
                raise damaged
    except IndexError:
        raise damaged from None
    if len(out) != new_size:
        raise damaged
    return bytes(out)


def _size(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift > 63:
            raise IndexError


def _copy_range(delta: bytes, at: int, code: int) -> tuple[int, int, int]:
    offset = length = 0
    for bit in range(4):
        if code & (1 << bit):
            offset |= delta[at] << (8 * bit)
            at += 1
    for bit in range(3):
        if code & (0x10 << bit):
            length |= delta[at] << (8 * bit)
            at += 1
    return offset, length or 0x10000, at


def blob_id(data: bytes, digits: int) -> bytes:
    """The id that git gives a file's content, in hexadecimal: SHA-1 for 40 digits, SHA-256 for 64."""
    digest = hashlib.sha1(usedforsecurity=False) if digits == 40 else hashlib.sha256()
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest().encode()
