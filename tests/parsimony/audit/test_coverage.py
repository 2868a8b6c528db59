"""The tracer under real test runners: which added lines the gate tests execute."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from parsimony.audit import Layout
from parsimony.audit.coverage import Coverage, coverage_task, read_coverage, why_not
from parsimony.audit.tracers import PythonTracer, tracer_of

BASE = {
    "pkg.py": b"def sign(n):\n    return 0\n",
    "test_pkg.py": b"import unittest\nimport pkg\n\n\nclass T(unittest.TestCase):\n"
    b"    def test_gate(self):\n        self.assertEqual(pkg.sign(5), 1)\n\n"
    b"    def test_other(self):\n        self.assertEqual(pkg.sign(-5), -1)\n",
}
FIXED = b"""LIMIT = 0
# a comment


def sign(n):
    if n > LIMIT:
        return 1
    if n < LIMIT:
        return -1
    return 0


def unused():
    raise RuntimeError
"""


@pytest.fixture
def measured(tmp_path: Path, layout: Layout) -> Callable[..., Coverage | str]:
    from parsimony.audit.diffs import diff

    def run(command: str, gate: str, log_format: str) -> Coverage | str:
        patch = diff({"pkg.py": BASE["pkg.py"]}, {"pkg.py": FIXED})
        task = replace(layout.task, patch=patch, fail_to_pass=(gate,), test_cmd=command, log_format=log_format)
        changed = Layout(task, BASE)
        for name, content in {**BASE, "pkg.py": FIXED}.items():
            (tmp_path / name).write_bytes(content)
        script = coverage_task(changed).test_cmd
        assert script is not None
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
        del environment["PYTEST_CURRENT_TEST"]  # that of this very test
        done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return read_coverage(changed, done.stdout)

    return run


RUNNERS = [
    (f"{sys.executable} -m pytest -q test_pkg.py", "test_pkg.py::T::test_gate", "pytest"),
    (f"{sys.executable} -m unittest test_pkg", "test_pkg.T.test_gate", "unittest"),
    (f"set -e; cd .; exec {sys.executable} -m unittest test_pkg", "test_pkg.T.test_gate", "unittest"),
]


@pytest.mark.parametrize(("command", "gate", "log_format"), RUNNERS)
def test_lines_by_who_executes_them(
    measured: Callable[..., Coverage | str], command: str, gate: str, log_format: str
) -> None:
    found = measured(command, gate, log_format)
    assert isinstance(found, Coverage)
    assert found.executable == {"pkg.py": (1, 5, 6, 7, 8, 9, 10, 13, 14)}
    assert found.covered == {"pkg.py": (1, 5, 6, 7, 13)}
    assert found.other == {"pkg.py": (8, 9)}
    assert found.missed == ["pkg.py:8", "pkg.py:9", "pkg.py:10", "pkg.py:14"]
    assert found.unloaded == ()


def test_a_file_that_no_test_loads_counts_whole(measured: Callable[..., Coverage | str]) -> None:
    found = measured("true", "test_pkg.py::T::test_gate", "pytest")
    assert isinstance(found, Coverage)
    assert found.unloaded == ("pkg.py",)
    assert found.hit == 0 < found.total


def test_an_end_without_a_word_is_not_measured(layout: Layout) -> None:
    said = "the traced run did not come to its end"
    assert read_coverage(layout, b"parsimony-coverage lines 0 2,3\nparsimony-coverage hit 0 2 gate\n") == said
    assert read_coverage(layout, b"") == said


def test_the_exit_status_is_that_of_the_tests(layout: Layout) -> None:
    script = coverage_task(replace(layout, task=replace(layout.task, test_cmd="exit 7"))).test_cmd
    assert script is not None
    assert subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode == 7


def test_an_eval_script_is_wrapped_as_well(layout: Layout) -> None:
    task = replace(layout.task, test_cmd=None, eval_script="#!/bin/bash\ncat <<EOF\nhi\nEOF\n")
    wrapped = coverage_task(replace(layout, task=task))
    assert wrapped.test_cmd is None
    assert wrapped.eval_script is not None
    done = subprocess.run(["sh", "-c", wrapped.eval_script], capture_output=True, check=True)
    assert done.stdout.startswith(b"hi\n")


def test_what_cannot_be_measured_says_why(layout: Layout) -> None:
    assert why_not(layout) == ""
    tracer = tracer_of(layout)
    assert isinstance(tracer, PythonTracer)
    assert tracer.files == (("pkg/core.py", (2, 3, 4)),)
    go = replace(layout, task=replace(layout.task, log_format="go-test"))
    assert why_not(go) == "lines are traced in Python and JavaScript, and the tests are read as go-test"
    nothing: Mapping[str, bytes] = {}
    assert why_not(replace(layout, task=replace(layout.task, patch=b""), files=nothing)) == (
        "the fix adds no line to a Python file"
    )
