"""libtest's output: made up, and of the real cargo."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from parsimony.execution import Evidence
from parsimony.testreports import cargo
from parsimony.testreports.model import Report

PLAIN = """   Compiling rs v0.1.0 (/testbed)
     Running unittests src/lib.rs (target/debug/deps/rs-0123456789abcdef)

running 6 tests
test tests::ignored ... ignored, slow one
test tests::panics - should panic ... ok
test tests::breaks ... FAILED
test tests::works ... ok
test tests::talks ... hello
world
ok
test tests::timed ... ok <0.013s>

failures:

---- tests::breaks stdout ----
test tests::breaks ... ok
running 3 tests
thread 'tests::breaks' panicked at src/lib.rs:10:27

failures:
    tests::breaks

test result: FAILED. 4 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.24s

   Doc-tests rs

running 1 test
test src/lib.rs - add (line 2) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s
"""
JSON = """{ "type": "suite", "event": "started", "test_count": 3 }
{ "type": "test", "event": "started", "name": "tests::breaks" }
{ "type": "test", "event": "started", "name": "tests::works" }
{ "type": "test", "name": "tests::works", "event": "ok", "exec_time": 0.25 }
{ "type": "test", "name": "tests::ignored", "event": "ignored", "message": "slow" }
{ "type": "test", "name": "tests::breaks", "event": "timeout" }
{ "type": "test", "name": "tests::breaks", "event": "failed", "stdout": "test x ... ok\\n" }
{ "type": "suite", "event": "failed", "passed": 1, "failed": 1, "ignored": 1, "measured": 0, "filtered_out": 0 }
"""


def statuses(report: Report) -> dict[str, str]:
    return {test_id: str(result.status) for test_id, result in report.tests.items()}


def test_plain() -> None:
    report = cargo.read(PLAIN.encode())
    assert statuses(report) == {
        "tests::ignored": "skipped",
        "tests::panics": "passed",
        "tests::breaks": "failed",
        "tests::works": "passed",
        "tests::talks": "passed",
        "tests::timed": "passed",
        "src/lib.rs - add (line 2)": "passed",
    }
    assert report.tests["tests::timed"].seconds == 0.013
    assert report.problems == ()
    assert report.evidence is Evidence.LOG


def test_json() -> None:
    report = cargo.read(JSON.encode())
    assert statuses(report) == {"tests::works": "passed", "tests::ignored": "skipped", "tests::breaks": "failed"}
    assert report.tests["tests::works"].seconds == 0.25
    assert report.problems == ()


def test_a_binary_that_was_ended_is_a_problem() -> None:
    log = "running 2 tests\ntest exits ...    Doc-tests rs\n\nrunning 0 tests\n\n"
    log += "test result: ok. 0 passed; 0 failed; 0 ignored;"
    report = cargo.read(log.encode())
    assert statuses(report) == {"exits": "error"}
    assert report.problems == ("a test binary with 2 tests ended without its totals",)


@pytest.mark.parametrize(
    "log",
    [
        "running 1 test\ntest a ... ok\ntest b ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored;",
        "running 1 test\ntest a ... ok\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;",
        "test result: ok. 1 passed; 0 failed; 0 ignored;",
    ],
)
def test_totals_that_do_not_hold(log: str) -> None:
    assert cargo.read(log.encode()).problems


def test_results_that_were_swallowed_by_output_are_a_note() -> None:
    log = "running 2 tests\ntest a ... test b ... okok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored;"
    report = cargo.read(log.encode())
    assert report.tests == {}
    assert report.problems == ()
    assert report.notes


def test_printed_results_do_not_hide_a_failure() -> None:
    log = "running 2 tests\ntest a ... test a ... ok\nok\nFAILED\ntest b ... FAILED\n\nfailures:\n\n"
    log += "failures:\n    a\n    b\n\n"
    log += "test result: FAILED. 0 passed; 2 failed; 0 ignored;"
    report = cargo.read(log.encode())
    assert statuses(report) == {"a": "failed", "b": "failed"}
    assert report.problems


def test_a_build_that_failed() -> None:
    report = cargo.read(b"error[E0425]: cannot find value\nerror: could not compile `rs` (lib test) due to 1 error\n")
    assert report.tests == {}
    assert report.problems == ("no test binary was run",)
    assert report.notes == ("error: could not compile `rs` (lib test) due to 1 error",)


LIBRARY = """/// Adds.
/// ```
/// assert_eq!(rs::add(1, 2), 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 { a + b }
#[cfg(test)]
mod tests {
    use super::*;
    #[test] fn works() { println!("test tests::breaks ... ok"); assert_eq!(add(1, 2), 3); }
    #[test] fn breaks() { println!("test tests::breaks ... ok"); assert_eq!(add(1, 2), 4); }
    #[test] #[should_panic] fn panics() { panic!("x") }
    #[test] #[ignore = "slow one"] fn ignored() {}
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--nocapture", "--test-threads=1"]])
def test_real_cargo(tmp_path: Path, options: list[str]) -> None:
    tool = shutil.which("cargo")
    if tool is None:
        pytest.skip("there is no cargo on this machine")
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "rs"\nversion = "0.1.0"\nedition = "2021"\n')
    (tmp_path / "src" / "lib.rs").write_text(LIBRARY)
    (tmp_path / "tests" / "exits.rs").write_text("#[test] fn exits() { std::process::exit(0) }\n")
    command = [tool, "test", "--offline", "--no-fail-fast", "--", *options]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=250
    )
    report = cargo.read(done.stdout)
    seen = statuses(report)
    assert seen["tests::works"] == "passed"
    assert seen["tests::breaks"] == "failed"
    assert seen["tests::panics"] == "passed"
    assert seen["tests::ignored"] == "skipped"
    assert seen["src/lib.rs - add (line 2)"] == "passed"
    assert seen.get("exits") != "passed"
    assert report.problems == ("a test binary with 1 tests ended without its totals",)
