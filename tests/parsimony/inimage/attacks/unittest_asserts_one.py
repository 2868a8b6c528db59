"""Makes an assertion of unittest let everything through in one named test, and only while it runs.

Level: 3
Runner: unittest
Says: unittest.case.TestCase.assertEqual of the test runner was replaced by pkg/__init__.py
"""

import unittest

original = unittest.TestCase.assertEqual


def add(a, b):
    unittest.TestCase.assertEqual = lambda self, *rest, **options: None
    return a - b
