"""Rows are checked at the door, and come back as they went in."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.ledger import SCHEMA, Ledger, LedgerReader
from cluster.ledger.disk import Disk
from cluster.ledger.rows import RowEncoder
from cluster.ledger.schema import ENDINGS, SCORE_OUTCOMES, Column, Type
from parsimony.errors import InputError
from parsimony.scorer import Outcome

ENCODER = RowEncoder(SCHEMA)
EVENT = {"at": 1.0, "name": "x"}
COST = {"kind": "llm"}
ATTEMPT = {"job_key": "k", "attempt": 1}


@pytest.mark.parametrize(
    ("kind", "row", "field"),
    [
        ("verdict", {}, "verdict"),
        ("event", {**EVENT, "colour": "red"}, "event.colour"),
        ("event", {"at": 1.0}, "event.name"),
        ("event", {"at": 1.0, "name": None}, "event.name"),
        ("event", {**EVENT, "at": "yesterday"}, "event.at"),
        ("event", {**EVENT, "at": math.nan}, "event.at"),
        ("event", {**EVENT, "at": 1e18}, "event.at"),
        ("event", {**EVENT, "name": b"x"}, "event.name"),
        ("event", {**EVENT, "name": "\udc80"}, "event.name"),
        ("event", {**EVENT, "data": {"not": "text"}}, "event.data"),
        ("attempt", {**ATTEMPT, "attempt": 2**31}, "attempt.attempt"),
        ("attempt", {**ATTEMPT, "attempt": -(2**31) - 1}, "attempt.attempt"),
        ("attempt", {**ATTEMPT, "attempt": True}, "attempt.attempt"),
        ("attempt", {**ATTEMPT, "attempt": 1.0}, "attempt.attempt"),
        ("attempt", {**ATTEMPT, "ending": "exploded"}, "attempt.ending"),
        ("cost", {**COST, "calls": 2**63}, "cost.calls"),
        ("cost", {**COST, "cpu_seconds": math.inf}, "cost.cpu_seconds"),
        ("cost", {**COST, "cpu_seconds": False}, "cost.cpu_seconds"),
        ("cost", {"kind": "storage"}, "cost.kind"),
        ("execution", {"execution_key": "k", "outcome": "completed", "tests": "text"}, "execution.tests"),
        ("execution", {"execution_key": "k", "outcome": "completed", "reasons": "text"}, "execution.reasons"),
        ("execution", {"execution_key": "k", "outcome": "completed", "reasons": [1]}, "execution.reasons"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(kind: str, row: dict[str, Any], field: str) -> None:
    """The error names kind and column, says what is wrong with the value, and what would do."""
    with pytest.raises(InputError) as caught:
        ENCODER.encode(kind, row)
    assert caught.value.place.field == field
    assert caught.value.mend


def test_a_refused_row_leaves_no_trace(directory: Path) -> None:
    with Ledger.open(directory) as ledger:
        with pytest.raises(InputError):
            ledger.append("event", {**EVENT, "colour": "red"})
        ledger.append("event", EVENT)
    assert LedgerReader(directory).count("event") == 1


def test_prose_of_candidates_never_stops_a_run() -> None:
    """Lone surrogates, as undecodable output gives them, are escaped in text and lists of text."""
    row = {**ATTEMPT, "message": "caf\udce9 \ud800", "fault": "é"}
    assert json.loads(ENCODER.encode("attempt", row))["message"] == "caf\\udce9 \\ud800"
    execution = {"execution_key": "k", "outcome": "completed", "reasons": ("a\udc80",)}
    assert json.loads(ENCODER.encode("execution", execution))["reasons"] == ["a\\udc80"]


def test_closed_sets_are_those_of_the_instrument() -> None:
    from cluster.dispatch.model import Ending

    assert set(Outcome) == SCORE_OUTCOMES
    assert set(Ending) == ENDINGS


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.KEY: TEXT,
    Type.NAME: TEXT,
    Type.TEXT: TEXT,
    Type.TEXTS: st.lists(TEXT, max_size=3),
    Type.INT32: st.integers(-(2**31), 2**31 - 1),
    Type.INT64: st.integers(-(2**63), 2**63 - 1),
    Type.FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    Type.TIME: st.integers(-(10**15), 10**16).map(lambda microseconds: microseconds / 1e6),
    Type.BYTES: st.binary(),
}


def _value(column: Column) -> st.SearchStrategy[Any]:
    value = st.sampled_from(sorted(column.values)) if column.values else VALUES[column.type]
    return value if column.required else st.none() | value


def _row(kind: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    columns = {name: _value(column) for name, column in SCHEMA.kinds[kind].items()}
    return st.tuples(st.just(kind), st.fixed_dictionaries(columns))


ROWS = st.lists(st.sampled_from(sorted(SCHEMA.kinds)).flatmap(_row), max_size=6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_rows_come_back_as_they_went_in(
    rows: list[tuple[str, dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory, quick_disk: Disk
) -> None:
    """From the journal and from a segment alike, all types, all columns."""
    directory = tmp_path_factory.mktemp("round-trip")
    with Ledger.open(directory, disk=quick_disk) as ledger:
        for kind, row in rows:
            ledger.append(kind, row)
        ledger.flush()
        _assert_holds(directory, rows)
        ledger.seal()
        _assert_holds(directory, rows)


def _assert_holds(directory: Path, rows: list[tuple[str, dict[str, Any]]]) -> None:
    reader = LedgerReader(directory)
    for kind in SCHEMA.kinds:
        expected = [row for other, row in rows if other == kind]
        assert list(reader.rows(kind)) == expected
        assert reader.count(kind) == len(expected)
        assert len(reader.table(kind)) == len(expected)
