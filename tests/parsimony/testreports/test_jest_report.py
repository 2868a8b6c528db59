"""jest's and vitest's JSON report."""

from __future__ import annotations

import json

import pytest

from parsimony.execution import Evidence
from parsimony.testreports import jest


def case(title: str, status: str, *above: str, duration: float | None = None) -> dict[str, object]:
    full = " ".join((*above, title))
    return {"title": title, "status": status, "ancestorTitles": above, "fullName": full, "duration": duration}


def report(*cases: dict[str, object], **more: object) -> dict[str, object]:
    return {
        "success": True,
        "testResults": [{"name": "/testbed/src/a.test.js", "status": "passed", "assertionResults": cases}],
        **more,
    }


def test_ids_statuses_and_seconds() -> None:
    data = report(
        case("adds", "passed", "math", "plus", duration=1500),
        case("breaks", "failed", "math"),
        case("later", "todo"),
        case("not now", "pending"),
        success=False,
        numPassedTests=1,
        numFailedTests=1,
    )
    read = jest.read(json.dumps(data).encode())
    assert {test_id: str(result.status) for test_id, result in read.tests.items()} == {
        "math plus adds": "passed",
        "math breaks": "failed",
        "later": "skipped",
        "not now": "skipped",
    }
    assert read.tests["math plus adds"].seconds == 1.5
    assert read.problems == ()
    assert read.evidence is Evidence.REPORT


@pytest.mark.parametrize(
    "name",
    ["adds", "math > adds", "src/a.test.js > math > adds", "a.test.js: math adds", "src/a.test.js::math > adds"],
)
def test_other_names_when_they_are_asked_for(name: str) -> None:
    data = json.dumps(report(case("adds", "passed", "math"))).encode()
    assert str(jest.read(data, [name]).tests[name].status) == "passed"
    assert name not in jest.read(data).tests


def test_one_title_in_two_files_is_as_bad_as_the_worse() -> None:
    data = report(case("adds", "passed"), case("adds", "failed"), success=False)
    assert str(jest.read(json.dumps(data).encode()).tests["adds"].status) == "failed"


def test_a_file_that_could_not_run() -> None:
    file = {"name": "/x/b.test.js", "status": "failed", "message": "SyntaxError", "assertionResults": []}
    data = {"success": False, "testResults": [file], "numRuntimeErrorTestSuites": 1}
    read = jest.read(json.dumps(data).encode())
    assert {test_id: str(result.status) for test_id, result in read.tests.items()} == {"/x/b.test.js": "error"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"numPassedTests": 2}, "counts 2 tests as passed and lists 1"),
        ({"numFailedTests": 1}, "counts 1 tests as failed and lists 0"),
        ({"wasInterrupted": True}, "interrupted"),
    ],
)
def test_totals_that_do_not_hold(changes: dict[str, object], problem: str) -> None:
    data = json.dumps(report(case("adds", "passed"), **changes)).encode()
    assert any(problem in text for text in jest.read(data).problems)


def test_success_with_failures() -> None:
    assert jest.read(json.dumps(report(case("adds", "failed"))).encode()).problems


def test_an_unknown_status_is_no_success() -> None:
    read = jest.read(json.dumps(report(case("adds", "fine"))).encode())
    assert "adds" not in read.tests
    assert read.problems


def test_a_report_among_other_text() -> None:
    text = '> jest --json\n{"not": "it"} {broken ' + json.dumps(report(case("adds", "passed"))) + "\ndone"
    read = jest.read_printed(text.encode())
    assert set(read.tests) == {"adds"}
    assert read.evidence is Evidence.LOG


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"testResults": 5}', b"\xff\xfe{", b"{" * 100_000])
def test_no_report(data: bytes) -> None:
    read = jest.read(data)
    assert read.tests == {}
    assert read.problems
    assert read.evidence is Evidence.NONE
