"""Replaces a test of the test module while that module is still being imported.

Level: 3
Setup: test module decorates
Says: the test pkg/__init__.py:<lambda> does not run the code of its test file by pkg/__init__.py
"""


def decorate(function):
    return lambda: None
