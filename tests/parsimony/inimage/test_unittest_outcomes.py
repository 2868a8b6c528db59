"""The reporter for unittest: `python -m unittest`, scripts, runners of one's own, Django's way of running."""

from __future__ import annotations

import pytest

EVERY_STATUS = '''
import doctest
import io
import os
import unittest

def documented():
    """
    >>> 1 + 1
    2
    """

class Plain(unittest.TestCase):
    def test_good(self):
        """The first line of a docstring is a label."""
    def test_fail(self): self.fail()
    def test_error(self): raise ValueError
    @unittest.skip("why")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
    def test_good_subtests(self):
        for i in range(3):
            with self.subTest(i=i): pass
    def test_environment(self):
        for name in ("PARSIMONY_CHANNEL", "PARSIMONY_TREE", "PYTHONPATH"):
            self.assertNotIn(name, os.environ)
    def test_run_inside(self):
        class Inner(unittest.TestCase):
            def test_inner(self): self.fail()
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Inner)
        self.assertFalse(unittest.TextTestRunner(stream=io.StringIO()).run(suite).wasSuccessful())

class BrokenSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError
    def test_never(self): pass

class BrokenTearDown(unittest.TestCase):
    @classmethod
    def tearDownClass(cls): raise ValueError
    def test_good(self): pass

def load_tests(loader, tests, ignore):
    tests.addTests(doctest.DocTestSuite())
    return tests
'''
STATUSES = {
    "Plain.test_good": "passed",
    "Plain.test_fail": "failed",
    "Plain.test_error": "error",
    "Plain.test_skip": "skipped",
    "Plain.test_expected": "xfail",
    "Plain.test_unexpected": "failed",
    "Plain.test_subtests": "failed",
    "Plain.test_good_subtests": "passed",
    "Plain.test_environment": "passed",
    "Plain.test_run_inside": "passed",
    "BrokenTearDown.test_good": "passed",
    "documented": "passed",
}
ERRORS_OF_CLASSES = {
    "setUpClass (tests.test_all.BrokenSetUp)": "error",
    "tearDownClass (tests.test_all.BrokenTearDown)": "error",
}


@pytest.mark.parametrize(
    "command",
    [
        "python -m unittest -v tests.test_all",
        "python -m unittest discover",
        "python run_tests.py",
    ],
)
def test_statuses_and_ids(bench, command):
    runner = (
        "import unittest\n"
        "class Result(unittest.TextTestResult):\n"
        "    def addSuccess(self, test): super().addSuccess(test)\n"
        "class Runner(unittest.TextTestRunner):\n    resultclass = Result\n"
        "if __name__ == '__main__':\n    unittest.main('tests.test_all', testRunner=Runner)\n"
    )
    bench.write({"tests/__init__.py": "", "tests/test_all.py": EVERY_STATUS, "run_tests.py": runner})
    outcome = bench.run(command)
    assert (
        outcome.statuses == {f"tests.test_all.{name}": status for name, status in STATUSES.items()} | ERRORS_OF_CLASSES
    )
    assert outcome.report.problems == ()
    assert outcome.report.notes == ()
    assert outcome.report.labels["tests.test_all.Plain.test_good"] == "The first line of a docstring is a label."
    assert outcome.status == 1
    assert bench.canaries.pass_name not in outcome.output


def test_the_run_is_left_as_it_was(bench):
    bench.write({"test_one.py": "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): pass\n"})
    outcome = bench.run("python -W error -m unittest --failfast test_one")
    assert outcome.statuses == {"test_one.T.test_one": "passed"}
    assert "Ran 1 test " in outcome.output
    assert outcome.status == 0
    assert outcome.report.problems == outcome.report.notes == ()


def test_module_that_cannot_be_imported(bench):
    bench.write({"test_bad.py": "import nothing_of_that_name\n"})
    outcome = bench.run("python -m unittest test_bad")
    assert outcome.statuses == {"unittest.loader._FailedTest.test_bad": "error"}
    assert outcome.report.problems == ()


def test_runs_of_several_suites_and_several_processes(bench):
    bench.write(
        {
            "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): pass\n",
            "test_b.py": "import unittest\nclass T(unittest.TestCase):\n    def test_two(self): self.fail()\n",
            "test_c.py": "def test_three(): pass\n",
            "loop.py": "import unittest\nfor name in ('test_a', 'test_b'):\n"
            "    unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromName(name))\n",
        }
    )
    outcome = bench.run("python loop.py; python -m unittest test_a; pytest test_c.py")
    assert outcome.statuses == {
        "test_a.T.test_one": "passed",
        "test_b.T.test_two": "failed",
        "test_c.py::test_three": "passed",
    }
    assert outcome.report.problems == ()


