"""Judges what reporter and witness found on a runner's own code: whose doing is it, and is it a forgery?

A finding names what is not as the image brought it and the origins of the code that stands there now. Code of the
image and of the project's own tests may do such things (plugins patch runners, tests use monkeypatch); code that the
candidate wrote may not. In doubt a finding is a note: a false accusation is as bad as a miss.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from enum import IntEnum
from typing import Final

from parsimony.execution import Evidence, TestResult
from parsimony.testreports.model import Report

TEST_FOLDERS: Final = frozenset({"test", "tests", "testing", "site-packages", "dist-packages"})
WHAT: Final = {
    "replaced": "{name} of the test runner was replaced",
    "hook": "a hook implementation for {name} was put in by hand",
    "plugin": "the plugin {name} was registered by hand",
    "entry point": "a plugin is loaded through {name}",
    "startup": "the new module {name} was loaded before the test runner",
    "shadow": "{name} was loaded in the place of a module of the standard library",
    "test": "the test {name} does not run the code of its test file",
    "contradiction": "{name}: failed, and was told to have passed",
    "overflow": "{name} about the test runner's own code",
}
MAX_TOLD: Final = 20


class Blame(IntEnum):
    """Whose code an origin is."""

    KNOWN = 0
    UNKNOWN = 1
    CANDIDATE = 2


class Verdicts:
    """Collects problems and notes, each once and in order."""

    def __init__(self) -> None:
        self._problems: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._tampered = False

    def forged(self, text: str) -> None:
        """A sign of forgery."""
        self._problems[text] = None
        self._tampered = True

    def broken(self, text: str) -> None:
        """Something that keeps the results from being trusted and need not be anybody's bad will."""
        self._problems[text] = None

    def note(self, text: str) -> None:
        """Worth knowing."""
        self._notes[text] = None

    def report(
        self,
        evidence: Evidence,
        *,
        tests: dict[str, TestResult] | None = None,
        labels: dict[str, str] | None = None,
        exit_status: int | None = None,
        timed_out: bool = False,
    ) -> Report:
        """The `Report` with these verdicts."""
        return Report(
            tests=tests or {},
            evidence=evidence,
            problems=_shortened(self._problems),
            notes=_shortened(self._notes),
            exit_status=exit_status,
            timed_out=timed_out,
            tampered=self._tampered,
            labels=labels or {},
        )


class Findings:
    """The findings of one session.

    Args:
        files: what the witness looked up about the files that the session named.
        tree: the work tree.
        candidate_files, added_files: see `channel.read`.
    """

    def __init__(
        self,
        files: dict[str, object],
        tree: str,
        candidate_files: Collection[str] | None,
        added_files: Collection[str] | None,
    ) -> None:
        self._files = files
        self._tree = posixpath.join(tree, "") if tree else ""
        self._candidate_files = None if candidate_files is None else frozenset(candidate_files)
        self._added_files = frozenset(added_files or ())
        self._changed = frozenset(_texts(files.get("changed")))
        misplaced = files.get("misplaced")
        self._misplaced = (
            {tuple(each) for each in misplaced if _is_place(each)} if isinstance(misplaced, list) else set()
        )
        self._core: set[str] = set()
        self._tests: set[str] = set()
        self._findings: list[dict[str, object]] = []

    def take(self, event: dict[str, object]) -> None:
        """A `loaded` event."""
        code = event.get("code")
        self._core.update(code if isinstance(code, dict) else ())
        self._tests.update(_texts(event.get("tests")))
        self._findings.extend(each for each in _list(event.get("findings")) if isinstance(each, dict))

    def judge(self, verdicts: Verdicts) -> None:
        """Put everything that was taken into `verdicts`."""
        for finding in self._findings:
            self._judge_finding(finding, verdicts)
        for path in sorted(self._core & self._changed):
            verdicts.forged(f"{path} of the test runner was changed while the tests ran")
        for path in _texts(self._files.get("changed_tests")):
            verdicts.forged(f"the test file {self._short(path)} was changed while the tests ran")
        foreign = self._files.get("foreign")
        for path, names in sorted(foreign.items()) if isinstance(foreign, dict) else ():
            some = ", ".join(_texts(names)[:3])
            verdicts.forged(f"code in memory is not that of {self._short(path)}: {some}")
        if unread := _texts(self._files.get("unread")):
            verdicts.note(f"{len(unread)} files of the test runner could not be compared with the code in memory")

    def _judge_finding(self, finding: dict[str, object], verdicts: Verdicts) -> None:
        name = str(finding.get("name"))
        if finding.get("what") == "startup" and self._short(name) not in self._added_files:
            return  # a module of the tree that the image installs and the runner needs (attrs, packaging, ...)
        origins = [each for each in _list(finding.get("origins")) if isinstance(each, dict)]
        blames = [self._blame(origin) for origin in origins]
        text = WHAT.get(str(finding.get("what")), "{name}").format(name=self._short(name))
        worst = max(blames, default=Blame.UNKNOWN)
        culprits = [self._told(origin) for origin, blame in zip(origins, blames, strict=True) if blame is worst]
        text += f" by {', '.join(dict.fromkeys(culprits))}" if culprits else ""
        if worst is Blame.CANDIDATE or (worst is Blame.UNKNOWN and not any(map(self._is_double, origins))):
            verdicts.forged(text)
        elif any(self._is_in_tree(origin.get("file")) for origin in origins):
            verdicts.note(text)  # what the image's own code does to its runners is nobody's news

    def _is_double(self, origin: dict[str, object]) -> bool:
        """A double of unittest.mock: tests put them in place of anything, and some come with generated code."""
        path = origin.get("file")
        return isinstance(path, str) and path.endswith("/mock.py") and self._blame(origin) is Blame.KNOWN

    def _is_in_tree(self, path: object) -> bool:
        return isinstance(path, str) and bool(self._tree) and path.startswith(self._tree)

    def _blame(self, origin: dict[str, object]) -> Blame:
        path = origin.get("file")
        if not isinstance(path, str) or not path.startswith("/"):
            return Blame.UNKNOWN
        if path in self._changed or (path, origin.get("name"), origin.get("line")) in self._misplaced:
            return Blame.CANDIDATE
        if not self._is_in_tree(path):
            return Blame.KNOWN
        relative = path[len(self._tree) :]
        if self._candidate_files is not None:
            return Blame.CANDIDATE if relative in self._candidate_files else Blame.KNOWN
        *folders, name = relative.split("/")
        is_test = name == "conftest.py" or path in self._tests or not TEST_FOLDERS.isdisjoint(folders)
        return Blame.KNOWN if is_test else Blame.CANDIDATE

    def _told(self, origin: dict[str, object]) -> str:
        path = origin.get("file")
        place = self._short(path) if isinstance(path, str) else "code without a file"
        return f"{place}:{origin.get('line')}" if isinstance(path, str) else place

    def _short(self, path: str) -> str:
        return path.removeprefix(self._tree) if self._tree else path


def _is_place(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(each, str | int) for each in value)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [each for each in _list(value) if isinstance(each, str)]


def _shortened(texts: Collection[str]) -> tuple[str, ...]:
    kept = tuple(text[:400] for text in texts)
    return kept if len(kept) <= MAX_TOLD else (*kept[:MAX_TOLD], f"and {len(kept) - MAX_TOLD} more")
