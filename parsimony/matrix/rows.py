"""The rows of a matrix file: a run that is to be read, or numbers that somebody published. A closed list of fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from parsimony.errors import InputError
from parsimony.plainrows import is_showable
from parsimony.value import amounts

MOST_TASKS: Final = 10**7
"""Tasks that a benchmark may have: more is a mistake in a file."""
_WHERE: Final = ("model", "benchmark", "scaffold")
_OF_RUNS: Final = ("run", "arm")
_PUBLISHED: Final = ("accuracy", "n", "dollars", "source")
FIELDS: Final = (*_WHERE, *_OF_RUNS, *_PUBLISHED)


class Place(NamedTuple):
    """Where a result stands in the matrix."""

    model: str
    benchmark: str
    scaffold: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """An arm of a run. `arm` may be None where the run has only one."""

    place: Place
    run: str
    arm: str | None = None


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """Published numbers.

    Attributes:
        accuracy: exactly as written, 0..1. n: tasks.
        micro_dollars: what one pass over all n tasks cost; None = not told, which is not nothing.
        source: where the numbers were published, "" where nobody says.
    """

    place: Place
    accuracy: Fraction
    n: int
    micro_dollars: int | None = None
    source: str = ""


def parse_row(values: Mapping[str, object]) -> RunRow | PublishedRow:
    """One row from its fields.

    Raises:
        InputError: a field is missing, unknown, of the wrong kind, or belongs to the other form of a row.
    """
    for field in values:
        if field not in FIELDS:
            raise InputError("is no field of a row", mend=f"fields are {', '.join(FIELDS)}", field=str(field)[:60])
    place = Place(*(_text(values, field) for field in _WHERE))
    others = _PUBLISHED if values.get("run") is not None else _OF_RUNS
    for field in others:
        if values.get(field) is not None:
            mend = f"a row has {' and '.join(_OF_RUNS)}, or {', '.join(_PUBLISHED)}"
            raise InputError("is a field of the other form of a row", mend=mend, field=field)
    if values.get("run") is not None:
        return RunRow(place, _text(values, "run"), None if values.get("arm") is None else _text(values, "arm"))
    if values.get("accuracy") is None:
        mend = "name a run, or tell the accuracy, n and dollars that were published"
        raise InputError("is missing, and so is `run`", mend=mend, field="accuracy")
    told = values.get("dollars")
    return PublishedRow(
        place,
        _accuracy(values["accuracy"]),
        _tasks(values.get("n")),
        None if told is None else amounts.micro_dollars(told, "dollars"),
        "" if values.get("source") is None else _text(values, "source"),
    )


def _text(values: Mapping[str, object], field: str) -> str:
    value = values.get(field)
    if not isinstance(value, str) or not value.strip():
        raise InputError.wrong(field, value, "a text that is not blank (a number needs quotes)")
    if not is_showable(value):
        raise InputError.wrong(field, value, "a text without control characters")
    return value.strip()


def _accuracy(value: object) -> Fraction:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return Fraction(Decimal(repr(value)))
    raise InputError.wrong("accuracy", value, "a share from 0 to 1, such as 0.412 for 41.2 %")


def _tasks(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_TASKS:
        return value
    raise InputError.wrong("n", value, f"how many tasks there were, 1 to {MOST_TASKS:,}")
