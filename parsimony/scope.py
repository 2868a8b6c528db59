"""Which paths count as implementation: pure functions of a path, by tables.

A footprint is that of implementation files only. Tests, documentation, examples, vendored and built code are left out
by their folders, generated and test files by their names. All of it is judged on the lower-cased path as it is written
relative to the root of the repository, so that a verdict needs no file system.

The tables of Python, JavaScript, TypeScript and Go are the published rules of the footprint. Those of Java, Rust, C and
C++ are our own: what JavaScript and Go leave out, and what is common in these languages. Their test classes are told by
capitals in the name as it is written (`FooTest.java`, not `Latest.java`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from parsimony.errors import InputError


@dataclass(frozen=True, slots=True)
class ScopeDecision:
    """Whether a path counts, and the rule that decided.

    Attributes:
        reason: `in`, an exception such as `in_django_test_exception`, or the rule that leaves the path out, such as
            `test_dir`. Where several rules leave it out, a rule about the suffix comes first, then one about a folder,
            then one about the file's name.
    """

    in_scope: bool
    reason: str

    def __bool__(self) -> bool:
        return self.in_scope


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a family of languages leaves out. Every text is in lower case; only `spelled` sees the name as written."""

    suffixes: frozenset[str]
    wrong_suffix: str
    folders: Mapping[str, str]
    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    infixes: tuple[tuple[re.Pattern[str], str], ...] = ()
    endings: tuple[str, ...] = ()
    spelled: tuple[tuple[re.Pattern[str], str], ...] = ()
    testing_root: bool = False
    django: bool = False
    root_files_are_scratch: bool = False


