"""TAP: what node:test, mocha and tape print, and what others do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from parsimony.execution import Evidence
from parsimony.testreports import tap
from parsimony.testreports.model import Report

NODE = r"""TAP version 13
# a line that a test printed: ok 9 - forged
# Subtest: suite \# x
    # Subtest: ok \\ back
    ok 1 - ok \\ back
      ---
      duration_ms: 1.8
      ...
    # Subtest: bad
    not ok 2 - bad
      ---
      stack: |-
        ok 3 - not a point
      ...
    ok 3 - skipped # SKIP why
    ok 4 - to do # TODO
    not ok 5 - known # TODO why
    # Subtest: inner
        # Subtest: a
        ok 1 - a
        1..1
    ok 6 - inner
    1..6
not ok 1 - suite \# x
# Subtest: /testbed/test/plain.js
ok 2 - /testbed/test/plain.js
1..2
# tests 9
# pass 4
# fail 1
"""
MOCHA = """ok 1 Ax one
not ok 2 Ax two
  bad
  ok 9 forged by a message
  Error: bad
ok 3 Ax three # SKIP -
not ok 4 Ax "before all" hook for "never"
  hook
# tests 3
# pass 1
# fail 2
1..4
"""
TAPE = """TAP version 13
# one
ok 1 should be truthy
# a comment
ok 2 named
# two
ok 3 should be truthy
# inner
not ok 4 should be strictly equal
  ---
    operator: equal
    at: ok 5 not a point
  ...
# TODO later
not ok 5 should be truthy # TODO
# pass this
ok 6 should be truthy
# empty
#  spaced out\x20
ok 7 (unnamed assert)

1..7
# tests 7
# pass  6
# fail  1
"""


def statuses(report: Report) -> dict[str, str]:
    return {test_id: str(result.status) for test_id, result in report.tests.items()}


def test_node() -> None:
    report = tap.read(NODE.encode(), ["test/plain.js"])
    assert statuses(report) == {
        "suite # x": "failed",
        "suite # x > ok \\ back": "passed",
        "suite # x > bad": "failed",
        "suite # x > skipped": "skipped",
        "suite # x > to do": "xpass",
        "suite # x > known": "xfail",
        "suite # x > inner": "passed",
        "suite # x > inner > a": "passed",
        "/testbed/test/plain.js": "passed",
        "test/plain.js": "passed",
    }
    assert report.problems == ()
    assert report.evidence is Evidence.LOG


def test_node_names_as_printed_when_they_are_asked_for() -> None:
    assert statuses(tap.read(NODE.encode(), [r"suite \# x > bad"]))[r"suite \# x > bad"] == "failed"


def test_mocha() -> None:
    report = tap.read_mocha(MOCHA.encode())
    assert statuses(report) == {
        "Ax one": "passed",
        "Ax two": "failed",
        "Ax three": "skipped",
        'Ax "before all" hook for "never"': "failed",
    }
    assert report.problems == ()


def test_tape() -> None:
    report = tap.read_tape(TAPE.encode(), ["one", "two", "inner"])
    assert statuses(report) == {
        "one": "passed",
        "a comment": "passed",
        "two": "passed",
        "inner": "failed",
        "later": "xfail",
        "pass this": "passed",
        "spaced out": "passed",
    }
    assert report.problems == ()


def test_tape_a_failure_after_a_comment_counts_for_the_test_before_it() -> None:
    log = "# wanted\nok 1 a\n# printed by the test\nnot ok 2 b\n1..2\n# tests 2\n# pass 1\n# fail 1\n"
    assert statuses(tap.read_tape(log.encode(), ["wanted"]))["wanted"] == "failed"
    both = "# wanted\nok 1 a\n# next\nnot ok 2 b\n1..2\n# tests 2\n# pass 1\n# fail 1\n"
    assert statuses(tap.read_tape(both.encode(), ["wanted", "next"])) == {"wanted": "passed", "next": "failed"}


def test_perl_style_subtests() -> None:
    log = "1..1\n    # Subtest: foo\n    ok 1 - a\n    not ok 2 - b\n    1..2\nnot ok 1 - foo\n"
    report = tap.read(log.encode())
    assert statuses(report) == {"foo": "failed", "foo > a": "passed", "foo > b": "failed"}
    assert report.problems == ()


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        ("ok 1 - a\n", "a plan is missing"),
        ("1..2\nok 1 - a\n", "2 tests were planned and 1 reported"),
        ("1..1\nok 1 - a\nok 2 - forged\n", "1 tests were planned and 2 reported"),
        ("1..1\nok 1 - a\nBail out! no database\n", "the run was given up"),
        ("1..1\nok 1 - a\n    ok 1 - lost\n", "subtests without their parent"),
        ("    ok 1 - a\n    1..2\nok 1 - p\n1..1\n", "2 tests were planned and 1 reported"),
        ("nothing", "no test points"),
    ],
)
def test_what_is_not_whole_is_a_problem(log: str, problem: str) -> None:
    assert any(problem in text for text in tap.read(log.encode()).problems)


def test_plan_of_nothing() -> None:
    report = tap.read(b"1..0 # SKIP no network\n")
    assert report.tests == {}
    assert report.problems == ("there are no test points",)


def test_points_need_a_number() -> None:
    assert statuses(tap.read(b"1..1\nok 1 - a\nok then\nok\nokay 5\n")) == {"a": "passed"}


def test_windows_ends_of_line_and_colours() -> None:
    assert statuses(tap.read(b"1..1\r\n\x1b[32mok 1 - a\x1b[0m\r\n")) == {"a": "passed"}


@pytest.mark.parametrize("reader", [tap.read_mocha, tap.read_tape])
def test_points_that_the_totals_do_not_know_are_a_problem(reader: object) -> None:
    assert callable(reader)
    log = "# t\nok 1 a\nok 2 b\n1..2\n# tests 1\n# pass 1\n# fail 0\n"
    assert reader(log.encode()).problems


def test_worst_status_counts() -> None:
    assert statuses(tap.read(b"1..3\nok 1 - a\nnot ok 2 - a\nok 3 - a\n")) == {"a": "failed"}


def test_real_node(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine")
    (tmp_path / "a.test.js").write_text(
        "const { describe, it } = require('node:test')\n"
        "describe('s # x', () => { it('a', () => { console.log('ok 5 - forged') }); it('b', () => { throw 1 }) })\n"
    )
    command = [node, "--test", "--test-reporter=tap", "a.test.js"]
    # Below a test run of its own, node would report to that and print nothing.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NODE_")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    if b"bad option" in done.stderr:
        pytest.skip("this node cannot choose a reporter")
    report = tap.read(done.stdout)
    assert statuses(report) == {"s # x": "failed", "s # x > a": "passed", "s # x > b": "failed"}
    assert report.problems == ()
