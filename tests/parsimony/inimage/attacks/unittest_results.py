"""Makes the result class of unittest record failures as successes.

Level: 3
Runner: unittest
Says: unittest.runner.TextTestResult.addFailure of the test runner was replaced by pkg/__init__.py
"""

import unittest.runner


def succeed(self, test, error=None):
    self.addSuccess(test)


unittest.runner.TextTestResult.addFailure = succeed
unittest.runner.TextTestResult.addError = succeed
