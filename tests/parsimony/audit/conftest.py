"""A small task and its base tree, and a git that tells whether patches apply."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from parsimony.audit import Layout
from parsimony.audit.diffs import diff
from parsimony.tasks import Task

BASE = {
    "pkg/__init__.py": b'"""A package."""\n\nfrom pkg.core import clamp\n',
    "pkg/core.py": b"def clamp(value, low, high):\n    return value\n\n\ndef name():\n    return 'core'",
    "tests/__init__.py": b"",
    "tests/test_core.py": b"from pkg import clamp\n\n\ndef test_low():\n    assert clamp(-1, 0, 9) == 0\n",
}
FIXED = b"""def clamp(value, low, high):
    if value < low and low is not None:
        return low
    return min(value, high)


def name():
    return 'core'"""
Apply = Callable[[Mapping[str, bytes], bytes], dict[str, bytes]]


@pytest.fixture
def task() -> Task:
    fix = diff(dict(BASE), {"pkg/core.py": FIXED})
    return Task(
        instance_id="demo-1",
        repo="demo/demo",
        base_commit=None,
        fail_to_pass=("tests/test_core.py::test_low",),
        pass_to_pass=("tests/test_core.py::test_none",),
        log_format="pytest",
        test_cmd="python -m pytest tests",
        tree=b"",
        patch=fix,
        test_files=("tests/test_core.py",),
        language="python",
    )


@pytest.fixture
def layout(task: Task) -> Layout:
    return Layout(task, BASE)


@pytest.fixture
def unittest_layout(task: Task) -> Layout:
    return Layout(replace(task, log_format="unittest"), BASE)


@pytest.fixture
def script_layout(task: Task) -> Layout:
    before = b"module.exports = n => n\n"
    base = {
        "index.js": before,
        "test/index.test.js": b"test\n",
        "package.json": b'{"name": "x", "scripts": {"test": "tape test"}}\n',
    }
    fix = diff({"index.js": before}, {"index.js": b"module.exports = n => n + 1\n"})
    changed = replace(
        task,
        patch=fix,
        log_format="tape",
        language="javascript",
        test_files=("test/index.test.js",),
        test_cmd="tape test",
    )
    return Layout(changed, base)


@pytest.fixture
def apply(tmp_path: Path) -> Apply:
    """`git apply` on a fresh tree; the tree after it."""

    def run(base: Mapping[str, bytes], patch: bytes) -> dict[str, bytes]:
        root = tmp_path / f"tree-{len(list(tmp_path.iterdir()))}"
        for path, content in base.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        if patch:
            done = subprocess.run(["git", "apply", "-"], cwd=root, input=patch, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr.decode() + patch.decode("utf-8", "replace")
        found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}

    return run
