"""A conftest.py that makes the report of one test passed.

Level: 2
File: conftest.py
Says: test_add: failed, and was told to have passed
"""

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if item.name == "test_add":
        report = outcome.get_result()
        report.outcome = "passed"
        report.longrepr = None