# What django.test.runner does, in small: a runner, a suite that hands its parts to forked workers, and replays what
# they report on the one result of the parent.
LIKE_DJANGO = '''
import multiprocessing, sys, unittest

class Recorder:
    """Records events, as RemoteTestResult does."""
    failfast, shouldStop = False, False
    def __init__(self): self.events = []
    def startTestRun(self): pass
    def stopTestRun(self): pass
    def _record(name):
        def method(self, test, *rest):
            self.events.append((name, test.id(), str(rest[0][1]) if rest else None))
        return method
    startTest, stopTest, addSuccess, addFailure, addError = map(
        _record, ("startTest", "stopTest", "addSuccess", "addFailure", "addError"))

def work(case):
    result = Recorder()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result.events

class ParallelSuite(unittest.TestSuite):
    def __init__(self, cases):
        self.cases = cases
        super().__init__()
    def run(self, result):
        tests = {t.id(): t for c in self.cases for t in unittest.defaultTestLoader.loadTestsFromTestCase(c)}
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for events in pool.imap(work, self.cases):
                for name, test_id, error in events:
                    arguments = ((AssertionError, AssertionError(error), None),) if error else ()
                    getattr(result, name)(tests[test_id], *arguments)
        return result

class DiscoverRunner:
    test_runner = unittest.TextTestRunner
    def run_tests(self, cases):
        result = self.test_runner(verbosity=2).run(ParallelSuite(cases))
        return len(result.failures) + len(result.errors)

class A(unittest.TestCase):
    def test_good(self): pass
class B(unittest.TestCase):
    def test_bad(self): self.fail("no")

if __name__ == "__main__":
    sys.exit(DiscoverRunner().run_tests([A, B]))
'''


def test_parallel_runner_that_replays_events(bench):
    bench.write({"manage.py": LIKE_DJANGO})
    outcome = bench.run("python manage.py")
    assert outcome.statuses == {"__main__.A.test_good": "passed", "__main__.B.test_bad": "failed"}
    assert outcome.report.problems == ()
    assert outcome.status == 1


def test_a_run_that_loading_starts_is_not_the_run(bench):
    bench.write(
        {
            "test_it.py": "import io, os, unittest\n"
            "class T(unittest.TestCase):\n    def test_a(self): self.fail()\n"
            "class Forged(unittest.TestCase):\n    def test_a(self): pass\n"
            "    def id(self): return 'test_it.T.test_a'\n"
            "unittest.TextTestRunner(stream=io.StringIO()).run(Forged('test_a'))\n"
            "os._exit(0)\n"
        }
    )
    outcome = bench.run("python -m unittest test_it")
    assert outcome.statuses == {}
    assert outcome.report.tampered


def test_processes_that_run_no_tests_are_left_alone(bench):
    outcome = bench.run(
        "python -c 'import sys; print(sorted(m for m in sys.modules if m.startswith(\"parsimony\")))';"
        "python -c 'import unittest, pytest; print(1)'"
    )
    assert outcome.output.splitlines() == ["[]", "1"]
    assert outcome.report.problems == ("no test runner reported anything",)
    assert not outcome.report.tampered


def test_the_shadowed_sitecustomize_runs_unless_it_is_of_the_tree(bench):
    bench.write({"sitecustomize.py": "print('of the tree')\n", "usercustomize.py": "print('of the tree')\n"})
    image = bench.outside / "image"
    image.mkdir()
    (image / "sitecustomize.py").write_text("print('of the image')\n")
    outcome = bench.run("python -c 'print(1)'", environment={"PYTHONPATH": f"{bench.tree}:{image}"})
    assert outcome.output.splitlines() == ["of the image", "1"]


def test_a_run_of_unittest_that_knows_pytest(bench):
    bench.write(
        {
            "test_it.py": "import unittest\nimport pytest\n"
            "class T(unittest.TestCase):\n"
            "    def test_a(self):\n"
            "        with pytest.raises(ValueError): int('x')\n"
            "    def test_b(self):\n"
            "        with open('inner_test.py', 'w') as file: file.write('def test_inner(): assert 0')\n"
            "        self.assertEqual(pytest.main(['-q', 'inner_test.py']), 1)\n",
            "run_tests.py": "import pytest, unittest\n"
            "suite = unittest.defaultTestLoader.loadTestsFromName('test_it')\n"
            "unittest.TextTestRunner().run(suite)\n",
        }
    )
    for command in ("python -m unittest test_it", "python run_tests.py"):
        outcome = bench.run(command)
        assert outcome.statuses == {"test_it.T.test_a": "passed", "test_it.T.test_b": "passed"}
        assert outcome.report.problems == ()
