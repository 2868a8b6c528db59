"""Swallows the exception where pytest catches it.

Level: 3
Says: _pytest.runner.CallInfo.from_call of the test runner was replaced by pkg/__init__.py
"""

import _pytest.runner

original = _pytest.runner.CallInfo.from_call.__func__


def from_call(cls, func, when, reraise=None):
    info = original(cls, func, when, reraise)
    if when == "call":
        info.excinfo = None
    return info


_pytest.runner.CallInfo.from_call = classmethod(from_call)
