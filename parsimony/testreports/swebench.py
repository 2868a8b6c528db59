"""The names of SWE-bench 5's log parsers (`log_parser` of a row), with readers that agree with them on what is a test.

Where our own reporter exists for the framework, results come from it, and only the names are those of the parser: most
of its pytest parsers cut an id at the first blank. A test that is listed twice has its worst status, not its last.

Parsers that list failures only, or whose meaning depends on the single instance, are not here: the former show no
success, the latter have no meaning of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports import cargo, gotest, jest, logs, tap
from parsimony.testreports.model import Format, Report
from parsimony.testreports.names import Tests, lines

Reader = Callable[[bytes, Collection[str]], Report]

# ---- names of pytest ids

_CONTROL: Final = dict.fromkeys(range(1, 32))
_OPTION: Final = re.compile(r"(.*?)\[(/[^/*][^*]*)\]")


def first_word(test_id: str) -> str:
    """`a.py::test[x y]` is `a.py::test[x`."""
    return test_id.split(maxsplit=1)[0] if test_id.strip() else test_id


def short_option(test_id: str) -> str:
    """As `first_word`, and a parameter that is an absolute path is only its last part."""
    word = first_word(test_id)
    match = _OPTION.search(word)
    return f"{match[1]}[/{match[2].rsplit('/', 1)[-1]}]" if match is not None else word


def plain_words(test_id: str) -> str:
    """Without control characters, and single blanks between words."""
    return " ".join(test_id.translate(_CONTROL).split())


def mouse_buttons(test_id: str) -> str:
    """As `first_word`, and the numbers of mouse buttons in place of their names."""
    return first_word(test_id.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))


_PYTEST_NAMES: Final[Mapping[Callable[[str], str], tuple[str, ...]]] = {
    first_word: (
        "pytest", "astroid", "flask", "marshmallow", "pvlib", "pyvista", "seaborn", "sqlfluff", "xarray",
    ),
    short_option: ("pytest_options", "pydicom", "pylint", "requests"),
    plain_words: ("pytest_v2", "astropy", "scikit", "sphinx"),
    mouse_buttons: ("matplotlib",),
}  # fmt: skip

# ---- logs with one line for each test

_P, _F, _S, _E = TestStatus.PASSED, TestStatus.FAILED, TestStatus.SKIPPED, TestStatus.ERROR
_LINES: Final[Mapping[str, tuple[str, str, Mapping[str, TestStatus]]]] = {
    # name: (framework, pattern with the groups `word` and `name`, status by word)
    "jest_json": ("jest", r"\[(?P<word>PASSED|FAILED)\] (?P<name>.+)", {"PASSED": _P, "FAILED": _F}),
    "vitest": (
        "vitest", r"(?P<word>[✓×↓]) (?P<name>.+?)(?: (?:\d+ *m?s?|\[skipped\]))?", {"✓": _P, "×": _F, "↓": _S},
    ),
    "carbon": ("jest", r"(?P<word>PASS|FAIL) (?P<name>.+?)(?: \([\d.]+(?:ms| ?s)\))?", {"PASS": _P, "FAIL": _F}),
    "grommet": ("jest", r"(?P<word>PASS|FAIL) (?P<name>.+?)(?: \([\d.]+ ?m?s\))?", {"PASS": _P, "FAIL": _F}),
    "redis": (
        "redis",
        r"\[(?P<word>ok|(?P<bad>err)|skip|ignore)\]: (?P<name>.+?)(?(bad)(?: in \S+)?)(?: \(\d+ *m?s\))?",
        {"ok": _P, "err": _F, "skip": _S, "ignore": _S},
    ),
    "jq": ("automake", r"(?P<word>PASS|FAIL): (?P<name>.+)", {"PASS": _P, "FAIL": _F}),
    "micropython_test": (
        "micropython", r"(?P<word>pass|FAIL|skip) +(?P<name>.+)", {"pass": _P, "FAIL": _F, "skip": _S},
    ),
    "googletest": ("googletest", r".*\[ *(?P<word>OK|FAILED) *\] (?P<name>.+) \(.*\)", {"OK": _P, "FAILED": _F}),
    "ant": ("junit", r"\[junit\] +\[(?P<word>PASS|FAIL|ERR)\] +(?P<name>.+)", {"PASS": _P, "FAIL": _F, "ERR": _E}),
    "gradle_custom": ("junit", r"(?P<name>[^>].*) (?P<word>PASSED|FAILED)", {"PASSED": _P, "FAILED": _F}),
    "ruby_unit": (
        "test-unit", r"(?:test: )?(?P<name>.+): +(?P<word>[.EFO])(?:\W.*)?", {".": _P, "F": _F, "E": _E, "O": _S},
    ),
    "rspec_transformed_json": (
        "rspec", r"(?P<name>.+) - (?P<word>passed|failed|pending)", {"passed": _P, "failed": _F, "pending": _S},
    ),
}  # fmt: skip


def read_lines(
    data: bytes, expected: Collection[str], *, pattern: re.Pattern[str], statuses: Mapping[str, TestStatus]
) -> Report:
    """Read a log whose lines are a word and a test's name, blanks around them left out.

    Args:
        pattern: matches a whole line; its groups `word` and `name` tell what it says.
        statuses: word -> status.
    """
    tests = Tests(expected)
    for line in lines(data):
        match = pattern.fullmatch(" ".join(line.split("\t")).strip())
        if match is not None:
            tests.add(match["name"].strip(), TestResult(statuses[match["word"]]))
    return _report(tests)


def read_phpunit(data: bytes, expected: Collection[str]) -> Report:
    """Read `phpunit --testdox`: a line `Class (Namespace\\Class)`, then its tests; ids are `Class > test`."""
    tests = Tests(expected)
    suite = None
    statuses = {"✔": _P, "✘": _F, "↩": _S}
    for line in lines(data):
        if (heading := re.fullmatch(r"(\w.+) \(.+\)", line)) is not None:
            suite = heading[1]
        elif suite is not None and (match := re.fullmatch(r"\s*([✔✘↩])\s*(.*?)", line)) is not None:
            tests.add(f"{suite} > {match[2]}", TestResult(statuses[match[1]]))
    return _report(tests)


def read_maven(data: bytes, expected: Collection[str]) -> Report:
    """Read a log of one `mvn -Dtest=ID` after the other: the n-th `BUILD …` line belongs to the n-th command."""
    asked, ended = [], []
    for line in lines(data):
        if (command := re.search(r"-Dtest=(\S+)", line)) is not None:
            asked.append(command[1])
        elif (result := re.search(r"BUILD (SUCCESS|FAILURE)$", line.rstrip())) is not None:
            ended.append(_P if result[1] == "SUCCESS" else _F)
    tests = Tests(expected)
    for test_id, status in zip(asked, ended, strict=False):
        tests.add(test_id, TestResult(status))
    problems = () if len(asked) == len(ended) else (f"{len(asked)} builds began and {len(ended)} ended",)
    return _report(tests, problems)


_SYMPY: Final = {"ok": _P, "F": _F, "E": _E, "f": TestStatus.XFAIL, "s": _S, "w": _S}


def read_sympy(data: bytes, expected: Collection[str]) -> Report:
    """Read `bin/test --verbose` of SymPy: ids are names of functions, and `file.py:test` of failures once more."""
    tests = Tests(expected)
    for line in lines(data):
        if (match := re.fullmatch(r"\s*(test_\S*)(?: .*)? (ok|[FEfsw])\s*", line)) is not None:
            tests.add(match[1], TestResult(_SYMPY[match[2]]))
        elif (heading := re.fullmatch(r"_+ (\S+\.py:\S+) _+", line.strip())) is not None:
            tests.add(heading[1], TestResult(_F))
    return _report(tests)


def _report(tests: Tests, problems: tuple[str, ...] = ()) -> Report:
    if not tests.results:
        problems = (*problems, "there are no results in the log")
    return Report(tests.results, Evidence.LOG if tests.results else Evidence.NONE, problems)


# ---- the table


def _pytest_formats() -> list[Format]:
    return [
        Format(f"parse_log_{name}", "pytest", injected=True, read=logs.read_pytest, language="python", alias=alias)
        for alias, names in _PYTEST_NAMES.items()
        for name in names
    ]


def _line_formats() -> list[Format]:
    formats = []
    for name, (framework, pattern, statuses) in _LINES.items():
        read = partial(read_lines, pattern=re.compile(pattern), statuses=statuses)
        formats.append(_log(name, framework, read))
    return formats


def _log(name: str, framework: str, read: Reader) -> Format:
    return Format(f"parse_log_{name}", framework, injected=False, read=read)


FORMATS: Final = (
    *_pytest_formats(),
    Format("parse_log_django", "django", injected=True, read=logs.read_unittest, language="python"),
    Format("parse_log_jest", "jest", injected=True, read=jest.read_printed, language="javascript"),
    _log("sympy", "sympy", read_sympy),
    _log("tap", "tap", tap.read_plain),
    _log("gotest", "go", gotest.read_verbose),
    _log("cargo", "cargo", cargo.read),
    _log("maven", "maven", read_maven),
    _log("phpunit", "phpunit", read_phpunit),
    *_line_formats(),
)
