"""The reporter for pytest: ids and statuses are pytest's own, and the run is left as it was."""

from __future__ import annotations

import pytest

EVERY_STATUS = '''
import unittest
import pytest

def test_ok(): pass

@pytest.mark.parametrize("x", ["a b", "[x]", "\\u00fc", "\\n", "a::b"])
def test_p(x): pass

def test_bad(): assert 0

@pytest.mark.skip(reason="why")
def test_skip(): pass

def test_skip_inside(): pytest.skip("now")

@pytest.mark.xfail
def test_xfail(): assert 0

@pytest.mark.xfail(run=False)
def test_xfail_not_run(): assert 0

@pytest.mark.xfail
def test_xpass(): pass

@pytest.mark.xfail(strict=True)
def test_xpass_strict(): pass

@pytest.fixture
def broken_end():
    yield
    assert 0

def test_teardown(broken_end): pass
def test_call_and_teardown(broken_end): assert 0

@pytest.fixture
def broken_start(): assert 0

def test_setup(broken_start): pass

class TestCase(unittest.TestCase):
    def test_good(self):
        """A docstring is no id."""
    def test_fail(self): self.fail()
    def test_error(self): raise ValueError
    @unittest.skip("why")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
'''


def test_statuses_and_ids(bench):
    bench.write({"tests/test_all.py": EVERY_STATUS})
    outcome = bench.run("pytest -q tests")
    prefix = "tests/test_all.py::"
    assert outcome.statuses == {
        prefix + "test_ok": "passed",
        prefix + "test_p[a b]": "passed",
        prefix + "test_p[[x]]": "passed",
        prefix + "test_p[\\xfc]": "passed",
        prefix + "test_p[\\n]": "passed",
        prefix + "test_p[a::b]": "passed",
        prefix + "test_bad": "failed",
        prefix + "test_skip": "skipped",
        prefix + "test_skip_inside": "skipped",
        prefix + "test_xfail": "xfail",
        prefix + "test_xfail_not_run": "xfail",
        prefix + "test_xpass": "xpass",
        prefix + "test_xpass_strict": "failed",
        prefix + "test_teardown": "error",
        prefix + "test_call_and_teardown": "error",
        prefix + "test_setup": "error",
        prefix + "TestCase::test_good": "passed",
        prefix + "TestCase::test_fail": "failed",
        prefix + "TestCase::test_error": "failed",
        prefix + "TestCase::test_skip": "skipped",
        prefix + "TestCase::test_expected": "xfail",
        prefix + "TestCase::test_unexpected": "failed",
    }
    assert outcome.report.problems == ()
    assert outcome.report.notes == ()
    assert outcome.status == outcome.report.exit_status == 1
    assert outcome.report.evidence == "report"


def test_the_run_is_left_as_it_was(bench):
    bench.write({"test_one.py": "def test_one(): pass\n"})
    outcome = bench.run("pytest -x --strict-markers -W error --junitxml=out.xml")
    assert outcome.status == 0
    assert "1 passed" in outcome.output
    assert "failed" not in outcome.output
    for name in (bench.canaries.pass_name, bench.canaries.fail_name):
        assert name not in outcome.output
        assert name not in (bench.tree / "out.xml").read_text()
    assert outcome.report.problems == outcome.report.notes == ()


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("pytest -x", {"test_it.py::test_a": "passed", "test_it.py::test_b": "failed"}),
        ("pytest --maxfail=1", {"test_it.py::test_a": "passed", "test_it.py::test_b": "failed"}),
        ("pytest -k test_c", {"test_it.py::test_c": "passed"}),
        ("pytest -m slow", {"test_it.py::test_c": "passed"}),
        ("pytest --deselect test_it.py::test_b", {"test_it.py::test_a": "passed", "test_it.py::test_c": "passed"}),
        ("pytest -k nothing_of_that_name", {}),
        ("pytest -p no:cacheprovider -p no:terminal test_it.py::test_a", {"test_it.py::test_a": "passed"}),
        ("python -m pytest -q test_it.py::test_a", {"test_it.py::test_a": "passed"}),
        ("pytest --collect-only", {}),
    ],
)
def test_canaries_survive_selection_and_stops(bench, command, seen):
    bench.write(
        {
            "pytest.ini": "[pytest]\nmarkers = slow\naddopts = --strict-markers\n",
            "test_it.py": "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\n"
            "@pytest.mark.slow\ndef test_c(): pass\n",
        }
    )
    outcome = bench.run(command)
    assert outcome.statuses == seen
    assert outcome.report.problems == ()


