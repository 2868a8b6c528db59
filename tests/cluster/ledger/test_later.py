"""A later reader tells what a fresh one tells, and reads only what was added."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.ledger import Ledger, LedgerOptions, LedgerReader
from parsimony.errors import LedgerError

STEPS = st.lists(st.sampled_from(["append", "flush", "seal", "reopen", "read"]), min_size=1, max_size=30)


def event(number: int) -> dict[str, Any]:
    return {"at": float(number), "name": "tick", "data": str(number)}


def attempt(number: int) -> dict[str, Any]:
    return {"job_key": f"job-{number}", "attempt": 1}


@given(steps=STEPS)
def test_a_later_reader_equals_a_fresh_one(steps: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    options = LedgerOptions(keep_segments=1)
    ledger = Ledger.open(folder, options=options)
    reader = LedgerReader(folder)
    seen: dict[str, list[Any]] = {"event": [], "attempt": []}
    for number, step in enumerate([*steps, "flush", "read"]):
        if step == "append":
            ledger.append("event", event(number))
            ledger.append("attempt", attempt(number))
        elif step == "flush":
            ledger.flush()
        elif step == "seal":
            ledger.seal()
        elif step == "reopen":
            ledger.close()
            ledger = Ledger.open(folder, options=options)
        else:
            older, reader = reader, reader.later()
            for kind, rows in seen.items():
                assert list(older.rows(kind)) == rows
                rows.extend(reader.rows(kind, skip=len(rows)))
                assert rows == list(LedgerReader(folder).rows(kind)), kind
    ledger.close()


def test_only_what_was_added_is_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cluster.ledger.journal as journal

    parsed = 0
    parse = journal.parse_line

    def counted(raw: bytes) -> Any:
        nonlocal parsed
        parsed += 1
        return parse(raw)

    with Ledger.open(tmp_path) as ledger:
        for number in range(500):
            ledger.append("event", event(number))
        ledger.flush()
        reader = LedgerReader(tmp_path)
        before = reader.count("event")
        ledger.append("event", event(500))
        ledger.flush()
        monkeypatch.setattr(journal, "parse_line", counted)
        later = reader.later()
        assert [row["data"] for row in later.rows("event", skip=before)] == ["500"]
        assert parsed == 2, "one line: found once, read once"


def test_lines_that_were_taken_back_are_told(tmp_path: Path) -> None:
    written, copy = tmp_path / "written", tmp_path / "copy"
    with Ledger.open(written) as ledger:
        for number in range(3):
            ledger.append("event", event(number))
        ledger.flush()
        shutil.copytree(written, copy)
    reader = LedgerReader(copy)
    path = next(copy.glob("wal-*.jsonl"))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(LedgerError, match="have gone"):
        reader.later()
