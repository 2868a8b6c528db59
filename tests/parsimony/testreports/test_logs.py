"""Logs of pytest, unittest and Django."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parsimony.execution import Evidence
from parsimony.testreports import logs
from parsimony.testreports.model import Report

SUMMARY = """\x1b[32mtest_x.py::test_ok PASSED [ 10%]\x1b[0m
[gw1] [ 20%] FAILED test_x.py::test_by_worker
=========================== short test summary info ============================
PASSED test_x.py::test_p[a b]
PASSED test_x.py::test_p[x - y]
PASSED test_x.py::test_subs
SKIPPED [2] test_x.py:12: nope
XFAIL test_x.py::test_xf[1 - 2] - why - so
XPASS test_x.py::test_xp why
ERROR test_x.py::test_err - ValueError: a - b
FAILED test_x.py::test_p[c - d] - AssertionError: assert 'c - d' != 'c - d'
SUBFAILED(i=1) test_x.py::test_subs - AssertionError: 1 != 0
FAILED test_y.py - ImportError
====== 2 failed, 4 passed, 2 skipped, 1 xfailed, 1 xpassed, 1 error in 1.03s (0:00:01) ======
"""


def statuses(report: Report) -> dict[str, str]:
    return {test_id: str(result.status) for test_id, result in report.tests.items()}


def test_summary_with_the_help_of_expected_ids() -> None:
    expected = ["test_x.py::test_p[c - d]", "test_x.py::test_xf[1 - 2]", "test_x.py::test_xp", "test_x.py::test_p"]
    report = logs.read_pytest(SUMMARY.encode(), expected)
    assert statuses(report) == {
        "test_x.py::test_ok": "passed",
        "test_x.py::test_by_worker": "failed",
        "test_x.py::test_p[a b]": "passed",
        "test_x.py::test_p[x - y]": "passed",
        "test_x.py::test_subs": "failed",
        "test_x.py::test_xf[1 - 2]": "xfail",
        "test_x.py::test_xp": "xpass",
        "test_x.py::test_err": "error",
        "test_x.py::test_p[c - d]": "failed",
        "test_y.py": "failed",
    }
    assert report.problems == ()
    assert report.evidence is Evidence.LOG


def test_summary_without_help_ends_at_the_first_dash() -> None:
    assert statuses(logs.read_pytest(SUMMARY.encode()))["test_x.py::test_p[c"] == "failed"


def test_a_run_that_was_ended_is_a_problem() -> None:
    cut = SUMMARY.rsplit("======", 2)[0]
    assert "pytest did not come to its last line" in logs.read_pytest(cut.encode()).problems


def test_more_listed_than_told_is_a_problem() -> None:
    forged = SUMMARY.replace("PASSED test_x.py::test_subs", "PASSED a.py::a\nPASSED b.py::b\nPASSED c.py::c")
    assert any("told were 4" in text for text in logs.read_pytest(forged.encode()).problems)


def test_several_runs_in_one_log() -> None:
    log = "PASSED a.py::a\n1 passed in 0.1s\nPASSED b.py::b\n=== 1 passed in 0.2s ===\n"
    report = logs.read_pytest(log.encode())
    assert statuses(report) == {"a.py::a": "passed", "b.py::b": "passed"}
    assert report.problems == ()


def test_real_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('v', ['a b', 'c - d', '[x]'])\n"
        "def test_p(v): assert v != 'c - d'\n"
        "@pytest.mark.xfail(reason='why - so')\ndef test_xf(): assert 0\n"
        "@pytest.fixture\ndef bad(): raise ValueError('set - up')\ndef test_err(bad): pass\n"
    )
    ids = [f"test_x.py::test_p[{value}]" for value in ("a b", "c - d", "[x]")]
    for options in (["-rA"], ["-v"]):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "test_x.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        report = logs.read_pytest(done.stdout, ids)
        seen = statuses(report)
        assert [seen[test_id] for test_id in ids] == ["passed", "failed", "passed"]
        assert seen["test_x.py::test_xf"] == "xfail"
        assert seen["test_x.py::test_err"] == "error"
        assert report.problems == ()


OLD = """test_doc (pkg.test_u.TestU)
Doc line - here ... ok
test_ef (pkg.test_u.TestU) ... expected failure
test_print (pkg.test_u.TestU) ... hello
ok
test_s (pkg.test_u.TestU) ... skipped 'no'
test_subs (pkg.test_u.TestU) ... test_us (pkg.test_u.TestU) ... unexpected success
test_err (pkg.test_u.TestU) ... ERROR

======================================================================
ERROR: setUpClass (pkg.test_u.TestSetup)
----------------------------------------------------------------------
RuntimeError: x

======================================================================
FAIL: test_subs (pkg.test_u.TestU) (i=1)
----------------------------------------------------------------------
AssertionError: 1 != 0

----------------------------------------------------------------------
Ran 7 tests in 0.009s

FAILED (failures=1, errors=2, skipped=1, expected failures=1, unexpected successes=1)
"""
NEW = """test_doc (pkg.test_u.TestU.test_doc)
Doc line - here ... ok
test_print (pkg.test_u.TestU.test_print) ... Internal Server Error: /x
ok
test_bad (pkg.test_u.TestU.test_bad) ... FAIL
Ran 3 tests in 0.1s
"""


def test_unittest() -> None:
    report = logs.read_unittest(OLD.encode())
    assert statuses(report) == {
        "pkg.test_u.TestU.test_doc": "passed",
        "pkg.test_u.TestU.test_ef": "xfail",
        "pkg.test_u.TestU.test_print": "passed",
        "pkg.test_u.TestU.test_s": "skipped",
        "pkg.test_u.TestU.test_us": "failed",
        "pkg.test_u.TestU.test_err": "error",
        "pkg.test_u.TestSetup.setUpClass": "error",
        "pkg.test_u.TestU.test_subs": "failed",
    }
    assert report.problems == ()


@pytest.mark.parametrize("log", [OLD, NEW])
def test_unittest_names_as_printed_when_they_are_asked_for(log: str) -> None:
    names = ["Doc line - here", "test_print (pkg.test_u.TestU)"]
    seen = statuses(logs.read_unittest(log.encode(), names))
    assert [seen[name] for name in names] == ["passed", "passed"]


def test_new_names() -> None:
    assert statuses(logs.read_unittest(NEW.encode())) == {
        "pkg.test_u.TestU.test_doc": "passed",
        "pkg.test_u.TestU.test_print": "passed",
        "pkg.test_u.TestU.test_bad": "failed",
    }


def test_a_unittest_run_that_was_ended_is_a_problem() -> None:
    assert logs.read_unittest(OLD.split("Ran 7", maxsplit=1)[0].encode()).problems
    assert logs.read_unittest(NEW.replace("Ran 3", "Ran 0").encode()).problems


@pytest.mark.parametrize(
    ("read", "log", "line"),
    [
        (logs.read_pytest, SUMMARY, "PASSED test_x.py::test_err\n9 passed in 0.1s\n"),
        (logs.read_unittest, OLD, "test_err (pkg.test_u.TestU) ... ok\nRan 9 tests in 0.1s\nOK\n"),
    ],
)
def test_lines_at_the_end_do_not_turn_a_failure_around(read: object, log: str, line: str) -> None:
    assert callable(read)
    seen = statuses(read((log + line).encode()))
    assert "error" in {seen.get("test_x.py::test_err"), seen.get("pkg.test_u.TestU.test_err")}
