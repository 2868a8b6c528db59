"""Journals into segments, and many segments into one. Imports pyarrow; what is not asked for is not loaded.

Both only write new files and return what a manifest has to say of them. Nothing refers to the files before that, so a
failure at any point leaves the ledger as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from cluster.ledger.disk import Disk
from cluster.ledger.manifest import Journal, Segment
from cluster.ledger.schema import Schema
from cluster.ledger.segments import SegmentReader, SegmentWriter
from cluster.ledger.tables import journal_tables
from parsimony.execution import MIB

MERGE_BELOW = 256 * MIB
"""Segments of at least this size stay as they are."""

Namer = Callable[[str], str]
"""kind -> a file name that no segment had before."""


def seal_journals(
    directory: Path, journals: Iterable[Journal], schema: Schema, disk: Disk, name: Namer
) -> tuple[Segment, ...]:
    """One segment per kind that has rows in the journals, durable except for the directory's entries."""
    indexed = [(journal, journal.index(directory, schema.kinds)) for journal in journals]

    def tables(kind: str) -> Iterator[pa.Table]:
        for journal, index in indexed:
            yield from journal_tables(index, journal, schema, kind)

    kinds = [kind for kind in schema.kinds if any(kind in index.counts for _, index in indexed)]
    segments: list[Segment] = []
    try:
        for kind in kinds:
            writer = SegmentWriter(directory, name(kind), kind, schema, disk)
            segments.append(_filled(writer, tables(kind), disk))
    except BaseException:
        disk.discard([directory / segment.file for segment in segments])
        raise
    return tuple(segments)


def merge_segments(
    directory: Path, segments: Sequence[Segment], schema: Schema, disk: Disk, name: Namer
) -> tuple[Segment, ...]:
    """Segments of one kind as one segment, rows in the same order."""
    tables = (table for segment in segments for table in SegmentReader(directory, segment, schema).batches())
    kind = segments[0].kind
    return (_filled(SegmentWriter(directory, name(kind), kind, schema, disk), tables, disk),)


def mergeable(segments: Sequence[Segment], keep: int) -> list[tuple[Segment, ...]]:
    """Runs of neighbours of one kind that are worth merging: kinds with more than `keep` small segments."""
    runs: list[tuple[Segment, ...]] = []
    for kind in sorted({segment.kind for segment in segments}):
        mine = [segment for segment in segments if segment.kind == kind]
        small = [segment for segment in mine if segment.bytes < MERGE_BELOW]
        if len(small) > keep:
            grouped = groupby(mine, key=lambda segment: segment.bytes < MERGE_BELOW)
            neighbours = [tuple(group) for is_small, group in grouped if is_small]
            runs += [run for run in neighbours if len(run) > 1]
    return runs


def _filled(writer: SegmentWriter, tables: Iterator[pa.Table], disk: Disk) -> Segment:
    try:
        for table in tables:
            writer.add(table)
        return writer.finish()
    except BaseException:
        disk.discard(writer.abandon())
        raise
    finally:
        pa.default_memory_pool().release_unused()  # a driver lives long and seals rarely
