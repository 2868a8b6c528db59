"""Reading a ledger, also while it is written: no lock, one consistent state."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from cluster.ledger.journal import JournalIndex, damaged
from cluster.ledger.manifest import Journal, Manifest, load_manifest
from cluster.ledger.rows import encode_value
from cluster.ledger.schema import SCHEMA, Columns, Schema, Type
from parsimony.errors import InputError, LedgerError

if TYPE_CHECKING:
    import pyarrow as pa

    from cluster.ledger.scan import KindScan

T = TypeVar("T")
_SEARCHABLE = frozenset({Type.KEY, Type.NAME, Type.TEXT, Type.INT32, Type.INT64})
_SEARCH_MEND = "name a column of text or integers, or go through `rows`"


class LedgerReader:
    """The rows that a ledger held when the reader was made, in the order in which they were appended.

    A ledger only grows, and neither a seal nor a merger changes the order of rows. So a state is a number of rows of
    each kind: when a writer moves rows to other files meanwhile, the reader follows it there and stops at its number.
    All answers of one reader agree with each other; make another reader, or ask for the `later` one, to see what came
    later.

    Every method raises LedgerCorrupt when bytes are not those that were written, with the file, the line where there
    are lines, and the mend.

    Args:
        directory: of the ledger.

    Raises:
        InputError: there is no ledger.
        LedgerError: it was written by a newer version of this program.
    """

    def __init__(self, directory: Path, *, schema: Schema = SCHEMA) -> None:
        self._directory = directory
        self._schema = schema
        self._manifest = self._load()
        self._indexes: dict[str, JournalIndex] = {}
        self._counts = self._following(self._count)

    def later(self) -> Self:
        """A reader of what the ledger holds now. It takes over what this one knows of journals, so that it costs in
        proportion to what was added since; this one stays as it is. Not for several threads at once.

        Raises:
            LedgerError: rows have gone since; read the ledger from its beginning.
        """
        fresh = copy.copy(self)
        fresh._manifest = fresh._load()
        fresh._indexes = dict(self._indexes)
        fresh._counts = fresh._following(fresh._grown)
        gone = [kind for kind, count in self._counts.items() if fresh.count(kind) < count]
        if gone:
            raise self._shrunk(gone[0])
        return fresh

    def _grown(self, manifest: Manifest) -> Mapping[str, int]:
        self._indexes = {one.file: self._indexes[one.file] for one in manifest.journals if one.file in self._indexes}
        for journal in manifest.journals:
            if journal.file in self._indexes:
                journal.grow(self._indexes[journal.file], self._schema.kinds)
        return self._count(manifest)

    def _load(self) -> Manifest:
        manifest = load_manifest(self._directory, self._schema)
        if manifest is None:
            mend = "name the folder of a ledger (DIR/ledger of a run); a run makes it when it starts"
            raise InputError("there is no ledger here", mend=mend, file=str(self._directory))
        return manifest

    def _following(self, read: Callable[[Manifest], T]) -> T:
        """`read(manifest)`, again with a newer manifest when a writer has moved rows to other files."""
        while True:
            manifest = self._manifest
            try:
                return read(manifest)
            except FileNotFoundError:
                self._follow(manifest)

    def _follow(self, used: Manifest) -> None:
        """Go on to a manifest newer than `used`; LedgerCorrupt when there is none and a file is gone all the same."""
        if self._manifest.number == used.number:
            self._manifest = self._load()
        if self._manifest.number == used.number:
            gone = [name for name in sorted(used.files()) if not (self._directory / name).exists()]
            raise damaged(self._directory / ", ".join(gone), "", "the manifest names it and it is missing")

    def _index(self, journal: Journal) -> JournalIndex:
        """The index of a journal, made once. Rows that are appended later are not in it, nor in this reader's state."""
        if journal.file not in self._indexes:
            self._indexes[journal.file] = journal.index(self._directory, self._schema.kinds)
        return self._indexes[journal.file]

    def _count(self, manifest: Manifest) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        for segment in manifest.segments:
            counts[segment.kind] += segment.rows
        for journal in manifest.journals:
            counts.update(self._index(journal).counts)
        return counts

    def _scan(self, manifest: Manifest, kind: str) -> KindScan:
        from cluster.ledger.scan import KindScan  # noqa: PLC0415 -- loads pyarrow, which counting does not need

        return KindScan(self._directory, manifest, self._schema, kind, self._index)

    def count(self, kind: str) -> int:
        """How many rows of a kind there are. Raises InputError for an unknown kind."""
        self._schema.columns(kind)
        return self._counts.get(kind, 0)

    def rows(self, kind: str, columns: Sequence[str] | None = None, *, skip: int = 0) -> Iterator[dict[str, Any]]:
        """The rows of a kind one by one, as `Ledger.append` took them: bytes, lists, times in seconds; None for null.

        Holds a few thousand rows at a time.

        Args:
            columns: which columns, in which order; None = all of them.
            skip: how many of the first rows to leave out, at no cost where they fill files.

        Raises:
            InputError: an unknown kind or column (at the call, not at the first row).
        """
        return self._rows(kind, self._schema.select(kind, columns), skip, everything=columns is None)

    def _rows(self, kind: str, columns: Columns, skip: int, *, everything: bool) -> Iterator[dict[str, Any]]:
        from cluster.ledger.tables import python_rows  # noqa: PLC0415 -- as in `_scan`

        total, done = self.count(kind), skip
        while done < total:
            manifest = self._manifest
            try:
                parts = self._scan(manifest, kind).small_tables(None if everything else columns, skip=done)
                for table in parts:
                    for row in python_rows(table.slice(0, total - done), columns):
                        done += 1
                        yield row
                    if done == total:
                        return
            except FileNotFoundError:
                self._follow(manifest)
            else:
                raise self._shrunk(kind)

    def find(self, kind: str, column: str, value: str | int) -> list[dict[str, Any]]:
        """The rows of a kind in which a column of text or integers has a value, in order, with all columns.

        Much faster than a look at every row: of most rows only this column is read.

        Raises:
            InputError: an unknown kind or column, or a value that the column cannot have.
        """
        from cluster.ledger.tables import python_rows  # noqa: PLC0415 -- as in `_scan`

        wanted = self._schema.select(kind, [column])[column]
        if wanted.type not in _SEARCHABLE:
            raise InputError("this column cannot be searched", mend=_SEARCH_MEND, field=f"{kind}.{column}")
        stored = json.loads(encode_value(kind, wanted, value))
        limit = self.count(kind)
        found = self._following(lambda manifest: list(self._scan(manifest, kind).matching(wanted, stored, limit=limit)))
        columns = self._schema.columns(kind)
        return [row for table in found for row in python_rows(table, columns)]

    def table(
        self, kind: str, columns: Sequence[str] | None = None, *, as_dictionary: Collection[str] = ()
    ) -> pa.Table:
        """The rows of a kind as one Arrow table.

        Args:
            columns: which columns, in which order; None = all of them.
            as_dictionary: columns of text, among `columns`, to leave dictionary-encoded: grouping by them is faster.
                Dictionaries differ from chunk to chunk until `unify_dictionaries`.

        Raises:
            InputError: an unknown kind or column.
        """
        selected = self._schema.select(kind, columns)
        wanted = None if columns is None else selected
        table = self._following(lambda manifest: self._scan(manifest, kind).table(wanted, as_dictionary=as_dictionary))
        if len(table) < self.count(kind):
            raise self._shrunk(kind)
        return table.slice(0, self.count(kind))

    def _shrunk(self, kind: str) -> LedgerError:
        problem = f"{self._directory}: {kind} rows have gone since this reader was made (was the ledger mended?)"
        return LedgerError(f"{problem}; read it again")

    def verify(self) -> None:
        """Check every byte of every file of the ledger: digests of segments, checksums of lines."""
        self._following(self._verify)

    def _verify(self, manifest: Manifest) -> None:
        for segment in manifest.segments:
            segment.verify(self._directory)
        for journal in manifest.journals:
            journal.index(self._directory, self._schema.kinds)
