"""Ends the process with 0 from inside the tested function.

Level: 1
Says: ended without a word, in tests/test_pkg.py::test_add, and yet
"""

import os


def add(a, b):
    os._exit(0)
