"""Parquet files for other tools. Not part of a ledger, in here because pyarrow is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.ledger.disk import Disk


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as one Parquet file; columns and their types are those of the values. Replaces `path` in one step.

    Lone surrogates in text are escaped with a backslash, as Parquet's text is Unicode.

    Raises:
        DiskFull, LedgerError: the file cannot be written; an earlier one is still whole.
    """
    import pyarrow as pa  # noqa: PLC0415 -- whoever imports `cluster.ledger` need not load it
    import pyarrow.parquet as pq  # noqa: PLC0415 -- as above

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [_unicode(row.get(name)) for row in rows] for name in names}
    encoded = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), encoded, compression="zstd")
    disk, partial = Disk(), path.with_name(f"{path.name}.tmp")
    disk.discard([partial])
    try:
        with disk.create(partial) as file:
            disk.write(file, memoryview(encoded.getvalue()))
            disk.sync(file)
        disk.rename(partial, path)
    finally:
        disk.discard([partial])


def _unicode(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    return value
