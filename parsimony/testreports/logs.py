"""What Python test runners print: pytest's short summary, `unittest -v`, Django's test runner.

These readers serve where no report can be had (stored logs, rows that name one of SWE-bench's log parsers). Everything
here was printed by the process that also ran the candidate: the evidence is a log.

A pytest line is `STATUS ID` or `STATUS ID - MESSAGE`, and an id may hold blanks and ` - `: the ids that are asked for
tell where it ends. Without them it ends at the first ` - `. `SKIPPED [N] FILE: REASON` names no test.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports.model import Format, Report
from parsimony.testreports.names import Tests, lines

# ---- pytest

_PYTEST: Final = {
    "PASSED": TestStatus.PASSED,
    "FAILED": TestStatus.FAILED,
    "SUBFAIL": TestStatus.FAILED,
    "SUBFAILED": TestStatus.FAILED,
    "ERROR": TestStatus.ERROR,
    "SKIPPED": TestStatus.SKIPPED,
    "XFAIL": TestStatus.XFAIL,
    "XPASS": TestStatus.XPASS,
}
_WORDS: Final = "|".join(_PYTEST)
_SUMMARY_LINE: Final = re.compile(rf"({_WORDS})(?:\(.*?\))? (\S.*)$")
_PROGRESS_LINE: Final = re.compile(
    rf"(?:\[gw\d+\] \[ *\d+%\] (?P<first>{_WORDS}) (?P<after>\S.*)|(?P<before>\S.*::.*?) (?P<last>{_WORDS})(?: \(.*\))?"
    r"(?: +\[ *\d+%\])?)$"
)
_SKIP_COUNT: Final = re.compile(r"\[\d+\] ")
_LAST_LINE: Final = re.compile(r"=*\s*((?:\d+ [a-z]+(?: [a-z]+)?, )*\d+ [a-z]+(?: [a-z]+)?) in [\d.]+s")
_COUNT: Final = re.compile(r"(\d+) (passed|failed|errors?)\b")


def read_pytest(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read a log of pytest: lines of the summary (`-rA`) and of the progress (`-v`)."""
    tests = Tests(expected)
    listed: Counter[str] = Counter()
    told: Counter[str] = Counter()
    ended = False
    for line in lines(data):
        summary = _SUMMARY_LINE.match(line)
        if summary is not None:
            if not (summary[1] == "SKIPPED" and _SKIP_COUNT.match(summary[2])):
                tests.add(_pytest_id(tests, summary[1], summary[2]), TestResult(_PYTEST[summary[1]]))
                listed[summary[1]] += 1
        elif (progress := _PROGRESS_LINE.match(line)) is not None:
            word = progress["first"] or progress["last"]
            tests.add((progress["after"] or progress["before"]).strip(), TestResult(_PYTEST[word]))
        elif (last := _LAST_LINE.match(line)) is not None:
            ended = True
            for number, word in _COUNT.findall(last[1]):
                told[word.rstrip("s") if word.startswith("error") else word] += int(number[:9])
    problems = [] if ended else ["pytest did not come to its last line"]
    if ended and listed["PASSED"] > told["passed"]:
        problems.append(f"{listed['PASSED']} tests are listed as passed; told were {told['passed']}")
    return _report(tests, problems)


def _pytest_id(tests: Tests, word: str, text: str) -> str:
    text = text.rstrip()
    known = tests.longest_expected(text, (" - ", " ") if word in ("XPASS", "XFAIL") else (" - ",))
    if known is not None:
        return known
    return text if word == "PASSED" else text.split(" - ", 1)[0]


# ---- unittest and Django

