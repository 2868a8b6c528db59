"""The replacement is a functools.partial around the candidate's function.

Level: 3
Says: _pytest.runner.pytest_runtest_makereport of the test runner was replaced by pkg/__init__.py|put in by hand by pkg
"""

import functools
import gc

import _pytest.runner


def flip(original, item, call):
    report = original(item, call)
    if item.name == "test_add":
        report.outcome, report.longrepr = "passed", None
    return report


replacement = functools.partial(flip, _pytest.runner.pytest_runtest_makereport)
_pytest.runner.pytest_runtest_makereport = replacement
for manager in gc.get_objects():
    if type(manager).__name__ == "PytestPluginManager":
        for implementation in manager.hook.pytest_runtest_makereport.get_hookimpls():
            if implementation.plugin_name == "runner":
                implementation.function = replacement
