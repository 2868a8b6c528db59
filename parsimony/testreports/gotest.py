"""The stream of `go test -json`.

Ids: `package.Test/sub` and plain `Test/sub`; the plain one has the worst status of all packages that have such a test.
A package that did not build, or failed without a test that failed (a panic outside of tests, a failing TestMain), is an
error under its import path. A test that began and has no end (the process died, the stream was cut) is an error.

The stream is printed by the go command from what the test process prints. Since Go 1.20 test binaries mark their own
lines, but what a process prints can look like them, so the evidence is a log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports.model import Format, Report
from parsimony.testreports.names import Tests, lines

Json: TypeAlias = dict[str, object]

ENDINGS: Final = {"pass": TestStatus.PASSED, "fail": TestStatus.FAILED, "skip": TestStatus.SKIPPED}
_RESULT_LINE: Final = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \((\d+(?:\.\d+)?)s\)$")
_PLAIN_STATUS: Final = {"PASS": TestStatus.PASSED, "FAIL": TestStatus.FAILED, "SKIP": TestStatus.SKIPPED}


@dataclass
class _Package:
    """What was seen of one package."""

    open: set[str] = field(default_factory=set)
    ending: TestStatus | None = None
    failed_tests: int = 0
    built: bool = True


def read(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read the stream; lines that are no events are passed over."""
    tests = Tests(expected)
    packages: dict[str, _Package] = {}
    notes: list[str] = []
    events = 0
    for line in data.splitlines():
        event = _event(line)
        if event is None:
            continue
        events += 1
        _take(event, tests, packages, notes)
    problems = [] if events else ["there are no events of go test"]
    for name, package in packages.items():
        problems += _close(name, package, tests, notes)
    return Report(
        tests=tests.results,
        evidence=Evidence.LOG if events else Evidence.NONE,
        problems=tuple(dict.fromkeys(problems)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _take(event: Json, tests: Tests, packages: dict[str, _Package], notes: list[str]) -> None:
    action, name, test = event.get("Action"), event.get("Package"), event.get("Test")
    if action == "build-fail":
        notes.append(f"{str(event.get('ImportPath'))[:200]} did not build")
        return
    if not isinstance(name, str) or not isinstance(action, str):
        return
    package = packages.setdefault(name, _Package())
    if isinstance(event.get("FailedBuild"), str):
        package.built = False
    if not isinstance(test, str):
        package.ending = ENDINGS.get(action, package.ending)
        return
    if action == "run":
        package.open.add(test)
    elif action in ENDINGS:
        package.open.discard(test)
        package.failed_tests += action == "fail"
        _record(tests, name, test, TestResult(ENDINGS[action], _seconds(event.get("Elapsed"))))


def _close(name: str, package: _Package, tests: Tests, notes: list[str]) -> list[str]:
    """Judge a package at the end of the stream; gives problems."""
    for test in sorted(package.open):
        _record(tests, name, test, TestResult(TestStatus.ERROR))
    if package.open:
        notes.append(f"{name}: {len(package.open)} tests began and have no end")
    if package.ending is None:
        return [f"{name}: the stream ends before the package does"]
    if package.ending is TestStatus.FAILED and (not package.built or not package.failed_tests):
        tests.add(name, TestResult(TestStatus.ERROR))
        notes.append(f"{name} {'failed outside of its tests' if package.built else 'did not build'}")
    if package.ending is TestStatus.PASSED and (package.failed_tests or package.open):
        return [f"{name} passed although tests of it did not"]
    return []


def _record(tests: Tests, package: str, test: str, result: TestResult) -> None:
    tests.add(f"{package}.{test}", result)
    tests.add(test, result)


def _event(line: bytes) -> Json | None:
    if not line.startswith(b"{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "Action" in value else None


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    return None


def read_verbose(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read the text of `go test -v`: ids are plain test names, of all packages together."""
    tests = Tests(expected)
    for line in lines(data):
        match = _RESULT_LINE.match(line)
        if match is not None:
            tests.add(match[2], TestResult(_PLAIN_STATUS[match[1]], float(match[3])))
    evidence = Evidence.LOG if tests.results else Evidence.NONE
    return Report(tests=tests.results, evidence=evidence)


FORMATS: Final = (Format("go-test", "go", injected=False, read=read, language="go"),)
