"""Replaces the method that runs a test.

Level: 3
Runner: unittest
Says: unittest.case.TestCase._callTestMethod of the test runner was replaced by pkg/__init__.py
"""

import unittest

unittest.TestCase._callTestMethod = lambda self, method: None
