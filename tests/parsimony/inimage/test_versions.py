"""The same outcomes on the Pythons and pytests that images bring: 3.6 to 3.13, pytest 4 to 9, xdist, reruns, Django.

Each needs an interpreter of that version on this machine and packages from an index; without them it is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MATRIX = [
    ("3.6", ["pytest==4.6.11", "pytest-xdist==1.34.0", "pytest-rerunfailures==8.0"]),
    ("3.6", ["pytest==6.2.5"]),
    ("3.7", ["pytest==7.4.4", "pytest-xdist", "pytest-rerunfailures"]),
    ("3.8", ["pytest==5.4.3"]),
    ("3.9", ["pytest==6.1.2", "pytest-subtests==0.5.0"]),
    ("3.10", ["pytest==9.0.0", "pytest-xdist", "pytest-rerunfailures"]),
    ("3.12", ["pytest==8.0.2", "pytest-asyncio<1", "pytest-cov", "pytest-randomly"]),
    ("3.13", ["pytest==8.3.5", "pytest-xdist", "pytest-forked"]),
]


def interpreter(version):
    found = shutil.which(f"python{version}")
    own = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in [*([Path(found)] if found else []), *own]:
        command = [str(candidate), "-c", "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        if told.stdout.strip() == version:
            return candidate
    return pytest.skip(f"no Python {version} on this machine")


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """Makes virtual environments, each once."""
    made = {}

    def environment(version, packages):
        key = (version, *packages)
        if key not in made:
            folder = tmp_path_factory.mktemp("venv")
            subprocess.run([str(interpreter(version)), "-m", "venv", str(folder)], check=True, capture_output=True)
            python = folder / "bin" / "python"
            command = [str(python), "-m", "pip", "install", "-q", *packages]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            made[key] = python if done.returncode == 0 else done.stderr.strip().splitlines()[-1:]
        if not isinstance(made[key], Path):
            pytest.skip(f"cannot install {packages}: {made[key]}")
        return made[key]

    return environment


PYTEST_TESTS = """
import sys
import unittest
import pytest

def test_ok(): pass
@pytest.mark.parametrize("x", ["a b", "[x]"])
def test_p(x): pass
def test_bad(): assert 0
@pytest.mark.skip(reason="why")
def test_skip(): pass
@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=True)
def test_xpass_strict(): pass
@pytest.fixture
def broken_end():
    yield
    assert 0
def test_teardown(broken_end): pass
@pytest.fixture
def broken_start(): assert 0
def test_setup(broken_start): pass
class TestCase(unittest.TestCase):
    def test_good(self): pass
    def test_fail(self): self.fail()
    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
"""
PYTEST_STATUSES = {
    "test_ok": "passed",
    "test_p[a b]": "passed",
    "test_p[[x]]": "passed",
    "test_bad": "failed",
    "test_skip": "skipped",
    "test_xfail": "xfail",
    "test_xpass": "xpass",
    "test_xpass_strict": "failed",
    "test_teardown": "error",
    "test_setup": "error",
    "TestCase::test_good": "passed",
    "TestCase::test_fail": "failed",
    "TestCase::test_subtests": "failed",
}
RERUN_TESTS = """
import pytest
tries = []
@pytest.mark.flaky(reruns=2)
def test_second():
    tries.append(1)
    assert len(tries) > 1
@pytest.mark.flaky(reruns=1)
def test_never(): assert 0
"""
UNITTEST_TESTS = """
import unittest
class T(unittest.TestCase):
    def test_good(self): pass
    def test_fail(self): self.fail()
    def test_error(self): raise ValueError
    @unittest.skip("why")
    def test_skip(self): pass
    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
