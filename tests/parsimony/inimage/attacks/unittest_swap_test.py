"""Replaces a method of the test class after it was loaded.

Level: 3
Runner: unittest
Says: the test T.test_other does not run the code of its test file by pkg/__init__.py
"""

import sys


def add(a, b):
    sys.modules["tests.test_unit"].T.test_other = lambda self: None
    return 3


def mul(a, b):
    return 7
