"""What an audit must know of a task's base tree to write patches against it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from parsimony import patches
from parsimony.runner import source_language
from parsimony.runner.sources import as_text, patch_paths, sources
from parsimony.tasks import Task

ROOT_FILES: Final = (
    "conftest.py",
    "pytest.ini",
    "setup.cfg",
    "sitecustomize.py",
    "usercustomize.py",
    ".env",
    "package.json",
    ".npmrc",
    ".mocharc.json",
)
"""Files at the top of the tree that canaries write: where one is there already, it is changed and not made."""

SCRIPTS: Final = frozenset({".js", ".cjs", ".mjs"})
_PLAIN_PATH = re.compile(r"""[^"\\\x00-\x1f\x7f]+""")
"""What git writes without quotes, which is how canaries name paths."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The base tree of a task, as far as it matters.

    Attributes:
        files: path -> content, for those of `wanted(task)` that are there as regular files of at most 1 MiB.
    """

    task: Task
    files: Mapping[str, bytes]

    @property
    def language(self) -> str:
        """Of the task's implementation."""
        return source_language(self.task)

    def sources(self) -> tuple[str, ...]:
        """The files that stand for the package under test, which its tests import: the implementation files that the
        task's own fix changes, else the nearest `__init__.py` or `index.js` of those that it makes."""
        suffixes = {"python": {".py"}, "javascript": SCRIPTS}.get(self.language, set())
        every = [path for path in sources(self.task, ()) if PurePosixPath(path).suffix in suffixes]
        changed = tuple(path for path in every if path in self.files)
        return changed or tuple(path for path in _packages(every) if path in self.files)[:1]

    def tests(self) -> tuple[str, ...]:
        """The graded test files that the base tree has."""
        return tuple(path for path in _test_files(self.task) if path in self.files)

    def test_folder(self) -> str:
        """Folder of the first graded test file, with a final slash; empty for the top of the tree."""
        first = next(iter(_test_files(self.task)), "")
        return first[: first.rfind("/") + 1]

    def import_root(self) -> str:
        """Folder from which the package is imported, with a final slash; empty for the top of the tree."""
        for path in self.sources():
            if path.startswith(("src/", "lib/")):
                return path[:4]
        return ""


def wanted(task: Task) -> tuple[str, ...]:
    """Paths whose content in the base tree is needed."""
    fix = [path for path in fixed_paths(task) if _PLAIN_PATH.fullmatch(path)]
    tests = [path for path in _test_files(task) if _PLAIN_PATH.fullmatch(path)]
    folders = {path[: path.rfind("/") + 1] for path in tests}
    beside = [folder + name for folder in sorted(folders) for name in ("__init__.py", "conftest.py")]
    roots = [prefix + name for prefix in ("src/", "lib/") for name in ("sitecustomize.py", "usercustomize.py")]
    return tuple(dict.fromkeys((*fix, *tests, *_packages(fix), *beside, *roots, *ROOT_FILES)))


def fixed_paths(task: Task) -> tuple[str, ...]:
    """Paths that the task's own fix names, old and new."""
    return tuple(sorted(patch_paths(task.patch)))


def fix_results(task: Task) -> tuple[str, ...]:
    """Paths that are there after the task's own fix."""
    files = patches.parse(task.patch).files if task.patch else ()
    return tuple(dict.fromkeys(as_text(file.new_path) for file in files if file.new_path is not None))


def _test_files(task: Task) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*task.test_files, *sorted(patch_paths(task.test_patch)))))


def _packages(paths: Iterable[str]) -> tuple[str, ...]:
    """`__init__.py` and `index.js` of the folders above, the nearest first."""
    found: dict[str, None] = {}
    for path in paths:
        for folder in PurePosixPath(path).parents:
            prefix = "" if folder == PurePosixPath() else f"{folder}/"
            found |= dict.fromkeys([*([f"{prefix}__init__.py"] if prefix else []), f"{prefix}index.js"])
    return tuple(found)