def test_stopped_run_with_fixtures_still_up(bench):
    bench.write(
        {
            "test_it.py": "import pytest\n@pytest.fixture(scope='session')\ndef up():\n    yield\n    print('DOWN')\n"
            "def test_a(up): assert 0\ndef test_b(up): pass\n"
        }
    )
    outcome = bench.run("pytest -x -s")
    assert outcome.report.problems == ()
    assert outcome.output.count("DOWN") == 1


def test_collection_error_is_an_error_of_the_module(bench):
    bench.write({"test_bad.py": "import nothing_of_that_name\n", "test_ok.py": "def test_ok(): pass\n"})
    outcome = bench.run("pytest")
    assert outcome.statuses == {"test_bad.py": "error"}
    assert outcome.report.problems == ()
    assert outcome.status == 2
    outcome = bench.run("pytest --continue-on-collection-errors")
    assert outcome.statuses == {"test_bad.py": "error", "test_ok.py::test_ok": "passed"}


def test_conftest_that_cannot_be_imported_is_no_forgery(bench):
    bench.write({"conftest.py": "import nothing_of_that_name\n", "test_ok.py": "def test_ok(): pass\n"})
    outcome = bench.run("pytest")
    assert outcome.statuses == {}
    assert outcome.report.problems
    assert not outcome.report.tampered


def test_wrong_usage_is_no_forgery(bench):
    outcome = bench.run("pytest no_such_file.py")
    assert outcome.status == 4
    assert not outcome.report.tampered
    outcome = bench.run("pytest --no-such-option")
    assert outcome.status == 4
    assert not outcome.report.tampered


def test_subtests(bench):
    bench.write(
        {
            "test_it.py": "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_some(self):\n        for i in range(3):\n"
            "            with self.subTest(i=i): self.assertNotEqual(i, 1)\n"
            "    def test_none(self):\n        for i in range(3):\n"
            "            with self.subTest(i=i): pass\n"
        }
    )
    outcome = bench.run("pytest")
    assert outcome.statuses == {"test_it.py::T::test_some": "failed", "test_it.py::T::test_none": "passed"}


def test_two_runs_are_merged_and_the_worst_counts(bench):
    bench.write({"test_it.py": "import os\ndef test_a(): assert 'BAD' not in os.environ\ndef test_b(): pass\n"})
    outcome = bench.run("pytest; BAD=1 pytest test_it.py::test_a; pytest")
    assert outcome.statuses == {"test_it.py::test_a": "failed", "test_it.py::test_b": "passed"}
    assert outcome.report.problems == ()


def test_two_runs_in_one_process(bench):
    bench.write(
        {
            "test_a.py": "def test_a(): pass\n",
            "test_b.py": "def test_b(): assert 0\n",
            "both.py": "import pytest, sys\npytest.main(['test_a.py'])\nsys.exit(pytest.main(['test_b.py']))\n",
        }
    )
    outcome = bench.run("python both.py")
    assert outcome.statuses == {"test_a.py::test_a": "passed", "test_b.py::test_b": "failed"}
    assert outcome.report.problems == ()


NESTED = """
import os, subprocess, sys
import pytest
pytest_plugins = ["pytester"]

def test_environment():
    for name in ("PARSIMONY_CHANNEL", "PARSIMONY_TREE", "PYTEST_PLUGINS", "PYTHONPATH"):
        assert name not in os.environ

def test_in_process(pytester):
    pytester.makepyfile("def test_inner(): assert 0")
    pytester.inline_run().assertoutcome(failed=1)

def test_subprocess(pytester):
    pytester.makepyfile("def test_inner(): assert 0")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)

def test_main(tmp_path):
    (tmp_path / "test_inner.py").write_text("def test_inner(): assert 0")
    assert pytest.main([str(tmp_path), "-p", "no:cacheprovider"]) == 1
"""