def _folders(groups: Mapping[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in groups.items() for name in names.split()}


_FOLDERS = _folders(
    {
        "test_dir": "test tests fixtures testdata test_data",
        "doc_dir": "docs doc documentation",
        "examples_or_benchmarks_dir": "examples benchmarks",
        "vendored_dir": "vendor vendored _vendor _vendored third_party third-party external node_modules",
        "build_or_environment_dir": "generated build dist __pycache__ .github .venv venv",
        "migrations_dir": "migrations",
    }
)
_PYTHON = _Rules(
    suffixes=frozenset({".py"}),
    wrong_suffix="not_python_suffix",
    folders=_FOLDERS,
    names=frozenset({"test.py", "tests.py"}),
    prefixes=("test_", "conftest.", "setup.", "_vendor"),
    endings=("_test.py", "_pb2.py", "_pb2_grpc.py"),
    testing_root=True,
    django=True,
    root_files_are_scratch=True,
)


_CURLY_FOLDERS = _FOLDERS | _folders({"js_test_or_coverage_dir": "__tests__ __mocks__ coverage"})
_CURLY_ENDINGS = (".d.ts", ".d.mts", ".d.cts", ".pb.go", "_generated.go", ".min.js")


def _curly(
    suffixes: str,
    *,
    folders: Mapping[str, str] = _CURLY_FOLDERS,
    names: str = "",
    tests: str = "test|spec|bench|benchmark",
    endings: tuple[str, ...] = _CURLY_ENDINGS,
    spelled: str | None = None,
) -> _Rules:
    """The rules that JavaScript, TypeScript and Go share, and what another language has in their place."""
    return _Rules(
        suffixes=frozenset(suffixes.split()),
        wrong_suffix="other_language_suffix",
        folders=folders,
        names=frozenset(names.split()),
        prefixes=("test_", "test.", "conftest.", "_vendor"),
        infixes=(
            (re.compile(rf"[._-](?:{tests})\."), "file_name_test_infix"),
            (re.compile(r"[._-]generated\."), "file_name_generated_infix"),
        ),
        endings=endings,
        spelled=((re.compile(spelled), "file_name_test_class"),) if spelled else (),
    )


def _more(groups: Mapping[str, str]) -> Mapping[str, str]:
    return _CURLY_FOLDERS | _folders(groups)


_SCRIPT = _curly(".js .jsx .mjs .cjs .ts .tsx .mts .cts")
_TEST_WORDS = "test|tests|unittest|unittests|spec|bench|benchmark"
_NATIVE_FOLDERS = _more(
    {
        "test_dir": "unittest unittests testing googletest gtest",
        "vendored_dir": "thirdparty 3rdparty",
        "examples_or_benchmarks_dir": "bench",
    }
)
_NATIVE_ENDINGS = (".pb.h", ".pb.c", ".pb.cc", ".tab.c", ".tab.h", ".yy.c")
_NATIVE_TESTS = r"(?:^|[A-Za-z0-9])(?:UnitTests?|Tests?|Benchmarks?)\.[A-Za-z+]+$"
_RULES = MappingProxyType(
    {
        "python": _PYTHON,
        "javascript": _SCRIPT,
        "typescript": _SCRIPT,
        "go": _curly(".go"),
        "java": _curly(
            ".java",
            folders=_more(
                {
                    "test_dir": "androidtest integrationtest testfixtures",
                    "examples_or_benchmarks_dir": "jmh samples",
                    "build_or_environment_dir": "target .gradle .mvn",
                }
            ),
            tests=_TEST_WORDS,
            endings=(),
            spelled=r"^(?:Test|Tests)\.java$|^Test[A-Z].*\.java$|[A-Za-z0-9](?:Tests?|TestCase|Benchmark)\.java$|[a-z0-9]IT\.java$",
        ),
        "rust": _curly(
            ".rs",
            folders=_more({"examples_or_benchmarks_dir": "benches", "build_or_environment_dir": "target"}),
            names="test.rs tests.rs build.rs",
            tests=_TEST_WORDS,
            endings=(),
        ),
        "c": _curly(
            ".c .h", folders=_NATIVE_FOLDERS, tests=_TEST_WORDS, endings=_NATIVE_ENDINGS, spelled=_NATIVE_TESTS
        ),
        "cpp": _curly(
            ".cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .inl .ipp .tpp",
            folders=_NATIVE_FOLDERS,
            tests=_TEST_WORDS,
            endings=_NATIVE_ENDINGS,
            spelled=_NATIVE_TESTS,
        ),
    }
)
_NUMBERED = re.compile(r"[0-9]{4,}_")


@dataclass(frozen=True, slots=True)
class _Path:
    """A path in lower case: its folders and the name of its file, which is also kept as it is written."""

    folders: tuple[str, ...]
    name: str
    suffix: str = ""
    spelled: str = ""

    @classmethod
    def of(cls, path: str) -> _Path:
        parts = [part for part in path.lower().split("/") if part not in ("", ".")]
        name = parts.pop() if parts else ""
        dot = name.rfind(".")
        return cls(tuple(parts), name, name[dot:] if 0 < dot < len(name) - 1 else "", path.rpartition("/")[2])


def languages() -> tuple[str, ...]:
    """The languages that have rules."""
    return tuple(_RULES)


def language_of(path: str) -> str | None:
    """The first language that claims the suffix of `path`; None if none does."""
    suffix = _Path.of(path).suffix
    return next((language for language, rules in _RULES.items() if suffix in rules.suffixes), None)


def classify(path: str, *, language: str = "python", new_file: bool = False) -> ScopeDecision:
    """Whether a file at `path` counts for the footprint of `language`.

    Args:
        path: relative to the root of the repository, with "/" between its parts.
        new_file: there is no such file before the change. A new Python file in the root is a scratch script.

    Raises:
        InputError: there are no rules for `language`.
    """
    rules = _RULES.get(language)
    if rules is None:
        raise InputError.wrong("language", language, "one of: " + ", ".join(_RULES))
    parts = _Path.of(path)
    if parts.suffix not in rules.suffixes:
        return ScopeDecision(in_scope=False, reason=rules.wrong_suffix)
    reason, exception = _folder_rule(parts, rules)
    reason = reason or _name_rule(parts, rules)
    if reason is None and new_file and rules.root_files_are_scratch and "/" not in path:
        reason = "new_root_file"
    if reason is not None:
        return ScopeDecision(in_scope=False, reason=reason)
    return ScopeDecision(in_scope=True, reason=exception or "in")


def _folder_rule(parts: _Path, rules: _Rules) -> tuple[str | None, str | None]:
    """The rule about a folder that leaves a path out, if any, and the exception that let it pass, if any."""
    folders = parts.folders
    if rules.testing_root and folders[:1] == ("testing",):
        return "root_testing_dir", None
    exception = None
    for folder in folders:
        reason = rules.folders.get(folder)
        if reason is None:
            continue
        allowed = _django(parts, folder) if rules.django else None
        if allowed is None:
            return reason, None
        exception = allowed
    return None, exception


def _django(parts: _Path, folder: str) -> str | None:
    """Django's own packages `db/migrations` and `test`, which are no migrations and no tests, in its own repository."""
    folders = parts.folders
    if folder == "migrations" and folders[:3] == ("django", "db", "migrations"):
        return None if _NUMBERED.match(parts.name) else "in_django_migrations_exception"
    if folder == "test" and folders[:2] == ("django", "test"):
        return "in_django_test_exception"
    return None


def _name_rule(parts: _Path, rules: _Rules) -> str | None:
    name = parts.name
    if name in rules.names:
        return "file_name_exact"
    if name.startswith(rules.prefixes):
        return "file_name_prefix"
    for pattern, reason in rules.infixes:
        if pattern.search(name):
            return reason
    for pattern, reason in rules.spelled:
        if pattern.search(parts.spelled):
            return reason
    return "file_name_suffix" if name.endswith(rules.endings) else None
