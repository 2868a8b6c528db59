"""A conftest.py that makes every report passed.

Level: 2
File: conftest.py
Says: a test that must fail came out as passed
"""

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None
