"""Makes an assertion of unittest let everything through.

Level: 3
Runner: unittest
Says: unittest.case.TestCase.assertEqual of the test runner was replaced by pkg/__init__.py
"""

import unittest

unittest.TestCase.assertEqual = lambda self, *rest, **options: None
