"""The Test Anything Protocol, versions 12 to 14, in the dialects of node:test, mocha and tape.

Only numbered test points count, so that a printed `ok` is not one. Subtests are indented by four blanks and end with
their parent's own point, which is where their name comes from; ids of nested tests are joined with ` > `. Statuses:
`# SKIP` skipped, `not ok # TODO` xfail, `ok # TODO` xpass.

Problems: a plan that is missing or does not hold, totals that the points contradict, a bail-out, subtests that never
end. Everything here was printed, so the evidence is a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports.model import Format, Report, worse
from parsimony.testreports.names import Tests, lines

_POINT: Final = re.compile(r"(not )?ok (\d+)(?: -)?(?: (.*))?$")
_PLAN: Final = re.compile(r"1\.\.(\d+)(?:\s*#.*)?$")
_DIRECTIVE: Final = re.compile(r"(?:^|\s)#\s*(skip|todo)\b.*$", re.IGNORECASE)
_TOTAL: Final = re.compile(r"# (tests|pass|fail|todo|skip(?:ped)?)\s+(\d+)$")
_ESCAPED: Final = re.compile(r"\\([\\#])")
_BLOCK: Final = ("---", "...")
_INDENT: Final = 4
_DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class _Point:
    """A test point: its depth, description (directive taken off) and status."""

    depth: int
    ok: bool
    text: str
    status: TestStatus


@dataclass
class _Facts:
    """What the lines of a log are, beside their points."""

    plans: dict[int, list[int]] = field(default_factory=dict)  # depth -> plans not yet compared
    totals: dict[str, int] = field(default_factory=dict)
    bail_out: str | None = None


def _status(ok: bool, directive: str | None) -> TestStatus:
    if directive == "skip" and ok:
        return TestStatus.SKIPPED
    if directive == "todo":
        return TestStatus.XPASS if ok else TestStatus.XFAIL
    return TestStatus.PASSED if ok else TestStatus.FAILED


def _point(depth: int, match: re.Match[str]) -> _Point:
    text = match[3] or ""
    found = _DIRECTIVE.search(text)
    directive = found[1].lower() if found else None
    text = (text[: found.start()] if found else text).strip()
    return _Point(depth, match[1] is None, text, _status(match[1] is None, directive))


def _scan(data: bytes, facts: _Facts, *, nested: bool) -> Iterator[_Point | str]:
    """Points and comments (without `# `) in order; plans, totals and a bail-out go into `facts`."""
    block: int | None = None  # blanks before the `---` of the YAML block that is open
    for raw in lines(data):
        line = raw.rstrip()
        text = line.lstrip(" ")
        blanks = len(line) - len(text)
        if block is not None:
            if text == _BLOCK[1] and blanks == block:
                block = None
            continue
        depth, odd = divmod(blanks, _INDENT)
        if text == _BLOCK[0] and odd == _INDENT // 2:
            block = blanks
        elif odd or depth > _DEEPEST or (depth and not nested):
            continue
        elif (match := _POINT.match(text)) is not None:
            yield _point(depth, match)
        elif (match := _PLAN.match(text)) is not None:
            facts.plans.setdefault(depth, []).append(int(match[1][:9]))
        elif text.startswith("#"):
            total = _TOTAL.match(text) if depth == 0 else None
            if total is not None:
                facts.totals[total[1]] = facts.totals.get(total[1], 0) + int(total[2][:9])
            else:
                yield text[1:].strip()
        elif text.startswith("Bail out!"):
            facts.bail_out = text


@dataclass
class _Tree:
    """Puts points under their parents, which come after them."""

    facts: _Facts
    waiting: dict[int, list[tuple[list[str], TestStatus]]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, point: _Point) -> None:
        """A point ends the subtests that stand one level below it."""
        here = self.waiting.setdefault(point.depth, [])
        for depth in sorted(each for each in self.waiting if each > point.depth + 1):
            self._left_over(depth)
        self._compare(point.depth + 1)
        here += [([point.text, *path], status) for path, status in self.waiting.pop(point.depth + 1, [])]
        here.append(([point.text], point.status))
        self.counts[point.depth] = self.counts.get(point.depth, 0) + 1

    def end(self) -> list[tuple[list[str], TestStatus]]:
        """All points with the names above them."""
        for depth in sorted(each for each in self.waiting if each > 0):
            self._left_over(depth)
        self._compare(0)
        return self.waiting.get(0, [])

    def _left_over(self, depth: int) -> None:
        if self.waiting.pop(depth, None):
            self.problems.append("there are subtests without their parent")
        self._compare(depth)

    def _compare(self, depth: int) -> None:
        """Compare the plans of a level with its points, and forget both."""
        plans, count = self.facts.plans.pop(depth, []), self.counts.pop(depth, 0)
        if not plans and count:
            self.problems.append("a plan is missing" if depth == 0 else "the plan of a subtest is missing")
        elif sum(plans) != count:
            self.problems.append(f"{sum(plans)} tests were planned and {count} reported")


def read(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read TAP of any producer, with subtests."""
    facts, tests = _Facts(), Tests(expected)
    tree = _Tree(facts)
    for item in _scan(data, facts, nested=True):
        if isinstance(item, _Point):
            tree.add(item)
    for path, status in tree.end():
        raw = " > ".join(path)
        tests.add(_ESCAPED.sub(r"\1", raw), TestResult(status), (raw, raw.replace("/testbed/", "")))
    return _report(tests, facts, tree.problems)


