"""The stream of `go test -json`: made up, and of the real go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from parsimony.execution import Evidence
from parsimony.testreports import gotest
from parsimony.testreports.model import Report


def stream(*events: dict[str, object]) -> bytes:
    return "\n".join(json.dumps(event) for event in events).encode()


def event(action: str, test: str | None = None, package: str = "m/a", **more: object) -> dict[str, object]:
    return {"Action": action, "Package": package, **({"Test": test} if test else {}), **more}


def statuses(report: Report) -> dict[str, str]:
    return {test_id: str(result.status) for test_id, result in report.tests.items()}


def test_both_names() -> None:
    report = gotest.read(
        stream(event("start"), event("run", "TestA"), event("pass", "TestA", Elapsed=0.5), event("pass", Elapsed=1))
    )
    assert statuses(report) == {"m/a.TestA": "passed", "TestA": "passed"}
    assert report.tests["TestA"].seconds == 0.5
    assert report.problems == ()
    assert report.evidence is Evidence.LOG


def test_plain_names_have_the_worst_status_of_all_packages() -> None:
    report = gotest.read(
        stream(event("fail", "TestA", "m/b"), event("fail", None, "m/b"), event("pass", "TestA", "m/a"), event("pass"))
    )
    assert statuses(report) == {"m/b.TestA": "failed", "TestA": "failed", "m/a.TestA": "passed"}


def test_a_test_without_an_end_is_an_error() -> None:
    report = gotest.read(stream(event("run", "TestA"), event("fail")))
    assert statuses(report)["TestA"] == "error"


def test_a_stream_that_is_cut_is_a_problem() -> None:
    report = gotest.read(stream(event("start"), event("run", "TestA"), event("pass", "TestA")))
    assert report.problems == ("m/a: the stream ends before the package does",)


def test_a_package_that_passed_with_failures_is_a_problem() -> None:
    assert gotest.read(stream(event("fail", "TestA"), event("pass"))).problems
    assert gotest.read(stream(event("run", "TestA"), event("pass"))).problems


def test_a_package_that_did_not_build() -> None:
    report = gotest.read(
        stream(
            {"ImportPath": "m/a [m/a.test]", "Action": "build-output", "Output": "undefined: x"},
            {"ImportPath": "m/a [m/a.test]", "Action": "build-fail"},
            event("start"),
            event("fail", None, FailedBuild="m/a [m/a.test]"),
        )
    )
    assert statuses(report) == {"m/a": "error"}
    assert any("did not build" in note for note in report.notes)


def test_lines_that_are_no_events() -> None:
    noise = b'FAIL\n{"x": 1}\n{broken\n[1]\n\xff\xfe\n'
    report = gotest.read(noise + stream(event("pass", "TestA"), event("pass")))
    assert statuses(report) == {"m/a.TestA": "passed", "TestA": "passed"}
    assert gotest.read(noise).problems == ("there are no events of go test",)


def test_verbose_text() -> None:
    log = (
        b"=== RUN   TestA\n--- FAIL: TestA (0.10s)\n    --- PASS: TestA/sub_x (0.00s)\n--- SKIP: TestB (0.00s)\nok m\n"
    )
    assert statuses(gotest.read_verbose(log)) == {"TestA": "failed", "TestA/sub_x": "passed", "TestB": "skipped"}


SOURCES = {
    "go.mod": "module example.com/m\ngo 1.20\n",
    "a/a_test.go": """package a
import ("fmt"; "testing")
func TestOK(t *testing.T) { t.Run("sub one", func(t *testing.T) {}); t.Run("x#y", func(t *testing.T) { t.Skip() }) }
func TestBad(t *testing.T) { t.Run("inner", func(t *testing.T) { t.Fatal("x") }) }
func TestPrints(t *testing.T) { fmt.Println("--- PASS: TestBad (0.00s)"); fmt.Print("no end of line") }
""",
    "b/b_test.go": """package b
import "testing"
func TestOK(t *testing.T) {}
func TestPanics(t *testing.T) { panic("boom") }
func TestAfter(t *testing.T) {}
""",
    "c/c_test.go": 'package c\nimport "testing"\nfunc TestX(t *testing.T) { undefined() }\n',
    "d/d_test.go": """package d
import ("os"; "testing")
func TestMain(m *testing.M) { os.Exit(3) }
func TestX(t *testing.T) {}
""",
    "e/e_test.go": 'package e\nimport ("os"; "testing")\nfunc TestExits(t *testing.T) { os.Exit(0) }\n',
}


@pytest.mark.slow
def test_real_go(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no go on this machine")
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    command = [go, "test", "-json", "./..."]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=250)
    report = gotest.read(done.stdout + done.stderr)
    base = "example.com/m"
    expected = {
        f"{base}/a.TestOK": "passed",
        f"{base}/a.TestOK/sub_one": "passed",
        f"{base}/a.TestOK/x#y": "skipped",
        f"{base}/a.TestBad": "failed",
        f"{base}/a.TestBad/inner": "failed",
        f"{base}/a.TestPrints": "passed",
        f"{base}/b.TestOK": "passed",
        f"{base}/b.TestPanics": "failed",
        f"{base}/c": "error",
        f"{base}/d": "error",
        f"{base}/e.TestExits": "failed",
        "TestBad": "failed",
        "TestOK/x#y": "skipped",
    }
    seen = statuses(report)
    assert {test_id: seen.get(test_id) for test_id in expected} == expected
    assert f"{base}/b.TestAfter" not in seen
    assert report.problems == ()