_UNITTEST: Final = {
    "ok": TestStatus.PASSED,
    "OK": TestStatus.PASSED,
    "FAIL": TestStatus.FAILED,
    "ERROR": TestStatus.ERROR,
    "expected failure": TestStatus.XFAIL,
    "unexpected success": TestStatus.FAILED,  # unittest calls such a run a failure
}
_NAME: Final = re.compile(r"(\w+) \(([\w.<>]+)\)")
_ENDING: Final = re.compile(r"^(.*?) \.\.\. +(ok|OK|FAIL|ERROR|expected failure|unexpected success|skipped\b.*)$")
_BEGINNING: Final = re.compile(r"^(.*?) \.\.\. ?(.*)$")
_HEADING: Final = re.compile(r"^(FAIL|ERROR|UNEXPECTED SUCCESS): (.*)$")
_RAN: Final = re.compile(r"^Ran (\d+) tests? in [\d.]+s$")


class _Unittest:
    """Reads the lines of one log.

    A result stands after ` ... ` on the line of the test's name, or of its docstring's first line (the name is on the
    line before), or alone on a later line when the test itself printed something.
    """

    def __init__(self, tests: Tests) -> None:
        self._tests = tests
        self._previous = ""
        self._waiting: tuple[str, str] | None = None  # line of a test without a result yet, and the line before it
        self.ran: int | None = None
        self.seen = 0

    def line(self, line: str) -> None:
        """One line."""
        ending = _ENDING.match(line)
        heading = _HEADING.match(line)
        if ending is not None:
            self._result(ending[1], self._previous, ending[2])
        elif heading is not None:
            self._heading(heading[1], heading[2])
        elif (ran := _RAN.match(line)) is not None:
            self.ran = (self.ran or 0) + int(ran[1][:9])
        elif self._waiting is not None and (word := self._word_alone(line)) is not None:
            self._result(*self._waiting, word)
        elif (beginning := _BEGINNING.match(line)) is not None and _NAME.search(line + " " + self._previous):
            self._waiting = (beginning[1], self._previous)
        self._previous = line

    def _word_alone(self, line: str) -> str | None:
        return next((word for word in _UNITTEST if line == word or line.endswith(word)), None)

    def _result(self, text: str, before: str, word: str) -> None:
        self._waiting = None
        status = TestStatus.SKIPPED if word.startswith("skipped") else _UNITTEST[word]
        name = _NAME.fullmatch(text) or _NAME.fullmatch(before)
        if name is None:  # something was printed between the name and its result
            name = next(reversed(list(_NAME.finditer(text))), None)
        self.seen += 1
        self._add(name, text, TestResult(status), [text])

    def _heading(self, word: str, text: str) -> None:
        """A failure once more, with its details; of a subtest for the first time."""
        status = TestStatus.FAILED if word != "ERROR" else TestStatus.ERROR
        name = _NAME.match(text)
        self._add(name, text, TestResult(status), [text])

    def _add(self, name: re.Match[str] | None, text: str, result: TestResult, others: Iterable[str]) -> None:
        if name is None:
            self._tests.add(text, result)
            return
        method, owner = name[1], name[2]
        test_id = owner if owner.endswith(f".{method}") else f"{owner}.{method}"
        self._tests.add(test_id, result, (*others, name[0], f"{method} ({test_id.rpartition('.')[0]})"))


def read_unittest(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read `unittest -v` or Django's runner with `--verbosity 2`.

    Ids are those of unittest (`module.Class.method`). The line as printed, `method (class)` and the first line of a
    docstring are given as well when they are asked for.
    """
    tests = Tests(expected)
    log = _Unittest(tests)
    for line in lines(data):
        log.line(line.rstrip())
    problems = []
    if log.ran is None:
        problems.append("unittest did not come to its last line")
    elif log.seen > 0 and log.ran == 0:
        problems.append(f"{log.seen} tests are listed; told were none")
    return _report(tests, problems)


# ---- both


def _report(tests: Tests, problems: list[str]) -> Report:
    if not tests.results:
        problems.append("there are no results in the log")
    return Report(
        tests=tests.results,
        evidence=Evidence.LOG if tests.results else Evidence.NONE,
        problems=tuple(problems),
    )


FORMATS: Final = (
    Format("pytest", "pytest", injected=True, read=read_pytest, language="python"),
    Format("unittest", "unittest", injected=True, read=read_unittest, language="python"),
    Format("django", "django", injected=True, read=read_unittest, language="python"),
)
