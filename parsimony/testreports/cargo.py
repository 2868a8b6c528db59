"""What libtest prints under `cargo test`: plain text, and JSON lines (`-Z unstable-options --format json`).

Ids: the test's path as libtest prints it (`module::test`; `src/lib.rs - item (line 3)` for doc tests), without the
remark ` - should panic`. Tests of several binaries can have one path: the worst status counts.

Each binary says how many tests it runs and ends with a line of totals. A binary without that line was ended in the
middle (a test called `process::exit`, which cargo takes for a success): a problem.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports.model import Format, Report
from parsimony.testreports.names import Tests

_WORDS: Final = {
    "ok": TestStatus.PASSED,
    "FAILED": TestStatus.FAILED,
    "failed": TestStatus.FAILED,
    "ignored": TestStatus.SKIPPED,
    "timeout": None,  # a warning that a test takes long, not its end
}
_RUNNING: Final = re.compile(r"running (\d+) tests?$")
_RESULT: Final = re.compile(r"test ((?:(?! \.\.\. ).)+) \.\.\. (ok|FAILED|ignored)(?:, .*)?(?: <(\d+(?:\.\d+)?)s>)?$")
_OPEN: Final = re.compile(r"test (.+?) \.\.\. ?")
_TOTALS: Final = re.compile(r"test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;")
_FAILURE: Final = re.compile(r"(?:---- (.+) std(?:out|err) ----|    (\S.*))$")
_REMARK: Final = re.compile(r" - should panic$")


@dataclass
class _Binary:
    """One test binary: what it announced and what was seen of it."""

    announced: int
    seen: Counter[TestStatus] = field(default_factory=Counter)
    open: str | None = None  # a test whose line was broken by what the test printed
    details: bool = False  # the part with the output of failed tests has begun


@dataclass
class _Log:
    """The whole log, read line by line."""

    tests: Tests
    binary: _Binary | None = None
    binaries: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def line(self, line: str) -> None:
        """One line of text or JSON."""
        if line.startswith("{") and self._json(line):
            return
        totals = _TOTALS.match(line)
        if totals is not None:
            self._totals([int(number) for number in totals.groups()])
        elif (running := _RUNNING.match(line)) is not None and (self.binary is None or not self.binary.details):
            self._begin(int(running[1]))
        elif self.binary is not None and not self.binary.details:
            self._test_line(self.binary, line)
        elif self.binary is not None and (failure := _FAILURE.match(line)) is not None:
            # The list of failures at the end is libtest's last word on what a test's own output can blur.
            name = failure[1] or failure[2]
            if name in self.tests.results:
                self.tests.add(name, TestResult(TestStatus.FAILED))
        elif line.startswith("error: could not compile"):
            self.notes.append(line[:200])

    def _test_line(self, binary: _Binary, line: str) -> None:
        result = _RESULT.match(line)
        if result is not None:
            self._result(result[1], _WORDS[result[2]], float(result[3]) if result[3] else None)
        elif line == "failures:":
            binary.details = True
        elif (opened := _OPEN.match(line)) is not None:
            binary.open = opened[1]
        elif binary.open is not None and line in _WORDS:
            self._result(binary.open, _WORDS[line], None)

    def _begin(self, announced: int) -> None:
        self.close()
        self.binary = _Binary(announced)
        self.binaries += 1

    def _result(self, name: str, status: TestStatus | None, seconds: float | None) -> None:
        if status is None or self.binary is None:
            return
        self.binary.open = None
        self.binary.seen[status] += 1
        self.tests.add(_REMARK.sub("", name), TestResult(status, seconds))

    def _totals(self, told: list[int]) -> None:
        if self.binary is None:
            self.problems.append("there are totals of a test binary that did not begin")
            return
        seen = self.binary.seen
        counted = [seen[status] for status in (TestStatus.PASSED, TestStatus.FAILED, TestStatus.SKIPPED)]
        if any(more > less for more, less in zip(counted, told, strict=True)) or (told[1] and not counted[1]):
            self.problems.append(f"a test binary counts {told} tests (passed, failed, ignored) and lists {counted}")
        elif counted != told:
            self.notes.append(f"{sum(told) - sum(counted)} results could not be told from the tests' own output")
        self.binary = None

    def close(self) -> None:
        """What is open at the start of a binary or at the end of the log never came to its end."""
        if self.binary is not None:
            if self.binary.open is not None:
                self._result(self.binary.open, TestStatus.ERROR, None)
            self.problems.append(f"a test binary with {self.binary.announced} tests ended without its totals")
            self.binary = None

    def _json(self, line: str) -> bool:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return False
        if not isinstance(event, dict) or event.get("type") not in ("suite", "test"):
            return False
        kind, what, name = event["type"], event.get("event"), event.get("name")
        if kind == "suite" and what == "started":
            count = event.get("test_count")
            self._begin(count if isinstance(count, int) else 0)
        elif kind == "suite":
            self._totals([_number(event.get(field)) for field in ("passed", "failed", "ignored")])
        elif isinstance(name, str) and self.binary is not None:
            if what == "started":
                self.binary.open = name
            elif isinstance(what, str):
                took = event.get("exec_time")
                self._result(name, _WORDS.get(what), float(took) if isinstance(took, float) and took >= 0 else None)
        return True


def read(data: bytes, expected: Collection[str] = ()) -> Report:
    """Read the log of one or more test binaries."""
    log = _Log(Tests(expected))
    for line in data.decode("utf-8", "replace").split("\n"):
        log.line(line.rstrip("\r"))
    log.close()
    if not log.binaries:
        log.problems.append("no test binary was run")
    return Report(
        tests=log.tests.results,
        evidence=Evidence.LOG if log.binaries else Evidence.NONE,
        problems=tuple(dict.fromkeys(log.problems)),
        notes=tuple(dict.fromkeys(log.notes)),
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


FORMATS: Final = (Format("cargo", "cargo", injected=False, read=read, language="rust"),)
