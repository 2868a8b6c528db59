"""Makes pytest's rewriting of assertions drop them.

Level: 3
Setup: conftest.py imports pkg
Says: _pytest.assertion.rewrite.AssertionRewriter.visit_Assert of the test runner was replaced by pkg/__init__.py
"""

import ast

from _pytest.assertion.rewrite import AssertionRewriter

AssertionRewriter.visit_Assert = lambda self, node: [ast.copy_location(ast.Pass(), node)]