"""


@pytest.mark.parametrize(("version", "packages"), MATRIX, ids=[f"{v}-{p[0]}" for v, p in MATRIX])
def test_outcomes(bench, environments, version, packages):
    bench.python = str(environments(version, packages))
    bench.write({"tests/test_it.py": PYTEST_TESTS, "test_again.py": RERUN_TESTS, "test_unit.py": UNITTEST_TESTS})
    expected = {f"tests/test_it.py::{name}": status for name, status in PYTEST_STATUSES.items()}
    commands = ["python -m pytest -q tests"]
    commands += ["python -m pytest -q -n 2 tests"] if any("xdist" in name for name in packages) else []
    commands += ["python -m pytest -q --forked tests"] if any("forked" in name for name in packages) else []
    for command in commands:
        outcome = bench.run(command)
        assert outcome.statuses == expected, outcome.output
        assert outcome.report.problems == (), outcome.output
        assert outcome.report.notes == ()
    if any("rerun" in name for name in packages):
        outcome = bench.run("python -m pytest -q test_again.py")
        assert outcome.statuses == {"test_again.py::test_second": "passed", "test_again.py::test_never": "failed"}
        assert outcome.report.problems == ()
    outcome = bench.run("python -m unittest -q test_unit")
    names = {"good": "passed", "fail": "failed", "error": "error", "skip": "skipped", "subtests": "failed"}
    assert outcome.statuses == {f"test_unit.T.test_{name}": status for name, status in names.items()}
    assert outcome.report.problems == ()


@pytest.mark.parametrize("witness", ["3.6", "3.13"])
def test_a_witness_of_another_python_than_the_tests(bench, environments, witness):
    bench.witness_python = str(interpreter(witness))
    bench.python = str(environments("3.10", MATRIX[5][1]))
    bench.write(
        {
            "pkg.py": (Path(__file__).parent / "attacks" / "patch_report_one.py").read_text(),
            "tests/test_pkg.py": "import pkg\ndef test_add(): assert 0\n",
        }
    )
    outcome = bench.run("python -m pytest -q tests", candidate_files={"pkg.py"})
    assert outcome.report.tampered
    assert not any("could not be compared" in note for note in outcome.report.notes)
    assert outcome.record["witness"]["version"].startswith(witness)


def test_workers_are_watched_too(bench, environments):
    bench.python = str(environments("3.10", MATRIX[5][1]))
    bench.write(
        {
            "pkg.py": (Path(__file__).parent / "attacks" / "patch_report_one.py").read_text(),
            "tests/test_pkg.py": "import pkg\ndef test_add(): assert 0\n",
        }
    )
    outcome = bench.run("python -m pytest -q -n 2 tests", candidate_files={"pkg.py"})
    assert any("from_item_and_call of the test runner was replaced by pkg.py" in p for p in outcome.report.problems)


DJANGO = {
    "manage.py": "import os, sys\nos.environ['DJANGO_SETTINGS_MODULE'] = 'settings'\n"
    "from django.core.management import execute_from_command_line\nexecute_from_command_line(sys.argv)\n",
    "settings.py": "SECRET_KEY = 'x'\nINSTALLED_APPS = ['app']\nUSE_TZ = True\n"
    "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n",
    "app/__init__.py": "",
    "app/tests.py": "from django.test import SimpleTestCase, TestCase\n"
    "class A(TestCase):\n    def test_good(self):\n        '''A line of words.'''\n"
    "    def test_bad(self): self.assertEqual(1, 2)\n"
    "class B(SimpleTestCase):\n    def test_good(self): pass\n"
    "    def test_subtests(self):\n        for i in range(3):\n"
    "            with self.subTest(i=i): self.assertNotEqual(i, 1)\n",
}


@pytest.mark.parametrize("options", ["", "--parallel=2", "-v 2 --failfast --exclude-tag x"])
def test_django(bench, environments, options):
    bench.python = str(environments("3.10", ["django>=4,<5.3", "tblib"]))
    bench.write(DJANGO)
    outcome = bench.run(f"python manage.py test {options}")
    statuses = {"A.test_good": "passed", "A.test_bad": "failed", "B.test_good": "passed", "B.test_subtests": "failed"}
    if "failfast" not in options:
        assert outcome.statuses == {f"app.tests.{name}": status for name, status in statuses.items()}, outcome.output
    assert outcome.report.problems == (), outcome.output
    assert outcome.report.labels.get("app.tests.A.test_good", "A line of words.") == "A line of words."
    assert outcome.events("session")[0]["framework"] == "django"
    assert outcome.status == 1
