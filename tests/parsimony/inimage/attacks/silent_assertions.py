"""Makes AssertionError something that pytest takes for an expected failure.

Level: 3
Says: builtins.AssertionError of the test runner was replaced by|a test that must fail came out as
"""

import builtins

import pytest

builtins.AssertionError = pytest.xfail.Exception
