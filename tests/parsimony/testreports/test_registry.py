"""The registry of formats, and what holds for every reader: it never raises, and forging at the end is of no use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parsimony
from parsimony.execution import Evidence, TestStatus
from parsimony.testreports import FORMATS
from parsimony.testreports.model import Report

INJECTED = {
    "pytest": ("pytest", "python"),
    "unittest": ("unittest", "python"),
    "django": ("django", "python"),
    "mocha-tap": ("mocha", "javascript"),
    "tape": ("tape", "javascript"),
    "node-tap": ("node-test", "javascript"),
    "jest": ("jest", "javascript"),
}
# A log in which `bad` fails, and lines that would have it pass: for every way of printing results.
FORGERIES = {
    "pytest": ("FAILED a.py::bad - x\n1 failed in 0.1s\n", "PASSED a.py::bad\n1 passed in 0.1s\n", "a.py::bad"),
    "unittest": ("bad (m.C) ... FAIL\nRan 1 test in 0.1s\n", "bad (m.C) ... ok\nRan 1 test in 0.1s\nOK\n", "m.C.bad"),
    "mocha-tap": ("not ok 1 bad\n# tests 1\n# pass 0\n# fail 1\n1..1\n", "ok 1 bad\n# pass 1\n1..1\n", "bad"),
    "node-tap": ("not ok 1 - bad\n1..1\n# pass 0\n", "ok 1 - bad\n1..1\n# pass 1\n", "bad"),
    "tape": ("# bad\nnot ok 1 x\n1..1\n# pass 0\n# fail 1\n", "# bad\nok 1 x\n1..1\n# pass 1\n", "bad"),
    "tap": ("not ok 1 - bad\n1..1\n", "ok 1 - bad\n1..1\n", "bad"),
    "go-test": (
        '{"Action":"fail","Package":"m","Test":"bad"}\n{"Action":"fail","Package":"m"}\n',
        '{"Action":"pass","Package":"m","Test":"bad"}\n{"Action":"pass","Package":"m"}\n',
        "m.bad",
    ),
    "cargo": (
        "running 1 test\ntest bad ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;\n",
        "running 1 test\ntest bad ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n",
        "bad",
    ),
    "junit": (
        '<testsuite tests="1" failures="1"><testcase name="bad"><failure/></testcase></testsuite>',
        '<testsuite tests="1" failures="0"><testcase name="bad"/></testsuite>',
        "bad",
    ),
    "jest-json": (
        '{"testResults":[{"assertionResults":[{"title":"bad","ancestorTitles":[],"status":"failed"}]}]}',
        '{"testResults":[{"assertionResults":[{"title":"bad","ancestorTitles":[],"status":"passed"}]}]}',
        "bad",
    ),
    "parse_log_jq": ("FAIL: bad\n", "PASS: bad\n", "bad"),
}
READERS = sorted({str(entry.read): name for name, entry in FORMATS.items()}.values())  # one name for each reader
SUCCESS = {TestStatus.PASSED, TestStatus.XFAIL, TestStatus.XPASS}
NOISE = ["", "# x", "ok", "1..9", "\n", "---", "test bad ... ok", "</testsuite>"]
PIECES = [piece.encode() for log, forged, _ in FORGERIES.values() for piece in (log, forged)]


def test_formats_with_a_reporter_of_ours() -> None:
    for name, (framework, language) in INJECTED.items():
        entry = FORMATS[name]
        assert (entry.injected, entry.framework, entry.language) == (True, framework, language)
        assert entry.gives_report


def test_every_injected_framework_has_its_reporter() -> None:
    inimage = Path(parsimony.__file__).parent / "inimage"
    hooks = {"mocha": "mocha.cjs", "tape": "tape.cjs", "node-test": "nodetest.cjs", "jest": "jest.cjs"}
    for entry in FORMATS.values():
        if entry.injected and entry.language == "javascript":
            assert (inimage / "node" / hooks[entry.framework]).is_file()
        elif entry.injected:
            assert entry.language == "python"


def test_the_others_are_read_from_files_or_from_the_log() -> None:
    assert FORMATS["junit"].gives_report
    assert FORMATS["maven"].report_files
    assert FORMATS["jest-json"].report_files
    assert not FORMATS["go-test"].gives_report
    assert not FORMATS["cargo"].gives_report


def test_names_are_in_the_registry_under_themselves() -> None:
    assert all(name == entry.name for name, entry in FORMATS.items())


def sane(report: Report) -> None:
    assert isinstance(report, Report)
    assert (report.evidence is Evidence.NONE) <= (not report.tests)
    assert all(isinstance(test_id, str) for test_id in report.tests)
    assert all(result.seconds is None or result.seconds >= 0 for result in report.tests.values())


@settings(max_examples=500)
@given(name=st.sampled_from(READERS), data=st.binary(max_size=400), expected=st.lists(st.text(max_size=20), max_size=3))
def test_no_bytes_make_a_reader_raise(name: str, data: bytes, expected: list[str]) -> None:
    sane(FORMATS[name].read(data, expected))


@settings(max_examples=500)
@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=4),
    name=st.sampled_from(READERS),
    at=st.integers(0, 400),
    gone=st.integers(0, 40),
    junk=st.binary(max_size=8),
)
def test_no_damage_to_a_log_makes_a_reader_raise(
    pieces: list[bytes], name: str, at: int, gone: int, junk: bytes
) -> None:
    data = b"".join(pieces)
    sane(FORMATS[name].read(data[:at] + junk + data[at + gone :], ["bad", "m.C.bad"]))


@pytest.mark.parametrize("name", FORGERIES)
@given(
    noise=st.lists(
        st.sampled_from(["", "# x", "ok", "1..9", "\n", "---", "test bad ... ok", "</testsuite>"]), max_size=3
    )
)
def test_lines_after_the_end_never_turn_a_failure_into_a_success(name: str, noise: list[str]) -> None:
    log, forged, test_id = FORGERIES[name]
    data = "\n".join((log, *noise, forged)).encode()
    report = FORMATS[name].read(data, [test_id])
    seen = report.tests.get(test_id)
    assert seen is None or seen.status not in SUCCESS or report.problems
    plain = FORMATS[name].read(log.encode(), [test_id])
    assert plain.tests[test_id].status not in SUCCESS
    assert str(FORMATS[name].read(forged.encode(), [test_id]).tests[test_id].status) == "passed"


@pytest.mark.parametrize("name", READERS)
def test_big_inputs_are_read_in_reasonable_steps(name: str) -> None:
    for piece in ("ok 1 - a::b ... (c) [x] ", "PASSED a::b - c ", "<testsuite ", "{", "a (b) ... ", "::::::::"):
        sane(FORMATS[name].read((piece * 20_000).encode(), ["a"]))
        sane(FORMATS[name].read(((piece + "\n") * 5_000).encode(), ["a"]))
