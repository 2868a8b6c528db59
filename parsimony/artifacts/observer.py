"""What a long command says while it goes on. Who shows it is not known here."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Told what happens; must return at once."""

    def stage(self, what: str) -> None:
        """Another part of the work begins, such as `predictions of AGENT`."""

    def downloading(self, url: str, received: int, total: int | None) -> None:
        """Bytes of one download so far; `total` is None where the server does not say."""

    def waiting(self, url: str, why: str, seconds: float) -> None:
        """A download failed and is tried again after a pause."""

    def planned(self, records: int) -> None:
        """So many records will come."""

    def recorded(self, task_id: str, status: str) -> None:
        """A record is written."""

    def warn(self, text: str) -> None:
        """Something that a person should know, in one sentence."""


class Quiet:
    """Says nothing."""

    def stage(self, what: str) -> None:
        """See `Observer`."""

    def downloading(self, url: str, received: int, total: int | None) -> None:
        """See `Observer`."""

    def waiting(self, url: str, why: str, seconds: float) -> None:
        """See `Observer`."""

    def planned(self, records: int) -> None:
        """See `Observer`."""

    def recorded(self, task_id: str, status: str) -> None:
        """See `Observer`."""

    def warn(self, text: str) -> None:
        """See `Observer`."""