def test_runs_inside_tests_do_not_report(bench):
    bench.write({"test_it.py": NESTED})
    outcome = bench.run("pytest -p no:cacheprovider")
    assert outcome.statuses == {
        f"test_it.py::{name}": "passed"
        for name in ("test_environment", "test_in_process", "test_subprocess", "test_main")
    }
    assert outcome.report.problems == ()


def test_python_path_of_the_command_is_kept(bench):
    bench.write({"lib/helper.py": "", "test_it.py": "import helper\ndef test_a(): pass\n"})
    outcome = bench.run("pytest", environment={"PYTHONPATH": str(bench.tree / "lib")})
    assert outcome.statuses == {"test_it.py::test_a": "passed"}


def test_a_fork_that_goes_on_with_the_run_is_silent(bench):
    bench.write({"test_it.py": "import os\ndef test_a():\n    os.fork()\ndef test_b(): pass\n"})
    outcome = bench.run("pytest -q 2>&1 | tail -1; sleep 0.3")
    assert outcome.statuses == {"test_it.py::test_a": "passed", "test_it.py::test_b": "passed"}
    assert outcome.report.problems == ()


def test_rootdir_and_ini_elsewhere(bench):
    bench.write(
        {
            "deep/er/pytest.ini": "[pytest]\n",
            "deep/er/conftest.py": "",
            "deep/er/test_it.py": "def test_a(): pass\n",
            "other/test_it2.py": "def test_b(): pass\n",
        }
    )
    outcome = bench.run("pytest deep/er")
    assert outcome.statuses == {"test_it.py::test_a": "passed"}
    outcome = bench.run("pytest --rootdir=other other deep/er/test_it.py --import-mode=importlib")
    assert "failed" not in outcome.statuses.values()
    assert len(outcome.statuses) == 2
    assert outcome.report.problems == ()


def test_doctests_and_items_of_a_plugin(bench):
    bench.write(
        {
            "pkg.py": '"""\n>>> 1 + 1\n2\n"""\n',
            "page.txt": ">>> 1 + 1\n3\n",
            "conftest.py": "import pytest\n"
            "class Line(pytest.Item):\n    def runtest(self):\n        assert self.name == 'good'\n"
            "class Lines(pytest.File):\n    def collect(self):\n"
            "        return [Line.from_parent(self, name=line) for line in self.path.read_text().split()]\n"
            "def pytest_collect_file(parent, file_path):\n    if file_path.suffix == '.lines':\n"
            "        return Lines.from_parent(parent, path=file_path)\n",
            "some.lines": "good bad",
        }
    )
    outcome = bench.run("pytest --doctest-modules --doctest-glob='*.txt' pkg.py page.txt some.lines")
    assert outcome.statuses == {
        "pkg.py::pkg": "passed",
        "page.txt::page.txt": "failed",
        "some.lines::good": "passed",
        "some.lines::bad": "failed",
    }
    assert outcome.report.problems == ()


@pytest.mark.parametrize(
    "command",
    [
        "PYTHONPATH=lib pytest",
        "export PYTHONPATH=lib\npytest",
        "PYTHONPATH='lib' python -m pytest",
        "bash -c 'PYTHONPATH=lib pytest'",
        'env PYTHONPATH="$PWD/lib":more pytest',
        "PYTHONPATH= pytest --override-ini=pythonpath=lib",
    ],
)
def test_commands_that_set_the_python_path(bench, command):
    bench.write({"lib/helper.py": "", "test_it.py": "import helper\ndef test_a(): pass\n"})
    outcome = bench.run(command)
    assert outcome.statuses == {"test_it.py::test_a": "passed"}, outcome.output
    assert outcome.report.problems == ()


def test_the_other_order_of_tests(bench):
    """From the last to the first, for a grading under that condition; ids, results and canaries are the same."""
    bench.write({"test_it.py": "SEEN = []\ndef test_a(): SEEN.append(1)\ndef test_b(): assert SEEN == []\n"})
    plain = bench.run("pytest -q")
    assert plain.statuses == {"test_it.py::test_a": "passed", "test_it.py::test_b": "failed"}
    backwards = bench.run("PARSIMONY_ORDER=reverse pytest -q")
    assert backwards.statuses == {"test_it.py::test_a": "passed", "test_it.py::test_b": "passed"}
    assert backwards.report.problems == backwards.report.notes == ()
