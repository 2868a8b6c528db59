"""Gives one item a runtest method of its own.

Level: 3
Says: the test tests/test_pkg.py::test_other does not run the code of its test file by pkg/__init__.py
"""

import gc

import pytest


def add(a, b):
    for item in gc.get_objects():
        if isinstance(item, pytest.Function) and item.name == "test_other":
            item.runtest = lambda: None
    return 3


def mul(a, b):
    return 7
