"""Which processes open their session at start-up, and that a work tree cannot stand in its way."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import parsimony

START_UP = Path(parsimony.__file__).parent / "inimage" / "python" / "inject" / "sitecustomize.py"


@pytest.fixture(scope="module")
def start_up():
    """The module, loaded as any other: outside of a grading it does nothing."""
    spec = importlib.util.spec_from_file_location("start_up_under_test", START_UP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("python -m pytest -q", True),
        ("python -mpytest", True),
        ("python3 -bb -W error -X dev -m pytest tests", True),
        ("python -Wignore -Bm unittest tests.test_unit", True),
        ("python -u /usr/bin/pytest tests", True),
        ("python manage.py test app", True),
        ("python ./tests/runtests.py auth", True),
        ("python manage.py migrate", False),
        ("python -m pip install pytest", False),
        ("python -m coverage run -m pytest", False),
        ("python -c pass -m pytest", False),
        ("python - -m pytest", False),
        ("python setup.py test", False),
        ("python", False),
        ("python -m", False),
    ],
)
def test_a_command_line_that_runs_tests(start_up, line, runs):
    assert start_up.runs_tests(line.split()) is runs


@pytest.mark.parametrize("module", ["json", "socket", "hmac", "threading"])
def test_modules_of_the_work_tree_are_not_taken_for_the_interpreters(bench, module):
    """On the path from the start, as an installation in place puts it; what we need is loaded from elsewhere, and that
    the project has a file of that name is no forgery."""
    bench.write(
        {
            f"{module}.py": "raise SystemExit('loaded from the work tree')\n",
            "tests/test_it.py": "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): ...\n",
            "tests/__init__.py": "",
        }
    )
    outcome = bench.run("python -m unittest tests.test_it", environment={"PYTHONPATH": str(bench.tree)})
    assert outcome.statuses == {"tests.test_it.T.test_it": "passed"}, outcome.output
    assert outcome.report.problems == ()
