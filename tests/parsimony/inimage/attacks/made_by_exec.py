"""The replacement has no file: it was made by exec.

Level: 3
Says: _pytest.reports.TestReport.from_item_and_call of the test runner was replaced by code without a file|by <string>
"""

exec(
    """
import _pytest.reports
original = _pytest.reports.TestReport.from_item_and_call.__func__
def only_one(cls, item, call):
    report = original(cls, item, call)
    if item.name == "test_add":
        report.outcome, report.longrepr = "passed", None
    return report
_pytest.reports.TestReport.from_item_and_call = classmethod(only_one)
"""
)
