"""JUnit XML as Maven Surefire, Gradle, pytest, gotestsum and many others write it.

Ids: `classname` + joiner + `name`; `name` alone without a class. The standard joiner is a dot; a name made with another
of `JOINERS`, or a pytest node id, is given as well when it is asked for. Several documents may follow one another in
the data, with other text between them. A document type declaration is refused, so there are no entities to expand.

Statuses: `<error>` error, `<failure>` failed, `<skipped>` skipped (xfail when its type says so), else passed. What
Surefire calls flaky (a failure, then a success of the same test) has passed; a rerun failure has failed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat  # no tree is built and declarations are refused below

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports.model import Format, Report, worse
from parsimony.testreports.names import Tests

JOINERS: Final = (".", "#", "::", " > ", "/", ":", " ")
_START: Final = re.compile(rb"<(?:\?xml|testsuites?\b)")
_OUTCOMES: Final = {"error": TestStatus.ERROR, "failure": TestStatus.FAILED, "rerunFailure": TestStatus.FAILED,
                    "rerunError": TestStatus.ERROR}  # fmt: skip
_MOST_SHOWN: Final = 5


def read(
    data: bytes, expected: Collection[str] = (), *, joiner: str = ".", evidence: Evidence = Evidence.REPORT
) -> Report:
    """Read one or more JUnit documents.

    Args:
        expected: ids that are asked for.
        joiner: what stands between class and name in the standard id.
        evidence: grade of the evidence: REPORT for files, LOG for text that was printed.
    """
    tests = Tests(expected)
    problems: list[str] = []
    documents = 0
    view = memoryview(data)
    at = 0
    while (match := _START.search(data, at)) is not None:
        document = _Document(tests, joiner)
        at = match.start() + document.parse(view[match.start() :])
        documents += document.ended
        problems += document.problems
    if documents == 0 and not problems:
        problems.append("there is no JUnit document")
    return Report(
        tests=tests.results,
        evidence=evidence if documents else Evidence.NONE,
        problems=tuple(dict.fromkeys(problems))[:_MOST_SHOWN],
    )


class _Refused(Exception):
    """The document holds a declaration that we do not read."""


@dataclass
class _Suite:
    """What a suite says of itself and what was seen of it."""

    told: dict[str, str]
    seen: int = 0
    passed: int = 0
    bad: int = 0

    def problem(self) -> str | None:
        """Why the suite cannot be whole; None when it can."""
        told = {name: int(value) for name, value in self.told.items() if value.isdecimal() and len(value) < 10}
        name = self.told.get("name", "")[:100]
        if "tests" not in told:
            return None
        bad = told.get("failures", 0) + told.get("errors", 0)
        passed = max(0, told["tests"] - bad - told.get("skipped", 0) - told.get("disabled", 0))
        if self.seen < told["tests"]:
            return f"the suite {name!r} has {told['tests']} tests and lists {self.seen}"
        if bad and not self.bad:
            return f"the suite {name!r} counts {bad} failures and lists none"
        if not bad and self.bad == 0 and self.passed > passed + told.get("skipped", 0):
            return f"the suite {name!r} counts {passed} successes and lists {self.passed}"
        return None


@dataclass
class _Case:
    """A test case while its element is open."""

    attributes: dict[str, str]
    result: TestResult


@dataclass
class _Document:
    """One document: reads as far as it is well formed."""

    tests: Tests
    joiner: str
    ended: bool = False
    problems: list[str] = field(default_factory=list)
    suites: list[_Suite] = field(default_factory=list)
    case: _Case | None = None
    depth: int = 0
    begun: bool = False

    def parse(self, data: memoryview) -> int:
        """Read the document at the start of `data`; how many bytes it took."""
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        try:
            parser.Parse(data, True)
        except _Refused:
            self.problems.append("a JUnit document declares a document type and was refused")
        except (expat.ExpatError, ValueError, LookupError) as error:
            self.ended = self.begun and self.depth == 0  # what follows the root is not ours
            if not self.ended:
                self.problems.append(f"a JUnit document is not well formed: {error}"[:200])
        else:
            self.ended = True
            return len(data)
        return min(max(1, parser.ErrorByteIndex), len(data))

    def _refuse(self, *_: object) -> None:
        raise _Refused

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.begun = True
        self.depth += 1
        if name == "testsuite":
            self.suites.append(_Suite(attributes))
        elif name == "testcase":
            status = TestStatus.SKIPPED if _never_ran(attributes) else TestStatus.PASSED
            self.case = _Case(attributes, TestResult(status, _seconds(attributes.get("time"))))
        elif self.case is not None:
            status_told = _outcome(name, attributes)
            if status_told is not None:
                self.case.result = worse(self.case.result, TestResult(status_told, self.case.result.seconds))

    def _end(self, name: str) -> None:
        self.depth -= 1
        if name == "testcase" and self.case is not None:
            self._record(self.case)
            self.case = None
        elif name == "testsuite" and self.suites:
            problem = self.suites.pop().problem()
            if problem is not None:
                self.problems.append(problem)

    def _record(self, case: _Case) -> None:
        status = case.result.status
        for suite in self.suites:
            suite.seen += 1
            suite.passed += status is TestStatus.PASSED
            suite.bad += status in (TestStatus.FAILED, TestStatus.ERROR)
        name, owner = case.attributes.get("name", ""), case.attributes.get("classname", "")
        standard = f"{owner}{self.joiner}{name}" if owner else name
        others = [f"{owner}{joiner}{name}" for joiner in JOINERS] if owner else []
        self.tests.add(standard, case.result, (*others, *_node_ids(case.attributes)))


def _outcome(element: str, attributes: dict[str, str]) -> TestStatus | None:
    if element == "skipped":
        return TestStatus.XFAIL if "xfail" in attributes.get("type", "") else TestStatus.SKIPPED
    return _OUTCOMES.get(element)


def _never_ran(attributes: dict[str, str]) -> bool:
    return attributes.get("status") in ("notrun", "disabled", "ignored") or attributes.get("result") in (
        "skipped",
        "suppressed",
    )


def _seconds(text: str | None) -> float | None:
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _node_ids(attributes: dict[str, str]) -> list[str]:
    """pytest node ids that the case can have: `a.b.test_c.TestD` and `test_e` is `a/b/test_c.py::TestD::test_e`."""
    parts = attributes.get("classname", "").split(".")
    if len(parts) > 30:
        return []
    name = attributes.get("name", "")
    return ["::".join(("/".join(parts[:end]) + ".py", *parts[end:], name)) for end in range(1, len(parts) + 1)]


def _format(name: str, patterns: tuple[str, ...], language: str = "") -> Format:
    return Format(name, "junit", injected=False, read=read, language=language, report_files=patterns)


def read_printed(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read documents that were printed among other text: evidence of the grade LOG."""
    return read(data, expected, evidence=Evidence.LOG)


FORMATS: Final = (
    _format("junit", ("junit.xml", "junit-*.xml")),
    _format("maven", ("*target/surefire-reports/TEST-*.xml", "*target/failsafe-reports/TEST-*.xml"), "java"),
    _format("gradle", ("*build/test-results/*.xml",), "java"),
    Format("junit-log", "junit", injected=False, read=read_printed),
)
