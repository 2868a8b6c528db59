"""JUnit XML of several producers, whole and broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parsimony.execution import Evidence
from parsimony.testreports import FORMATS, junit
from parsimony.testreports.model import Report

SUREFIRE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="com.acme.FooTest" time="0,123.5" tests="5" errors="1" skipped="1" failures="1">
  <properties><property name="a" value="b"/></properties>
  <testcase name="adds" classname="com.acme.FooTest" time="1,000.25"/>
  <testcase name="breaks" classname="com.acme.FooTest" time="0.01">
    <failure message="x" type="AssertionError"><![CDATA[<testcase name="forged" classname="x"/>]]></failure>
  </testcase>
  <testcase name="throws" classname="com.acme.FooTest"><error type="E"/></testcase>
  <testcase name="not now" classname="com.acme.FooTest"><skipped/></testcase>
  <testcase name="flaky" classname="com.acme.FooTest"><flakyFailure type="E"/></testcase>
</testsuite>
"""
GOOGLE = """<testsuites tests="2" failures="0"><testsuite name="s" tests="2" failures="0" disabled="1">
<testcase name="a" classname="s" status="run" result="completed"/>
<testcase name="b" classname="s" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


def statuses(report: Report) -> dict[str, str]:
    return {test_id: str(result.status) for test_id, result in report.tests.items()}


def test_surefire() -> None:
    report = junit.read(SUREFIRE.encode())
    assert statuses(report) == {
        "com.acme.FooTest.adds": "passed",
        "com.acme.FooTest.breaks": "failed",
        "com.acme.FooTest.throws": "error",
        "com.acme.FooTest.not now": "skipped",
        "com.acme.FooTest.flaky": "passed",
    }
    assert report.tests["com.acme.FooTest.adds"].seconds == 1000.25
    assert report.problems == ()
    assert report.evidence is Evidence.REPORT


def test_tests_that_never_ran() -> None:
    assert statuses(junit.read(GOOGLE.encode())) == {"s.a": "passed", "s.b": "skipped"}


@pytest.mark.parametrize("joiner", junit.JOINERS)
def test_other_joiners_when_they_are_asked_for(joiner: str) -> None:
    name = f"com.acme.FooTest{joiner}adds"
    assert str(junit.read(SUREFIRE.encode(), [name]).tests[name].status) == "passed"
    assert set(statuses(junit.read(SUREFIRE.encode(), joiner=joiner))) >= {name}


def test_no_class() -> None:
    assert statuses(junit.read(b'<testsuite><testcase name="a"/></testsuite>')) == {"a": "passed"}


def test_documents_one_after_the_other_among_other_text() -> None:
    data = f"$ cat *.xml\n{SUREFIRE}\n== next ==\n{GOOGLE}{GOOGLE}\nBUILD <SUCCESS>"
    report = junit.read_printed(data.encode())
    assert len(report.tests) == 7
    assert report.problems == ()
    assert report.evidence is Evidence.LOG


def test_several_files() -> None:
    report = FORMATS["maven"].read_files({"reports/a": SUREFIRE.encode(), "reports/b": GOOGLE.encode()})
    assert len(report.tests) == 7
    assert FORMATS["maven"].read_files({}).problems == ("the test command left no report file",)


def test_worst_status_counts() -> None:
    again = SUREFIRE.replace('<testcase name="breaks"', '<testcase name="adds"')
    assert statuses(junit.read(again.encode()))["com.acme.FooTest.adds"] == "failed"


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE t SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_declarations_are_refused(declaration: str) -> None:
    data = f'<?xml version="1.0"?>{declaration}<testsuite><testcase name="a"/></testsuite>'
    report = junit.read(data.encode())
    assert any("refused" in text for text in report.problems)


@pytest.mark.parametrize(
    "data",
    [
        SUREFIRE[:-30],
        SUREFIRE.replace("</testcase>", "", 1),
        SUREFIRE.replace('tests="5"', 'tests="6"'),
        '<testsuite tests="1" failures="1"><testcase name="a"/></testsuite>',
        '<testsuite tests="1" failures="0"><testcase name="a"/><testcase name="b"/></testsuite>',
        "no document at all",
        "",
    ],
)
def test_what_is_not_whole_is_a_problem(data: str) -> None:
    assert junit.read(data.encode()).problems


def test_encodings() -> None:
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?><testsuite><testcase name="\xe4"/></testsuite>'
    assert set(junit.read(latin.encode("latin-1")).tests) == {"\xe4"}
    assert junit.read(latin.replace("ISO-8859-1", "no-such-thing").encode("latin-1")).problems
    assert junit.read(b"<testsuite><testcase name='\xe4'/></testsuite>").problems


def test_deep_and_long_documents_are_read_in_one_go() -> None:
    deep = "<testsuite>" * 20_000 + '<testcase name="a"/>' + "</testsuite>" * 20_000
    assert statuses(junit.read(deep.encode())) == {"a": "passed"}
    many = '<testsuite><testcase name="a"/></testsuite>\n' * 20_000
    assert statuses(junit.read(many.encode())) == {"a": "passed"}
    assert junit.read(b"<testsuite " * 50_000).problems


def test_real_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('v', ['a b', 'c - d'])\n"
        "def test_p(v): assert v == 'a b'\n"
        "@pytest.mark.xfail\ndef test_xf(): assert 0\n"
        "@pytest.fixture\ndef bad():\n    yield\n    assert 0\n"
        "def test_ends_badly(bad): assert 0\n"
        "class TestC:\n    def test_m(self): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml=r.xml", "test_x.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    node_ids = ["test_x.py::test_p[a b]", "test_x.py::TestC::test_m", "test_x.py::test_p[c - d]", "test_x.py::test_xf"]
    report = junit.read((tmp_path / "r.xml").read_bytes(), node_ids)
    seen = statuses(report)
    assert [seen[node_id] for node_id in node_ids] == ["passed", "passed", "failed", "xfail"]
    assert seen["test_x.TestC.test_m"] == "passed"
    assert seen["test_x.test_ends_badly"] == "error"
    assert report.problems == ()
