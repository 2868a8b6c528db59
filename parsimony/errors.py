"""Errors by what the caller should do about them.

What a candidate does (fails a test, hangs, runs out of memory, cheats) is never an exception: it is a value in an
`Execution`. Exceptions are for input that cannot be used, for faults that are worth another try elsewhere, and for a
ledger that cannot be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass


class ParsimonyError(Exception):
    """Root of every error that this project raises on purpose."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an input is wrong. `row` counts from 1 and is a line in text files, a record in tables."""

    file: str | None = None
    row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        where = self.file or ""
        if self.row is not None:
            where = f"{where}:{self.row}" if where else f"row {self.row}"
        if self.field is not None:
            where = f"{where}: {self.field}" if where else self.field
        return where


class InputError(ParsimonyError, ValueError):
    """Input that cannot be used: says where, what is wrong, and how to mend it.

    Args:
        problem: what is wrong, a clause without a full stop.
        mend: what the reader can do about it.
        file, row, field: the place; `row` counts from 1.
    """

    def __init__(
        self,
        problem: str,
        *,
        mend: str,
        file: str | None = None,
        row: int | None = None,
        field: str | None = None,
    ) -> None:
        self.problem = problem
        self.mend = mend
        self.place = Place(file, row, field)
        super().__init__(problem, mend, self.place)

    def __str__(self) -> str:
        where = str(self.place)
        return f"{where}: {self.problem}; {self.mend}" if where else f"{self.problem}; {self.mend}"

    @classmethod
    def wrong(cls, field: str, value: object, wanted: str) -> InputError:
        """The error for a field that holds `value` (shortened) where it should hold what `wanted` says.

        None is a field that is not there or holds null: who reads rows need not tell the two apart.
        """
        if value is None:
            return cls("is missing", mend=f"it must be {wanted}", field=field)
        shown = repr(value)
        return cls(f"is {shown if len(shown) <= 60 else shown[:57] + '...'}", mend=f"it must be {wanted}", field=field)

    def at(self, *, file: str | None = None, row: int | None = None, field: str | None = None) -> InputError:
        """The same error with the parts of its place that were not known where it was raised."""
        place = self.place
        return InputError(
            self.problem,
            mend=self.mend,
            file=place.file or file,
            row=place.row if place.row is not None else row,
            field=place.field or field,
        )


class PermanentError(ParsimonyError):
    """A fault that another try will not mend (an image without git, a test patch that does not fit its base)."""


class TemporaryError(ParsimonyError):
    """A fault of the machinery that is worth another try, elsewhere or later. Never a verdict."""

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        self.retry_after = retry_after
        super().__init__(message, retry_after)

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        # The default would pass retry_after positionally, which the signature refuses: these cross process borders.
        return _rebuild_temporary, (type(self), str(self), self.retry_after)


def _rebuild_temporary(kind: type[TemporaryError], message: str, retry_after: float) -> TemporaryError:
    return kind(message, retry_after=retry_after)


class SandboxUnavailable(TemporaryError):
    """The engine behind a sandbox does not answer or refuses work."""


class NodeLost(TemporaryError):
    """The node or agent that ran an attempt went away."""


class ImagePullFailed(TemporaryError):
    """An image could not be brought to the node."""


class Evicted(TemporaryError):
    """The platform took the sandbox away (preemption, eviction, a replaced pod)."""


class DiskFull(TemporaryError):
    """The node has no room left."""


class LedgerError(ParsimonyError):
    """A ledger cannot be used."""


class LedgerCorrupt(LedgerError):
    """Bytes in a ledger do not match their checksums."""


class LedgerLocked(LedgerError):
    """Another process writes this ledger."""
