"""Leaves the function object alone and exchanges its code.

Level: 3
Says: _pytest.python.Function.runtest of the test runner was replaced by pkg/__init__.py
"""

import pytest


def runtest(self):
    pass


pytest.Function.runtest.__code__ = runtest.__code__
