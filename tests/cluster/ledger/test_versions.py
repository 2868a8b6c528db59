"""Old ledgers stay readable and writable; newer ones are refused in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cluster.ledger import SCHEMA, Ledger, LedgerOptions, LedgerReader
from cluster.ledger.manifest import load_manifest
from cluster.ledger.schema import Column, Schema, Type
from parsimony.canonical import digest_json
from parsimony.errors import InputError, LedgerError

Score = Callable[..., dict[str, Any]]

NEXT = SCHEMA.version + 1


def double_the_seed(kind: str, table: pa.Table) -> pa.Table:
    if kind != "score":
        return table
    doubled = pc.multiply(table.column("seed"), 2)
    return table.set_column(table.column_names.index("twice"), table.schema.field("twice"), doubled)


SECOND = Schema(
    version=NEXT,
    kinds={
        **SCHEMA.kinds,
        "score": {
            **SCHEMA.kinds["score"],
            "twice": Column("twice", Type.INT64, since=NEXT),
            "note": Column("note", Type.TEXT, since=NEXT),
        },
        "plan": {"name": Column("name", Type.NAME, since=NEXT)},
    },
)
SECOND_FILLED = replace(SECOND, migrations={SCHEMA.version: double_the_seed})
THIRD = replace(
    SECOND,
    version=NEXT + 1,
    kinds={**SECOND.kinds, "plan": {**SECOND.kinds["plan"], "size": Column("size", Type.INT32, since=NEXT + 1)}},
    migrations={SCHEMA.version: double_the_seed},
)


@pytest.fixture
def old(directory: Path, score: Score) -> Path:
    """A ledger of this version: a score in a segment, another in the journal."""
    with Ledger.open(directory) as ledger:
        ledger.append("score", score(1))
        ledger.seal()
        ledger.append("score", score(2))
        ledger.close(seal=False)
    return directory


def test_added_columns_of_old_rows_are_null(old: Path) -> None:
    reader = LedgerReader(old, schema=SECOND)
    assert [(row["seed"], row["twice"], row["note"]) for row in reader.rows("score")] == [
        (1, None, None),
        (2, None, None),
    ]
    assert reader.table("score", ["note", "seed"]).to_pylist() == [{"note": None, "seed": 1}, {"note": None, "seed": 2}]
    assert reader.table("score", ["note"]).column("note").to_pylist() == [None, None]
    assert [row["note"] for row in reader.rows("score", ["note"])] == [None, None]
    assert reader.find("score", "note", "x") == []
    assert list(reader.rows("plan")) == []


@pytest.mark.parametrize("schema", [SECOND_FILLED, THIRD])
@pytest.mark.parametrize("columns", [None, ["twice"], ["twice", "seed"], ["note"]])
def test_a_migration_fills_old_rows(old: Path, schema: Schema, columns: list[str] | None) -> None:
    """Whichever columns are read, from segment and journal alike, over one version and over two."""
    reader = LedgerReader(old, schema=schema)
    expected = {"twice": [2, 4], "seed": [1, 2], "note": [None, None]}
    for name in columns or ["twice", "seed", "note"]:
        assert reader.table("score", columns).column(name).to_pylist() == expected[name]
        assert [row[name] for row in reader.rows("score", columns)] == expected[name]
    assert [row["seed"] for row in reader.find("score", "twice", 2)] == [1]
    arms = reader.table("score", ["arm", "twice"], as_dictionary=["arm"])
    assert arms.column("arm").cast("string").to_pylist() == ["a", "a"]


def test_an_old_ledger_goes_on_in_the_new_version(old: Path, score: Score) -> None:
    """Old journals are sealed and old segments merged as new ones; what a migration filled is stored."""
    with Ledger.open(old, LedgerOptions(keep_segments=1), schema=SECOND_FILLED) as ledger:
        ledger.append("score", score(3, twice=7, note="new"))
        ledger.append("plan", {"name": "p"})
    manifest = load_manifest(old, SECOND)
    assert manifest is not None
    assert manifest.schema == NEXT
    assert [segment.schema for segment in manifest.segments] == [NEXT, NEXT]
    assert LedgerReader(old, schema=SECOND).table("score", ["twice"]).column("twice").to_pylist() == [2, 4, 7]


def test_old_segments_are_left_as_they_are(old: Path, score: Score) -> None:
    with Ledger.open(old, schema=SECOND_FILLED) as ledger:
        ledger.append("score", score(3))
    manifest = load_manifest(old, SECOND)
    assert manifest is not None
    assert [segment.schema for segment in manifest.segments] == [SCHEMA.version, NEXT]
    assert LedgerReader(old, schema=SECOND_FILLED).table("score", ["twice"]).column("twice").to_pylist() == [2, 4, None]


def test_a_newer_ledger_is_refused(old: Path) -> None:
    """By readers and writers; the message names both versions and the way out."""
    Ledger.open(old, schema=SECOND).close()
    before = sorted(path.name for path in old.iterdir())
    for use in (Ledger.open, LedgerReader):
        with pytest.raises(LedgerError, match=f"schema version {NEXT}, this one knows {SCHEMA.version}; use"):
            use(old)
    assert sorted(path.name for path in old.iterdir()) == before


def test_ledgers_of_every_earlier_version_are_read(directory: Path) -> None:
    """As they were written: without the columns that came later."""
    for version in range(1, SCHEMA.version):
        kinds = {
            kind: {name: column for name, column in columns.items() if column.since <= version}
            for kind, columns in SCHEMA.kinds.items()
        }
        place = directory.with_name(f"version-{version}")
        row = {"execution_key": "sha256:1", "outcome": "completed", "task_id": "t"}
        with Ledger.open(place, schema=Schema(version=version, kinds=kinds)) as ledger:
            ledger.append("execution", row)
            ledger.seal()
            ledger.append("execution", {**row, "execution_key": "sha256:2"})
            ledger.close(seal=False)
        found = list(LedgerReader(place).rows("execution"))
        assert [one["execution_key"] for one in found] == ["sha256:1", "sha256:2"]
        later = [name for name, column in SCHEMA.kinds["execution"].items() if column.since > version]
        assert {one[name] for one in found for name in later} == ({None} if later else set())
        assert any(column.since > version for columns in SCHEMA.kinds.values() for column in columns.values())
        with Ledger.open(place) as ledger:
            ledger.append("execution", {**row, "execution_key": "sha256:3", "footprint": "{}"})
        assert [one["footprint"] for one in LedgerReader(place).rows("execution")] == [None, None, "{}"]


def test_a_newer_format_is_refused(old: Path) -> None:
    path = max(old.glob("MANIFEST-*"))
    body = {**json.loads(path.read_bytes()), "format": 2, "constellations": []}
    del body["checksum"]
    path.write_text(json.dumps({**body, "checksum": digest_json(body)}))
    with pytest.raises(LedgerError, match="newer parsimony: format version 2"):
        LedgerReader(old)


def test_a_new_column_is_unknown_to_the_old_version(directory: Path, score: Score) -> None:
    with Ledger.open(directory) as ledger, pytest.raises(InputError, match=r"score\.twice"):
        ledger.append("score", score(1, twice=2))


def test_only_columns_of_the_first_version_are_required() -> None:
    """The rule that keeps old rows readable."""
    for columns in SCHEMA.kinds.values():
        for column in columns.values():
            assert column.since <= SCHEMA.version
            assert not (column.required and column.since > 1)


def test_every_column_is_documented() -> None:
    """docs/ledger-format.md lists the columns of this version, with their types and closed sets."""
    page = (Path(__file__).parents[3] / "docs" / "ledger-format.md").read_text()
    assert f"schema version {SCHEMA.version}." in page
    for kind, columns in SCHEMA.kinds.items():
        section = page.split(f"### {kind}\n")[1].split("#")[0]
        for column in columns.values():
            values = ": " + ", ".join(f"`{value}`" for value in sorted(column.values)) if column.values else ""
            assert f"| `{column.name}` | {column.type}{'!' if column.required else ''}{values} |" in section
