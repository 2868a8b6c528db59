"""--resume goes on with the very same measurement and with no other."""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from parsimony.errors import InputError

Edit = Callable[[dict[str, Any]], Any]


@pytest.fixture
def half(world: Any) -> Any:
    """A run with failures that was interrupted after two of four tasks."""
    world.legacy({"resolved": ["t1", "t3"], "failed": ["t2"]})
    world.analyze(include_failed=True)
    lines = world.output.read_bytes().splitlines(keepends=True)
    world.output.write_bytes(b"".join(lines[:2]))
    return world


def edit(world: Any, change: Edit) -> None:
    rows = [json.loads(line) for line in world.output.read_text().splitlines()]
    change(rows[0])
    world.output.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))


def refused(world: Any, **request: Any) -> str:
    before = world.output.read_bytes()
    with pytest.raises(InputError) as caught:
        world.analyze(**{"include_failed": True, "resume": True} | request)
    assert world.output.read_bytes() == before
    assert caught.value.place.file == str(world.output)
    return str(caught.value)


def test_only_what_is_missing_is_appended(half: Any, notes: Any) -> None:
    before = half.output.read_bytes()
    notes.recordings.clear()
    records = half.analyze(include_failed=True, resume=True)
    assert list(records) == ["t1", "t2", "t3", "t4"]
    assert half.output.read_bytes().startswith(before)
    assert notes.recordings == [("t3", "ok"), ("t4", "not_resolved")]
    half.analyze(include_failed=True, resume=True)
    assert len(notes.recordings) == 2


def test_without_a_file_it_is_a_first_run(half: Any) -> None:
    half.output.unlink()
    assert len(half.analyze(include_failed=True, resume=True)) == 4


def test_without_resume_the_file_is_replaced(half: Any) -> None:
    half.output.write_text("anything\n")
    assert list(half.analyze()) == ["t1", "t2", "t3", "t4"]


@pytest.mark.parametrize("cut", [b"{", b'{"agent": "x", "task', b"\xff\xfe"])
def test_a_line_that_was_cut_off_is_measured_again(half: Any, cut: bytes) -> None:
    half.output.write_bytes(half.output.read_bytes() + cut)
    assert list(half.analyze(include_failed=True, resume=True)) == ["t1", "t2", "t3", "t4"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda row: row.update(agent="other"), ":1: agent: "),
        (lambda row: row["provenance"].update(results_sha256="0" * 64), "provenance.results_sha256: "),
        (lambda row: row["provenance"].update(ref="v1"), "provenance.ref: "),
        (lambda row: row["provenance"].update(base_commit="d" * 40), "provenance.base_commit: "),
        (lambda row: row.update(analyzer_version="0.1"), "analyzer_version: "),
        (lambda row: row.update(python_version="3.9.1"), "python_version: "),
        (lambda row: row.update(measurement_track={"language": "go"}), "measurement_track: "),
        (lambda row: row.update(resolved=False), "resolved: "),
        (lambda row: row.update(published_resolved_count=7), "published_resolved_count: "),
        (lambda row: row.update(benchmark_tasks=500), "benchmark_tasks: "),
        (lambda row: row["metrics"].update(mode="patch_only"), "metrics.mode: "),
        (lambda row: row.update(task_id="t2", resolved=False), ":2: .* is there twice, first in line 1"),
        (lambda row: row.update(task_id="x9"), "outside of the dataset"),
        (lambda row: row.update(analysis_status="limit", metrics=None), "has the status limit"),
        (lambda row: row.update(analysis_status="not_selected", metrics=None), "has the status not_selected"),
        (lambda row: row.update(analysis_status="not_resolved", metrics=None), "was passed over"),
        (lambda row: row.pop("provenance"), "provenance: "),
    ],
)
def test_another_measurement_is_refused_and_the_file_stays(half: Any, change: Edit, told: str) -> None:
    edit(half, change)
    message = refused(half)

    assert re.search(told, message), message


def test_failures_that_were_passed_over_or_are_now(half: Any) -> None:
    assert "was examined, and now would not be" in refused(half, include_failed=False)
    half.analyze()
    assert "was passed over, and now would not be" in refused(half)


def test_other_results_and_another_mode(half: Any) -> None:
    assert "metrics.mode" in refused(half, patch_only=True)
    half.legacy({"resolved": ["t1", "t3", "t4"], "failed": ["t2"]})
    half.fetcher.refresh = True
    half.fetcher._refreshed.clear()
    assert "provenance.results_sha256" in refused(half)


@pytest.mark.parametrize("line", [b"{}\n", b"[]\n", b"{\n", b'{"a": 1, "a": 2}\n', b"\xff\n"])
def test_a_file_of_something_else(half: Any, line: bytes) -> None:
    half.output.write_bytes(half.output.read_bytes() + line)
    assert ":3: " in refused(half)


def test_two_at_once(half: Any) -> None:
    with half.output.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "is being written by another process" in refused(half)


def test_rows_that_failed_leave_the_file_by_rename(half: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the new file cannot take the place of the old one, the old one is as it was."""
    edit(half, lambda row: row.update(analysis_status="fetch_error", metrics=None))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    assert "No space left on device" in refused(half)
    monkeypatch.undo()
    assert not [path for path in half.output.parent.iterdir() if path.name.endswith(".new")]
    assert list(half.analyze(include_failed=True, resume=True)) == ["t2", "t1", "t3", "t4"]
