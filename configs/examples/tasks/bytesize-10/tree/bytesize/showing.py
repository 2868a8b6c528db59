"""From a count of bytes to text."""

from __future__ import annotations

from bytesize.units import BINARY, DECIMAL


def show(count: int, *, decimal: bool = False, digits: int = 1) -> str:
    """`count` bytes in the largest unit of which there is at least one, rounded to `digits` decimals."""
    base, units = (1000, DECIMAL) if decimal else (1024, BINARY)
    size, power = float(abs(count)), 0
    while size >= base and power < len(units) - 1:
        size /= base
        power += 1
    text = f"{size:.{digits}f}" if power else str(int(size))
    return f"{'-' if count < 0 else ''}{text} {units[power]}"
