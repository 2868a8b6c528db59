"""What every reader of test results gives back, and how a reader is registered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from parsimony.execution import Evidence, TestResult, TestStatus

# From best to worst. A skip stands below an expected failure because it shows nothing about the code.
_ORDER = (
    TestStatus.PASSED,
    TestStatus.XFAIL,
    TestStatus.XPASS,
    TestStatus.SKIPPED,
    TestStatus.FAILED,
    TestStatus.ERROR,
)
_RANK = {status: rank for rank, status in enumerate(_ORDER)}


@dataclass(frozen=True, slots=True)
class Report:
    """What a test run reported.

    Attributes:
        tests: test id -> result; the worst status counts when an id was reported more than once.
        evidence: how good the source is; `NONE` when nothing could be read.
        problems: reasons why this can never be trusted as a success (forged, unfinished, counts disagree, a canary
            came out wrong), one plain clause each.
        notes: worth knowing, does not change the verdict.
        exit_status: of the test command, where the source tells.
        timed_out: the test command was stopped at its time limit.
        tampered: at least one of the problems is a sign of forgery. False with problems = incomplete or broken, which
            honest code can cause as well.
        labels: test id -> what the runner's own log calls this test, where the two differ (unittest: the first line
            of a docstring, or `method (class)`). Several ids can have one label.
    """

    tests: Mapping[str, TestResult] = field(default_factory=dict)
    evidence: Evidence = Evidence.NONE
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exit_status: int | None = None
    timed_out: bool = False
    tampered: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Canaries:
    """Names of the two generated tests of a run: one has to come out as passed, the other as failed.

    Random, so that no candidate can know them beforehand.
    """

    pass_name: str
    fail_name: str


@dataclass(frozen=True, slots=True)
class Format:
    """A named way to read results.

    Attributes:
        name: what `log_format` of a task says.
        framework: the test runner it belongs to (`pytest`, `unittest`, `django`, `node-test`, `mocha`, `go`, ...).
        injected: our own reporter exists for that framework, so results come over the channel and `read` is only the
            fall-back.
        read: bytes of the log or report, and the ids that are asked for (some logs can only be split with their
            help) -> `Report`. Never raises.
        language: `python`, `javascript`, `go`, `rust`, or empty when the format belongs to none.
        report_files: patterns (as `find -path` takes them, relative to the work tree) of the report files that the
            test command writes; empty when the results are in its output.
        alias: what rows of this format call the test with a given id, where they were made from a log that shortens
            names; None = its id.
    """

    name: str
    framework: str
    injected: bool
    read: Callable[[bytes, Collection[str]], Report]
    language: str = ""
    report_files: tuple[str, ...] = ()
    alias: Callable[[str], str] | None = None

    @property
    def gives_report(self) -> bool:
        """Whether its evidence is of the grade REPORT: our own reporter, or files that the runner writes."""
        return self.injected or bool(self.report_files)

    def named(self, report: Report, expected: Collection[str]) -> Report:
        """`report` with the tests that are asked for by another name than their id also under that name.

        Other names are labels and aliases. When several tests have one such name, the worst of them counts.
        """
        unseen = set(expected) - set(report.tests)
        if not unseen:
            return report
        tests = dict(report.tests)
        for test_id, result in report.tests.items():
            names = {report.labels.get(test_id), self.alias(test_id) if self.alias is not None else None}
            for name in unseen.intersection(names):
                add(tests, name, result)
        return replace(report, tests=tests)

    def read_files(self, files: Mapping[str, bytes], expected: Collection[str] = ()) -> Report:
        """One report of several report files (file name -> content). Never raises."""
        if not files:
            return Report(problems=("the test command left no report file",))
        return merge(self.read(files[name], expected) for name in sorted(files))


def merge(reports: Iterable[Report]) -> Report:
    """Several reports of one run as one: the worst status of an id, every problem and note once."""
    tests: dict[str, TestResult] = {}
    labels: dict[str, str] = {}
    problems: dict[str, None] = {}
    notes: dict[str, None] = {}
    seen: list[Report] = []
    for report in reports:
        seen.append(report)
        for test_id, result in report.tests.items():
            add(tests, test_id, result)
        labels.update(report.labels)
        problems.update(dict.fromkeys(report.problems))
        notes.update(dict.fromkeys(report.notes))
    grades = [report.evidence for report in seen if report.evidence is not Evidence.NONE]
    return Report(
        tests=tests,
        evidence=min(grades, key=[Evidence.LOG, Evidence.REPORT].index, default=Evidence.NONE),
        problems=tuple(problems),
        notes=tuple(notes),
        timed_out=any(report.timed_out for report in seen),
        tampered=any(report.tampered for report in seen),
        labels=labels,
    )


def worse(first: TestResult, second: TestResult) -> TestResult:
    """The result with the worse status; of two equal ones the first."""
    return second if _RANK[second.status] > _RANK[first.status] else first


def add(tests: dict[str, TestResult], test_id: str, result: TestResult) -> None:
    """Record a result in `tests`; the worst status of an id counts."""
    known = tests.get(test_id)
    tests[test_id] = result if known is None else worse(known, result)
