"""What the ledger tells of earlier refreshes: every row that came, and when, and what each source remembers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from parsimony.canonical import digest_json
from parsimony.chain import Chain, Entry
from parsimony.refresh.model import Mark, Source
from parsimony.schedules import read_moment

REFRESHED: Final = "refresh.done"
"""Kind of the entry of a refresh. Its data: `name`, `refresh` (when it began), `cutoffs`, `added` (rows with their
digests and where they came from), `sources` (what each gave)."""


@dataclass(frozen=True, slots=True)
class History:
    """The refreshes of one name, the oldest first."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, chain: Chain, name: str) -> History:
        """Those in a ledger."""
        return cls(tuple(entry for entry in chain.entries(REFRESHED) if entry.data["name"] == name))

    @property
    def added(self) -> dict[str, Mapping[str, Any]]:
        """By task, what the ledger tells of its row: digest, fingerprint, created_at, month, source, file, row."""
        return {one["task"]: one for entry in self.entries for one in entry.data["added"]}

    @property
    def digests(self) -> dict[str, str]:
        """Digest of the row by task."""
        return {task: str(one["digest"]) for task, one in self.added.items()}

    @property
    def last(self) -> datetime | None:
        """When the newest refresh began in which every source answered; None when there is none."""
        whole = (entry for entry in reversed(self.entries) if not failed(entry))
        newest = next(whole, None)
        return None if newest is None else read_moment(str(newest.data["refresh"]))

    def holds(self, refresh: str) -> bool:
        """Whether the refresh that began then is written down."""
        return any(entry.data["refresh"] == refresh for entry in self.entries)

    def mark(self, source: Source, asked: str) -> Mark | None:
        """What a source remembers of its newest fetch under the same rules; None when it is to give everything."""
        for one in self._of(source.name):
            if one["state"] != "failed":
                return one["mark"] if one["asked"] == asked else None
        return None

    def _of(self, name: str) -> Iterator[Mapping[str, Any]]:
        for entry in reversed(self.entries):
            yield from (one for one in entry.data["sources"] if one["source"] == name)


def failed(entry: Entry) -> list[str]:
    """The sources that did not answer in a refresh."""
    return [one["source"] for one in entry.data["sources"] if one["state"] == "failed"]


def asked_of(source: Source, defaults: Mapping[str, object], cutoffs: list[str]) -> str:
    """Digest of what decides which rows of a source are taken: under other rules it must be read anew."""
    return digest_json({"place": source.place, "defaults": {k: repr(v) for k, v in defaults.items()}, "after": cutoffs})
