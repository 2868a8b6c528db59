"""Which files steer how tests run, as a table: what a candidate does to them is taken back before the tests.

A rule is whole (the file goes back to base) or mixed (a file of several purposes goes back only when the part that
steers tests differs; the comparison happens in the image, see `steering_part` in inimage/run.sh). What the task's own
fix touches is the fix and is left alone, unless it is a graded test file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final


class Steering(StrEnum):
    """How a touched path is treated before the tests."""

    FREE = "free"
    WHOLE = "whole"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Rule:
    """Names (of the last part of a path) that a rule covers, and why."""

    pattern: re.Pattern[str]
    steering: Steering
    reason: str


def _rule(pattern: str, steering: Steering, reason: str) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), steering, reason)


RULES: Final = (
    _rule(r"conftest\.py", Steering.WHOLE, "pytest loads it before the tests"),
    _rule(r"\.?pytest\.(ini|toml)", Steering.WHOLE, "configures pytest"),
    _rule(r"(site|user)customize(\.py|\..*\.so|\.so|\.pyc)?", Steering.WHOLE, "Python loads it at start-up"),
    _rule(r".*\.pth", Steering.WHOLE, "Python's site module runs it at start-up"),
    _rule(r"\.mocharc(\..*)?|mocha\.opts", Steering.WHOLE, "configures mocha"),
    _rule(r"(jest|vitest|ava|karma|playwright|cypress)\.config\..*|\.taprc|\.nycrc.*|\.c8rc.*|\.npmrc|\.noderc",
          Steering.WHOLE, "configures a JavaScript test runner"),
    _rule(r"\.env(\..*)?", Steering.WHOLE, "sets variables of the test run"),
    _rule(r"tox\.ini|noxfile\.py|\.coveragerc", Steering.WHOLE, "configures the test run"),
    _rule(r"\.gitattributes", Steering.WHOLE, "changes how git writes the graded test files"),
    _rule(r"setup\.cfg|pyproject\.toml|package\.json", Steering.MIXED, "configures tests beside other things"),
)  # fmt: skip

INSTALLED: Final = frozenset({"node_modules", "site-packages", "dist-packages", ".yarn"})
"""Folders of installed packages: the test runner itself is among them."""

TEST_FOLDERS: Final = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs"})


class SteeringTable:
    """Sorts the paths that a candidate touched.

    Args:
        graded: test files that the task grades with.
        fix: paths that the task's own fix touches.

    Test folders count when they stand at the top of the tree, or when they hold a graded test file (the nearest such
    folder above it): a package such as `django/test` is implementation, `sklearn/utils/tests` beside a graded
    `sklearn/utils/tests/test_x.py` is not.
    """

    def __init__(self, graded: Iterable[str], fix: Iterable[str]) -> None:
        self.graded = frozenset(graded)
        self.fix = frozenset(fix)
        self._folders = {folder for path in self.graded if (folder := _nearest_test_folder(path))}

    def sort(self, path: str) -> tuple[Steering, str]:
        """How `path` is treated, and why."""
        if any(path == test or path.startswith(test + "/") or test.startswith(path + "/") for test in self.graded):
            return Steering.WHOLE, "graded test file"
        if path in self.fix:
            return Steering.FREE, "part of the task's own fix"
        parts = path.split("/")
        if not INSTALLED.isdisjoint(parts):
            return Steering.WHOLE, "an installed package"
        name = PurePosixPath(path).name
        for rule in RULES:
            if rule.pattern.fullmatch(name):
                return rule.steering, rule.reason
        if len(parts) > 1 and parts[0].lower() in TEST_FOLDERS:
            return Steering.WHOLE, "below a test folder"
        if any(path.startswith(folder + "/") for folder in self._folders):
            return Steering.WHOLE, "beside a graded test file"
        return Steering.FREE, ""


def _nearest_test_folder(path: str) -> str | None:
    folders = path.split("/")[:-1]
    for end in range(len(folders), 0, -1):
        if folders[end - 1].lower() in TEST_FOLDERS:
            return "/".join(folders[:end])
    return None
