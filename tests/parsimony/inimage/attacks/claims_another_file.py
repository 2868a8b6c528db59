"""The replacement says that it is code of pytest.

Level: 3
Says: from_item_and_call of the test runner was replaced|code in memory is not that of .*_pytest/reports.py
"""

import _pytest.reports

source = """
original = _pytest.reports.TestReport.from_item_and_call.__func__
def from_item_and_call(cls, item, call):
    report = original(cls, item, call)
    if item.name == "test_add":
        report.outcome, report.longrepr = "passed", None
    return report
"""
scope = {"_pytest": _pytest}
exec(compile(source, _pytest.__file__.replace("__init__", "nodes"), "exec"), scope)
_pytest.reports.TestReport.from_item_and_call = classmethod(scope["from_item_and_call"])
