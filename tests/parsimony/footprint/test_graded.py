"""The footprint of a graded candidate: errors are recorded, and what is not known is never taken for nothing."""

from __future__ import annotations

import pytest

from parsimony.errors import InputError
from parsimony.footprint import graded
from parsimony.footprint.graded import OFF, measure_graded, track_for

BASE = {"m.py": b"x = 1\n", "own.py": b"y = 1\n"}
APPLIED = b"diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1,2 @@\n x = 1\n+z = 2\n"
FIX = b"diff --git a/own.py b/own.py\n--- a/own.py\n+++ b/own.py\n@@ -1 +1,3 @@\n y = 1\n+a = 2\n+b = a\n"


def test_candidate_beside_the_own_fix() -> None:
    found = measure_graded(BASE, APPLIED, FIX, track="units-v1", language="python")
    assert found["analysis_status"] == "ok"
    assert (found["metrics"]["net_units"], found["human_metrics"]["net_units"]) == (3, 6)
    assert found["model_human_ratio"] == 0.5
    assert found["provenance"]["track"] == "units-v1"


def test_a_task_without_a_fix_has_no_comparison() -> None:
    found = measure_graded(BASE, APPLIED, b"", track="units-v1", language="python")
    assert (found["human_metrics"], found["model_human_ratio"], "human_error" in found) == (None, None, False)


def test_a_fix_that_cannot_be_measured_does_not_take_the_candidate_along() -> None:
    found = measure_graded({"m.py": b"x = 1\n"}, APPLIED, FIX, track="units-v1", language="python")
    assert found["metrics"]["net_units"] == 3
    assert "own.py" in found["human_error"]
    assert "not known" in found["human_error"]


@pytest.mark.parametrize(
    ("base", "applied", "words"),
    [
        ({}, APPLIED, "its base version is not known"),
        ({"m.py": None}, APPLIED, "m.py"),
        ({"m.py": b"other\n"}, APPLIED, "not in the base"),
        ({"m.py": b"x = 1\n"}, b"no patch at all", ""),
        ({"m.py": b"\xff\n"}, APPLIED.replace(b"x = 1", b"\xff"), "UTF-8"),
    ],
)
def test_what_cannot_be_measured_is_recorded(base: dict[str, bytes | None], applied: bytes, words: str) -> None:
    """Never an exception, and never a zero."""
    found = measure_graded(base, applied, b"", track="units-v1", language="python")
    if found["analysis_status"] == "ok":
        assert applied == b"no patch at all"
        assert found["metrics"]["touched_files"] == []
    else:
        assert words in found["analysis_error"]
        assert found["metrics"] is None


def test_sources_that_do_not_parse_leave_units_unknown() -> None:
    found = measure_graded(
        {"m.py": b"x = (\n"}, APPLIED.replace(b"x = 1", b"x = ("), b"", track="units-v1", language="python"
    )
    assert found["metrics"] is None or found["metrics"]["net_units"] is None


def test_the_track_of_a_task() -> None:
    assert track_for("units-v2", "python") == "units-v2"
    assert track_for("units-v2", "go") == "tree-sitter-units-v1"
    assert track_for(OFF, "python") is None
    assert track_for("units-v1", "cobol") is None


def test_a_parser_that_is_not_here_may_be_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *, language: str) -> None:
        raise InputError(f"the parser of {language} is not installed", mend="install it")

    monkeypatch.setattr(graded, "load_track", absent)
    found = measure_graded(BASE, APPLIED, FIX, track="tree-sitter-units-v1", language="go")
    assert (found["parser_missing"], found["metrics"]) == (True, None)
    assert "not installed" in found["analysis_error"]
