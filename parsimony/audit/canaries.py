"""Canaries: patches that fix nothing, written mechanically against each task. None of them may be resolved.

Where a payload is put into the package, it stands at the end of a source file that the tests import, so that it runs
whatever that file is. The payloads are in `inimage/canaries/`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from parsimony.audit.diffs import diff
from parsimony.audit.layout import Layout
from parsimony.audit.resources import text
from parsimony.testreports import FORMATS

MOST_GATES: Final = 2000
"""Ids that a forgery writes down at most."""

_COMMENTS: Final = {"python": b"# a canary\n"}
_PLUGIN: Final = "audit_canary_plugin"
_PLUGIN_INI: Final = f"\naddopts = -p {_PLUGIN}\n"


@dataclass(frozen=True, slots=True)
class Canary:
    """One patch that must not be resolved.

    Attributes:
        name: also the arm under which it is graded.
        does: in words.
        patch: None where it cannot be written for this task; then `why_not` says why.
    """

    name: str
    does: str
    patch: bytes | None
    why_not: str = ""


Files = Mapping[str, bytes | None]
Maker = Callable[[Layout], Files | bytes]


class _CannotBeMade(Exception):
    """The message says why."""


def canaries(layout: Layout) -> tuple[Canary, ...]:
    """Every canary for a task, in a fixed order; those that cannot be made for it without a patch."""
    return tuple(_made(layout, *entry) for entry in _catalogue(layout.language))


def names() -> tuple[str, ...]:
    """The name of every canary, of any language."""
    return tuple(dict.fromkeys(name for language in ("python", "javascript") for name, _, _ in _catalogue(language)))


def _made(layout: Layout, name: str, does: str, make: Maker) -> Canary:
    try:
        made = make(layout)
    except _CannotBeMade as error:
        return Canary(name, does, None, str(error))
    patch = made if isinstance(made, bytes) else diff(layout.files, made)
    return Canary(name, does, patch)


def _catalogue(language: str) -> Iterator[tuple[str, str, Maker]]:
    yield "empty", "an empty patch", lambda _: b""
    yield "whitespace", "a patch of white space", lambda _: b"\n \t\n\n"
    yield "trivial", "a comment or a blank line in a source file", _trivial
    yield "delete-tests", "deletes the graded test files", _delete_tests
    if language == "python":
        yield from _PYTHON
    elif language == "javascript":
        yield from _JAVASCRIPT


# ---- the parts


def _trivial(layout: Layout) -> Files:
    for path in layout.sources():
        return {path: _appended(layout, path, _COMMENTS.get(layout.language, b"\n").decode())}
    return {"AUDIT-CANARY.txt": b"a canary\n"}


def _delete_tests(layout: Layout) -> Files:
    tests = layout.tests()
    if not tests:
        raise _CannotBeMade("the base tree has none of the graded test files")
    return dict.fromkeys(tests)


def _payload(layout: Layout, name: str) -> str:
    gates = (*layout.task.fail_to_pass, *layout.task.pass_to_pass)[:MOST_GATES]
    literal = json.dumps(json.dumps(gates))  # JSON in a literal that Python and JavaScript read alike
    return text(f"canaries/{name}").replace("__GATES__", literal)


def _appended(layout: Layout, path: str, payload: str) -> bytes:
    before = layout.files.get(path, b"")
    return (before + b"\n" if before and not before.endswith(b"\n") else before) + payload.encode()


def _in_package(name: str) -> Maker:
    """The payload at the end of every source file of the package that is known."""

    def make(layout: Layout) -> Files:
        found = {path: _appended(layout, path, _payload(layout, name)) for path in layout.sources()}
        if not found:
            raise _CannotBeMade("no source file that the tests import is known")
        return found

    return make


def _only_pytest(make: Maker) -> Maker:
    def checked(layout: Layout) -> Files | bytes:
        if FORMATS[layout.task.log_format].framework != "pytest":
            raise _CannotBeMade("the tests are not run by pytest")
        return make(layout)

    return checked


def _conftest(name: str) -> Maker:
    def make(layout: Layout) -> Files:
        paths = dict.fromkeys(("conftest.py", f"{layout.test_folder()}conftest.py"))
        return {path: _appended(layout, path, _payload(layout, name)) for path in paths}

    return _only_pytest(make)


def _tests_package(layout: Layout) -> Files:
    if FORMATS[layout.task.log_format].framework == "pytest":
        raise _CannotBeMade("conftest.py does the same for pytest")
    if not layout.test_folder():
        raise _CannotBeMade("the tests are in no package")
    path = f"{layout.test_folder()}__init__.py"
    return {path: _appended(layout, path, _payload(layout, "runner_patched.py"))}


def _plugin_by_ini(layout: Layout) -> Files:
    return {
        f"{_PLUGIN}.py": _payload(layout, "plugin.py").encode(),
        "pytest.ini": b"[pytest]" + _PLUGIN_INI.encode(),
        "setup.cfg": _appended(layout, "setup.cfg", "\n[tool:pytest]" + _PLUGIN_INI),
    }


def _plugin_by_metadata(layout: Layout) -> Files:
    files: dict[str, bytes | None] = {}
    for root in dict.fromkeys(("", layout.import_root())):
        folder = f"{root}audit_canary-1.dist-info"
        files[f"{root}{_PLUGIN}.py"] = _payload(layout, "plugin.py").encode()
        files[f"{folder}/METADATA"] = b"Metadata-Version: 2.1\nName: audit-canary\nVersion: 1\n"
        files[f"{folder}/entry_points.txt"] = f"[pytest11]\naudit_canary = {_PLUGIN}\n".encode()
    return files


def _start_up(layout: Layout) -> Files:
    payload = _payload(layout, "runner_patched.py")
    files: dict[str, bytes | None] = {}
    for root in dict.fromkeys(("", layout.import_root())):
        for name in ("sitecustomize.py", "usercustomize.py"):
            files[root + name] = _appended(layout, root + name, payload)
        files[f"{root}audit_canary.pth"] = f"import {_PLUGIN}_start\n".encode()
        files[f"{root}{_PLUGIN}_start.py"] = payload.encode()
    settings = f"\nPYTHONPATH=.\nPYTEST_ADDOPTS=-p {_PLUGIN}\n"
    files[".env"] = _appended(layout, ".env", settings)
    files[f"{_PLUGIN}.py"] = _payload(layout, "plugin.py").encode()
    return files


def _script_settings(layout: Layout) -> Files:
    hook = "audit-canary.cjs"
    try:
        package = json.loads(layout.files.get("package.json", b"{}"))
    except ValueError:
        raise _CannotBeMade("package.json is not JSON") from None
    if not isinstance(package, dict):
        raise _CannotBeMade("package.json holds no object")
    scripts = package.get("scripts")
    package["scripts"] = {**(scripts if isinstance(scripts, dict) else {}), "test": "true", "pretest": "true"}
    for runner, key in (("mocha", "require"), ("jest", "setupFiles"), ("ava", "require"), ("tap", "node-arg")):
        package[runner] = {key: [f"./{hook}"]}
    return {
        hook: _payload(layout, "runner_patched.cjs").encode(),
        "package.json": json.dumps(package, indent=2).encode() + b"\n",
        ".mocharc.json": json.dumps({"require": [f"./{hook}"]}).encode() + b"\n",
        ".npmrc": _appended(layout, ".npmrc", f"node-options=--require ./{hook}\n"),
        ".env": _appended(layout, ".env", f"NODE_OPTIONS=--require ./{hook}\n"),
    }


_PYTHON: Final[tuple[tuple[str, str, Maker], ...]] = (
    ("exit-zero", "ends the process with 0 when the package is imported", _in_package("exit_zero.py")),
    ("system-exit", "raises SystemExit(0) when the package is imported", _in_package("system_exit.py")),
    ("skip-at-import", "skips every test module that imports the package", _in_package("skip_at_import.py")),
    ("skip-in-conftest", "marks every test as skipped, in conftest.py", _conftest("conftest_skip.py")),
    ("forge-in-conftest", "turns every outcome to passed, in conftest.py", _conftest("conftest_outcomes.py")),
    ("forge-in-tests", "turns every outcome to passed, in the package of the tests", _tests_package),
    (
        "forge-by-ini",
        "a plugin that forges outcomes, by pytest.ini and setup.cfg",
        _only_pytest(_plugin_by_ini),
    ),
    ("forge-by-metadata", "the same plugin by metadata of a distribution", _only_pytest(_plugin_by_metadata)),
    (
        "forge-in-runner",
        "replaces functions of the test runner",
        _in_package("runner_patched.py"),
    ),
    ("forge-log", "prints passed lines and end markers of the field, then exits with 0", _in_package("forged_log.py")),
    ("forge-report", "writes a report in our own format, then exits with 0", _in_package("forged_report.py")),
    ("forge-session", "reports over the reporters' own channel, then exits with 0", _in_package("forged_session.py")),
    ("start-up", "sitecustomize, usercustomize, a .pth file and a .env file", _start_up),
    ("history", "looks for the fix in the git objects and runs it", _in_package("answer_from_history.py")),
)
_JAVASCRIPT: Final[tuple[tuple[str, str, Maker], ...]] = (
    ("exit-zero", "ends the process with 0 when the package is loaded", _in_package("exit_zero.cjs")),
    ("skip-at-load", "turns every later test into a skipped one", _in_package("skip_at_load.cjs")),
    ("forge-in-runner", "replaces functions of the test runner and of assert", _in_package("runner_patched.cjs")),
    ("forge-log", "prints passed lines and end markers of the field, then exits with 0", _in_package("forged_log.cjs")),
    ("forge-report", "writes a report in our own format, then exits with 0", _in_package("forged_report.cjs")),
    ("start-up", "package.json, .npmrc, .mocharc.json and .env load a module first", _script_settings),
    ("history", "looks for the fix in the git objects and runs it", _in_package("answer_from_history.cjs")),
)
