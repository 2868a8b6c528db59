"""Records of our own for tests, and the folder of the published vectors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from parsimony.measurements import Record, parse_records

Raw = dict[str, Any]
MakeRecord = Callable[..., Raw]


def make_record(agent: str, task: str, net: int | None = 0, churn: int | None = 0, **changes: Any) -> Raw:
    """A measured success with these units, or what `changes` make of it; `metrics` in them are merged."""
    units = ((churn + net) // 2, (churn - net) // 2) if net is not None and churn is not None else (None, None)
    metrics = {
        "units_added": units[0],
        "units_deleted": units[1],
        "net_units": net,
        "churn": churn,
        "structural_churn": churn,
        "mode": "full_file",
        "touched_files": ["pkg/core.py"],
        "excluded_files": [],
    }
    given = changes.pop("metrics", {})
    raw = {
        "schema_version": 2,
        "agent": agent,
        "task_id": task,
        "resolved": True,
        "published_result_categories": ["resolved"],
        "analysis_status": "ok",
        "metrics": None if given is None else metrics | given,
        "model_human_ratio": None,
        "analyzer_version": "9.9",
        "analyzer_commit": "c" * 40,
        "python_version": "3.12.1",
        "published_resolved_count": 1,
        "benchmark_tasks": 2,
        "resolve_rate": 0.5,
        "provenance": {"repo": "o/r", "base_commit": f"{task:0<8}", "patch_sha256": "1" * 64},
    }
    if not changes.get("resolved", True):
        raw["published_result_categories"] = ["unresolved"]
    return raw | changes


@pytest.fixture
def record() -> MakeRecord:
    """`make_record`."""
    return make_record


@pytest.fixture
def typed() -> Callable[..., tuple[Record, ...]]:
    """Turns objects into records."""
    return lambda *raw: parse_records(raw)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Iterable[Raw]], str]:
    """Writes objects as JSON lines; returns the path."""

    def written(name: str, rows: Iterable[Raw]) -> str:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return written


@pytest.fixture(scope="session")
def vectors() -> dict[str, Any]:
    """The published scoring vectors: inputs, and what another implementation made of them."""
    named = os.environ.get("PARSIMONY_VECTORS")
    folder = Path(named) if named else Path(__file__).parents[4] / "shared" / "vectors"
    path = folder / "scoring-given.json"
    if not path.is_file():
        pytest.skip("PARSIMONY_VECTORS does not name the folder of the published vectors")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded
