"""Honest projects do strange things to their test runners: none of them may be called a forgery.

Each case is a project whose candidate wrote `pkg/__init__.py` (and what `candidate` names), and whose tests all pass.
"""

from __future__ import annotations

import pytest

CASES = {
    "monkeypatch of the runner in a test": {
        "tests/test_it.py": "import _pytest.runner, _pytest.reports, time\n"
        "def test_a(monkeypatch):\n"
        "    with monkeypatch.context() as patch:\n"
        "        patch.setattr(_pytest.reports.TestReport, 'from_item_and_call', lambda *a: None)\n"
        "        patch.setattr(_pytest.runner, 'check_interactive_exception', lambda *a: True)\n"
        "        patch.setattr(time, 'perf_counter', lambda: 0)\n"
        "def test_b(monkeypatch):\n"
        "    import pytest\n"
        "    monkeypatch.setattr(pytest, 'raises', lambda *a: None)\n",
    },
    "doubles of mock left behind": {
        "tests/test_it.py": "from unittest import mock, TestCase\n"
        "def test_a():\n    mock.patch.object(TestCase, 'countTestCases').start()\n"
        "def test_b():\n    mock.patch.object(TestCase, 'debug', autospec=True).start()\n"
        "def test_c():\n    with mock.patch('time.perf_counter', return_value=0), mock.patch('json.dumps'),"
        " mock.patch('socket.socket'), mock.patch('os.getpid', return_value=1): pass\n"
        "def test_d(): pass\n",
    },
    "hooks in conftest": {
        "conftest.py": "import pytest\n"
        "@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    outcome = yield\n"
        "    outcome.get_result().extra = 1\n"
        "def pytest_collection_modifyitems(items):\n    items.sort(key=lambda item: item.name)\n"
        "def pytest_configure(config):\n"
        "    class Extra:\n        def pytest_runtest_logreport(self, report): pass\n"
        "    config.pluginmanager.register(Extra())\n",
        "tests/test_it.py": "def test_a(): pass\n",
    },
    "conftest that skips what it does not know": {
        "conftest.py": "import pytest\n"
        "def pytest_runtest_setup(item):\n"
        "    if item.get_closest_marker('known') is None: pytest.skip('unknown')\n"
        "@pytest.fixture(autouse=True)\n"
        "def wants(request): assert request.module.WANTED\n",
        "tests/test_it.py": "import pytest\nWANTED = 1\n@pytest.mark.known\ndef test_a(): pass\n",
    },
    "a plugin that the project ships and its conftest loads": {
        "conftest.py": "pytest_plugins = ['pkg.plugin']\n",
        "pkg/plugin.py": "import pytest, unittest\n"
        "@pytest.hookimpl(hookwrapper=True, tryfirst=True)\n"
        "def pytest_runtest_makereport(item, call):\n    yield\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(Inner(), 'inner')\n"
        "class Inner:\n"
        "    @pytest.hookimpl(hookwrapper=True)\n"
        "    def pytest_pyfunc_call(self, pyfuncitem):\n        yield\n"
        "    def pytest_runtest_logreport(self, report): pass\n",
        "tests/test_it.py": "def test_a(): pass\n",
    },
    "a plugin on the command line": {
        "pkg/plugin.py": "import pytest\n"
        "@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_call(item):\n    yield\n",
        "tests/test_it.py": "def test_a(): pass\n",
        "pytest.ini": "[pytest]\naddopts = -p pkg.plugin -p no:junitxml\npythonpath = .\n",
    },
    "decorators of the project around tests": {
        "pkg/__init__.py": "import functools\n"
        "def around(function):\n"
        "    @functools.wraps(function)\n"
        "    def wrapper(*a, **k): return function(*a, **k)\n"
        "    return wrapper\n"
        "def plain(function): return lambda: function()\n",
        "tests/test_it.py": "import pkg\n@pkg.around\ndef test_a(): pass\n@pkg.plain\ndef test_b(): pass\n",
    },
    "tests that come from another module": {
        "tests/base.py": "class Base:\n    def test_a(self): pass\ndef test_b(): pass\n",
        "tests/test_it.py": "from tests.base import Base, test_b\nclass TestIt(Base): pass\n",
        "tests/__init__.py": "",
    },
    "threads, forks, closed descriptors in a child, a trace function": {
        "tests/test_it.py": "import os, sys, threading\n"
        "def test_thread():\n    t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
        "def test_fork():\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n        os.closerange(3, 4096); os._exit(0)\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n"
        "def test_trace():\n    sys.settrace(lambda *a: None); sys.settrace(None)\n"
        "def test_environment():\n    os.environ.clear()\n",
    },
    "files of tests that tests write": {
        "tests/test_it.py": "import os\ndef test_a():\n    open('tests/test_made.py', 'w').close()\n"
        "def test_b():\n    os.utime('pkg/__init__.py')\n",
    },
    "warnings are errors": {
        "pytest.ini": "[pytest]\nfilterwarnings = error\nxfail_strict = true\n"
        "addopts = --strict-markers --strict-config\n",
        "tests/test_it.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n",
    },
    "a function of the runner that the project's test tools replace": {
        "tests/tools.py": "import unittest\noriginal = unittest.TestCase.assertEqual\n"
        "def assert_equal(self, a, b, msg=None): original(self, a, b, msg)\n"
        "unittest.TestCase.assertEqual = assert_equal\n",
        "tests/__init__.py": "",
        "tests/test_it.py": "import unittest\nimport tests.tools\n"
        "class T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\n",
    },
    "code of the image replaces functions of the runner": {
        "../image/helper.py": "import _pytest.runner\noriginal = _pytest.runner.CallInfo.from_call.__func__\n"
        "def from_call(cls, func, when, reraise=None): return original(cls, func, when, reraise)\n"
        "_pytest.runner.CallInfo.from_call = classmethod(from_call)\n",
        "conftest.py": "import pathlib, sys\nsys.path.append(str(pathlib.Path(__file__).parent.parent / 'image'))\n"
        "import helper\n",
        "tests/test_it.py": "def test_a(): pass\n",
    },
    "tests that run tests": {
        "conftest.py": "pytest_plugins = ['pytester']\n",
        "tests/test_it.py": "def test_a(pytester):\n    pytester.makepyfile('def test_inner(): assert 0')\n"
        "    pytester.makeconftest('def pytest_runtest_makereport(item, call): pass')\n"
        "    pytester.inline_run()\n"
        "def test_b(pytester):\n    pytester.makepyfile('def test_inner(): pass')\n"
        "    assert pytester.runpytest('-x').ret == 0\n",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_honest_project(bench, name):
    bench.write({"pkg/__init__.py": "def add(a, b):\n    return a + b\n"} | CASES[name])
    outcome = bench.run("python -m pytest tests", candidate_files={"pkg/__init__.py"})
    assert outcome.report.problems == (), (outcome.report, outcome.output)
    assert outcome.status == 0, outcome.output
    assert outcome.statuses
    assert set(outcome.statuses.values()) == {"passed"}, outcome.output
    for problem in outcome.read(candidate_files={"pkg/__init__.py", "pkg/plugin.py"}).problems:
        pytest.fail(f"a plugin of the project: {problem}")


def test_honest_unittest_project(bench):
    bench.write(
        {
            "pkg/__init__.py": "import unittest\n"
            "class Base(unittest.TestCase):\n"
            "    def run(self, result=None): return super().run(result)\n"
            "    def assertEqual(self, a, b, msg=None): super().assertEqual(a, b, msg)\n",
            "tests/__init__.py": "",
            "tests/test_it.py": "import unittest\nfrom unittest import mock\nimport pkg\n"
            "class T(pkg.Base):\n"
            "    def test_a(self): self.assertEqual(1, 1)\n"
            "    @mock.patch('time.perf_counter', return_value=0)\n"
            "    def test_b(self, clock): pass\n"
            "    def test_c(self):\n"
            "        with mock.patch.object(unittest.TestCase, 'assertTrue'): pass\n"
            "for name in ('x', 'y'):\n    setattr(T, f'test_{name}', lambda self: None)\n",
        }
    )
    outcome = bench.run("python -m unittest tests.test_it", candidate_files={"pkg/__init__.py"})
    assert outcome.report.problems == (), outcome.report
    assert outcome.statuses == {f"tests.test_it.T.test_{name}": "passed" for name in "abcxy"}
    assert outcome.status == 0
