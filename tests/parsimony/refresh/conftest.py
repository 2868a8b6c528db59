"""Rows, plans and a source that gives what it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from parsimony.contamination import Cutoff, Moment
from parsimony.refresh import FolderSource, Live, Plan, Source

NOW = datetime(2026, 7, 15, 12, tzinfo=UTC)
AFTER = Cutoff("", Moment.parse("2026-01"), "given")

Row = dict[str, Any]


def row(name: str, created: str | None = "2026-05-02T09:00:00Z", **more: Any) -> Row:
    """A row that can be graded."""
    found = {
        "instance_id": name,
        "repo": "o/r",
        "FAIL_TO_PASS": ["t::a"],
        "PASS_TO_PASS": [],
        "test_cmd": "pytest",
        "image": "image:1",
        "problem_statement": f"mend {name}",
        "created_at": created,
    }
    return {key: value for key, value in (found | more).items() if value is not None}


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


@dataclass
class Place:
    """A folder with a drop folder, a store and a ledger."""

    root: Path
    sources: list[Source] = field(default_factory=list)

    @property
    def drop(self) -> Path:
        return self.root / "drop"

    def give(self, *rows: Row, file: str = "new.jsonl") -> None:
        write_rows(self.drop / file, rows)

    def plan(self, *, window: int | None = None, after: Cutoff = AFTER, **more: Any) -> Plan:
        sources = self.sources or [FolderSource("drop", self.drop)]
        live = Live("feed", "live-v1", "old-v1", window=window)
        plan = Plan(live, self.root / "store", self.root / "ledger.jsonl", sources, [after])
        return replace(plan, **more)

    def store_bytes(self) -> dict[str, bytes]:
        """All that is kept."""
        files = [path for path in (self.root / "store").rglob("*") if path.is_file() and path.name != ".lock"]
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "drop").mkdir()
    return Place(tmp_path)


MakePlace = Callable[[str], Place]


@pytest.fixture
def make_place(tmp_path: Path) -> MakePlace:
    """Several of them."""

    def make(name: str) -> Place:
        (tmp_path / name / "drop").mkdir(parents=True)
        return Place(tmp_path / name)

    return make
