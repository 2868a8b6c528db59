"""The JSON report of jest (`--json --outputFile=FILE`) and of vitest (`--reporter=json --outputFile=FILE`).

Ids: the full name, titles joined by blanks, as jest's own `fullName`. The last title alone, titles joined by ` > `, and
both with the path of the file before them are given too when they are asked for. A file that could not be run at all is
an error under its path.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final, TypeAlias

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports.model import Format, Report
from parsimony.testreports.names import Tests

Json: TypeAlias = dict[str, object]

STATUSES: Final = {
    "passed": TestStatus.PASSED,
    "failed": TestStatus.FAILED,
    "pending": TestStatus.SKIPPED,
    "skipped": TestStatus.SKIPPED,
    "disabled": TestStatus.SKIPPED,
    "todo": TestStatus.SKIPPED,
}


def read(data: bytes, expected: Collection[str] = (), *, evidence: Evidence = Evidence.REPORT) -> Report:
    """Read one report, or the first JSON object with `testResults` in a text.

    Args:
        expected: ids that are asked for.
        evidence: grade of the evidence: REPORT for files, LOG for text that was printed.
    """
    record = _find(data.decode("utf-8", "replace"))
    if record is None:
        return Report(problems=("there is no jest report",))
    tests = Tests(expected)
    seen: dict[TestStatus, int] = {}
    problems: list[str] = []
    for file in _objects(record.get("testResults")):
        path = _text(file.get("name")) or _text(file.get("testFilePath"))
        cases = _objects(file.get("assertionResults")) or _objects(file.get("testResults"))
        for case in cases:
            status = STATUSES.get(_text(case.get("status")))
            if status is None:
                problems.append(f"a test has the unknown status {str(case.get('status'))[:40]!r}")
                continue
            seen[status] = seen.get(status, 0) + 1
            _record(tests, path, case, status)
        if not cases and (file.get("status") == "failed" or file.get("testExecError")):
            tests.add(path or "a file without a name", TestResult(TestStatus.ERROR))
    problems += _disagreements(record, seen)
    return Report(tests=tests.results, evidence=evidence, problems=tuple(dict.fromkeys(problems)))


def _record(tests: Tests, path: str, case: Json, status: TestStatus) -> None:
    above = case.get("ancestorTitles")
    titles = [each for each in above if isinstance(each, str)] if isinstance(above, list) else []
    title = _text(case.get("title"))
    full = " ".join((*titles, title)) or _text(case.get("fullName"))
    nested = " > ".join((*titles, title))
    others = [_text(case.get("fullName")), title, nested]
    tails = path.split("/")
    for end in range(len(tails)):  # the path may be absolute: every tail of it may be what the gates begin with
        tail = "/".join(tails[end:])
        if end < 40 and tail:
            others += [f"{tail} > {nested}", f"{tail}: {full}", f"{tail}::{nested}", f"{tail} {full}"]
    milliseconds = case.get("duration")
    seconds = None
    if isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool) and 0 <= milliseconds < 1e12:
        seconds = milliseconds / 1000
    tests.add(full, TestResult(status, seconds), others)


def _disagreements(record: Json, seen: dict[TestStatus, int]) -> list[str]:
    """Where the report's own totals are not those of its tests."""
    problems = []
    for field, status in (("numPassedTests", TestStatus.PASSED), ("numFailedTests", TestStatus.FAILED)):
        told, counted = record.get(field), seen.get(status, 0)
        if isinstance(told, int) and told != counted:
            problems.append(f"the report counts {told} tests as {status.value} and lists {counted}")
    if record.get("success") is True and seen.get(TestStatus.FAILED):
        problems.append("the report tells of success and lists failures")
    if record.get("wasInterrupted") is True:
        problems.append("the run was interrupted")
    return problems


def _find(text: str) -> Json | None:
    """The first JSON object that is a report."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(1000):
        if at < 0:
            return None
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict) and isinstance(value.get("testResults"), list):
                return value
        at = text.find("{", end)
    return None


def _objects(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_printed(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read a report that was printed among other text: evidence of the grade LOG."""
    return read(data, expected, evidence=Evidence.LOG)


FORMATS: Final = (
    Format("jest", "jest", injected=True, read=read_printed, language="javascript"),
    Format("jest-json", "jest", injected=False, read=read, language="javascript", report_files=("jest-report.json",)),
    Format(
        "vitest-json", "vitest", injected=False, read=read, language="javascript", report_files=("vitest-report.json",)
    ),
)