def read_mocha(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read mocha's reporter `tap`: full titles, all on one level, `#` taken out by mocha itself."""
    facts, tests = _Facts(), Tests(expected)
    problems: list[str] = []
    passed = failed = 0
    for item in _scan(data, facts, nested=False):
        if isinstance(item, _Point):
            tests.add(item.text, TestResult(item.status))
            passed += item.status is TestStatus.PASSED
            failed += item.status is TestStatus.FAILED
    problems += _totals(facts, passed, failed)
    if not facts.plans:
        problems.append("a plan is missing")
    return _report(tests, facts, problems)


def read_tape(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read tape: points are assertions, and the comment before them is the name of their test.

    A test without an assertion shows nothing and is not among the results. Comments of a test look like names; when the
    name before a comment is expected and the comment is not, the assertions after it count for both.
    """
    facts, tests = _Facts(), Tests(expected)
    names: list[str] = []
    statuses: dict[str, TestResult] = {}
    passed = failed = 0
    for item in _scan(data, facts, nested=False):
        if isinstance(item, str):
            name = re.sub(r"^(SKIP|TODO) ", "", item)
            keep = [each for each in names if tests.is_expected(each)] if not tests.is_expected(name) else []
            names = [*keep[-1:], name]
            continue
        passed += item.status is not TestStatus.FAILED
        failed += item.status is TestStatus.FAILED
        result = TestResult(TestStatus.PASSED if item.status is TestStatus.XPASS else item.status)
        # What follows a comment that could be a test of its own must not help the test before it.
        for name in names if item.status is TestStatus.FAILED else names[-1:]:
            statuses[name] = worse(statuses.get(name, result), result)
    for name, result in statuses.items():
        tests.add(name, result)
    problems = _totals(facts, passed, failed)
    if not facts.plans:
        problems.append("a plan is missing")
    return _report(tests, facts, problems)


def read_plain(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read lines `ok N TEXT` wherever they stand: the id is all the text, a dash or a directive included."""
    tests = Tests(expected)
    for line in lines(data):
        match = re.match(r"\s*(not )?ok (\d+) (.+?)\s*$", line)
        if match is not None:
            tests.add(match[3], TestResult(TestStatus.FAILED if match[1] else TestStatus.PASSED))
    return Report(tests=tests.results, evidence=Evidence.LOG if tests.results else Evidence.NONE)


def _totals(facts: _Facts, passed: int, failed: int) -> list[str]:
    told_passed, told_failed = facts.totals.get("pass"), facts.totals.get("fail", 0)
    if told_passed is None:
        return ["the totals are missing"]
    if passed > told_passed or (told_failed and not failed):
        return [f"{passed} passed and {failed} failed; told were {told_passed} and {told_failed}"]
    return []


def _report(tests: Tests, facts: _Facts, problems: list[str]) -> Report:
    if facts.bail_out is not None:
        problems.append(f"the run was given up: {facts.bail_out[:200]}")
    if not tests.results:
        problems.append("there are no test points")
    return Report(
        tests=tests.results,
        evidence=Evidence.LOG if tests.results else Evidence.NONE,
        problems=tuple(dict.fromkeys(problems)),
    )


def _format(
    name: str, framework: str, reader: Callable[[bytes, Collection[str]], Report], *, injected: bool = True
) -> Format:
    return Format(name, framework, injected=injected, read=reader, language="javascript" if injected else "")


FORMATS: Final = (
    _format("node-tap", "node-test", read),
    _format("mocha-tap", "mocha", read_mocha),
    _format("tape", "tape", read_tape),
    _format("tap", "tap", read, injected=False),
)
