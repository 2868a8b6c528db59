"""The names of SWE-bench's log parsers."""

from __future__ import annotations

import pytest

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports import FORMATS, swebench
from parsimony.testreports.model import Report


def read(name: str, log: str) -> dict[str, str]:
    report = FORMATS[f"parse_log_{name}"].read(log.encode(), ())
    return {test_id: str(result.status) for test_id, result in report.tests.items()}


def test_ids_of_pytest_parsers() -> None:
    assert swebench.first_word("a.py::test[x y]") == "a.py::test[x"
    assert swebench.first_word("  ") == "  "
    assert swebench.short_option("a.py::test[/tmp/x/y.dcm]") == "a.py::test[/y.dcm]"
    assert swebench.short_option("a.py::test[//tmp/x]") == "a.py::test[//tmp/x]"
    assert swebench.short_option("a.py::test[/tmp/*]") == "a.py::test[/tmp/*]"
    assert swebench.plain_words("a.py::test[x\x1b  y]") == "a.py::test[x y]"
    assert swebench.mouse_buttons("a.py::t[MouseButton.LEFT x]") == "a.py::t[1"


def test_a_row_gets_its_own_names() -> None:
    tests = {
        "a.py::t[x y]": TestResult(TestStatus.PASSED),
        "a.py::t[x z]": TestResult(TestStatus.FAILED),
        "a.py::u": TestResult(TestStatus.PASSED),
    }
    report = Report(tests, Evidence.REPORT)
    named = FORMATS["parse_log_flask"].named(report, ["a.py::t[x", "a.py::u"])
    assert str(named.tests["a.py::t[x"].status) == "failed", "the worst of those that share the name"
    assert named.tests.keys() - report.tests.keys() == {"a.py::t[x"}
    assert FORMATS["pytest"].named(report, ["a.py::t[x"]) == report


def test_labels_are_names_too() -> None:
    report = Report({"m.C.t": TestResult(TestStatus.PASSED)}, Evidence.REPORT, labels={"m.C.t": "t (m.C)"})
    assert set(FORMATS["django"].named(report, ["t (m.C)"]).tests) == {"m.C.t", "t (m.C)"}


P, F, S, E = "passed", "failed", "skipped", "error"
LINES = [
    ("jest_json", "[PASSED] a > b\n[FAILED] a > c\n[OTHER] x", {"a > b": P, "a > c": F}),
    ("vitest", " ✓ a.ts > x 3ms\n × b > y 1 s\n ↓ c > z [skipped]\n", {"a.ts > x": P, "b > y": F, "c > z": S}),
    ("carbon", "PASS a.js (5.1 s)\nFAIL b.js\n", {"a.js": P, "b.js": F}),
    ("redis", "[ok]: a in b (12 ms)\n[err]: c in x.tcl\n[ignore]: d\n", {"a in b": P, "c": F, "d": S}),
    ("jq", "PASS: t/a\nFAIL: t/b\n", {"t/a": P, "t/b": F}),
    ("micropython_test", "pass  a.py\nFAIL  b.py\nskip  c.py\n", {"a.py": P, "b.py": F, "c.py": S}),
    ("googletest", "[       OK ] A.b (0 ms)\n3: [  FAILED  ] A.c (1 ms)\n[  FAILED  ] A.d\n", {"A.b": P, "A.c": F}),
    ("ant", "   [junit] [PASS] a\n   [junit] [ERR] b\n", {"a": P, "b": E}),
    ("gradle_custom", "c.T > m PASSED\nc.T > n FAILED\n> Task :x FAILED\n", {"c.T > m": P, "c.T > n": F}),
    ("ruby_unit", "  test: a b:\t.: (0.1)\n  c:\tF\n", {"a b": P, "c": F}),
    ("rspec_transformed_json", "a b - passed\nc - failed\n", {"a b": P, "c": F}),
    ("tap", "ok 1 - a # SKIP\n  not ok 2 b\n", {"- a # SKIP": P, "b": F}),
    ("gotest", "--- PASS: TestA (0.00s)\n    --- FAIL: TestA/b (0.1s)\n", {"TestA": P, "TestA/b": F}),
    ("phpunit", "Foo (Tests\\Foo)\n ✔ Adds\n ✘ Breaks\n", {"Foo > Adds": P, "Foo > Breaks": F}),
    (
        "sympy",
        "test_a ok\ntest_b F\ntest_c E\n__ x/y.py:test_b __\n",
        {"test_a": P, "test_b": F, "test_c": E, "x/y.py:test_b": F},
    ),
]


@pytest.mark.parametrize(("name", "log", "expected"), LINES, ids=[name for name, _, _ in LINES])
def test_lines(name: str, log: str, expected: dict[str, str]) -> None:
    assert read(name, log) == expected


def test_lines_that_contradict_each_other_have_the_worst_status() -> None:
    assert read("jq", "PASS: a\nFAIL: a\nPASS: a\n") == {"a": "failed"}


def test_maven_runs() -> None:
    log = "+ mvn -Dtest=A#x\n[INFO] BUILD SUCCESS\n+ mvn -Dtest=A#y\n[INFO] BUILD FAILURE\n"
    assert read("maven", log) == {"A#x": "passed", "A#y": "failed"}
    assert FORMATS["parse_log_maven"].read((log + "+ mvn -Dtest=A#z\n").encode(), ()).problems


def test_what_is_not_known_stays_unknown() -> None:
    for name in ("eslint", "bpmn_js", "immutable_js", "jekyll", "next", "unheard_of"):
        assert f"parse_log_{name}" not in FORMATS
