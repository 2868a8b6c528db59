"""What a source gives: rows that are tasks, each with where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from parsimony.canonical import canonical_json, digest_bytes
from parsimony.sets import fingerprint
from parsimony.tasks import Task

Mark = Mapping[str, Any]
"""What a source remembers of its last fetch, for the next one: a JSON object, of no meaning to anybody else."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a row came from.

    Attributes:
        source: name of the source.
        file: in it: the name of a file of a folder, or a URL.
        row: in the file, from 1.
        sha256: of the bytes of the file, as fetched.
    """

    source: str
    file: str
    row: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.file}:{self.row}"

    def to_json(self) -> dict[str, str | int]:
        """For the ledger."""
        return {"source": self.source, "file": self.file, "row": self.row, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class Offered:
    """A row that is a task.

    Attributes:
        row: as it is kept: what JSON can hold, and the base tree named by its content.
    """

    task: Task
    row: Mapping[str, Any]
    provenance: Provenance

    @property
    def line(self) -> bytes:
        """The row as it is kept, canonical JSON without a line feed."""
        return canonical_json(self.row)

    @property
    def digest(self) -> str:
        """Of all of the row: equal digests are equal rows."""
        return digest_bytes(self.line)

    @property
    def fingerprint(self) -> str:
        """Of what the task is, its name left out (see `parsimony.sets.fingerprint`)."""
        return fingerprint(self.task)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch brought.

    Attributes:
        rejected: rows and files that cannot be used, each with file, row, field and mend.
        mark: for the next fetch.
        unchanged: nothing was read, because nothing has changed since the mark.
    """

    offered: tuple[Offered, ...]
    rejected: tuple[str, ...]
    mark: Mark
    unchanged: bool = False


class Source(Protocol):
    """Where new tasks come from. It never takes part in scoring."""

    @property
    def name(self) -> str:
        """Its name, for people and for the ledger."""
        ...

    @property
    def place(self) -> str:
        """Its folder or URL, for the ledger."""
        ...

    def fetch(self, since: Mark | None) -> Fetched:
        """The rows that are there now.

        Args:
            since: the mark of an earlier fetch: what is as it was then may be left out. None = give everything.

        Raises:
            TemporaryError: the network or the server failed; another time may be luckier.
            InputError: the source as a whole cannot be used.
        """
        ...
