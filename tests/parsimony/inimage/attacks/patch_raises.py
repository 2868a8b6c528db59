"""Makes pytest.raises take anything.

Level: 3
Setup: test uses raises
Says: pytest.raises of the test runner was replaced by pkg/__init__.py
"""

import contextlib

import pytest


@contextlib.contextmanager
def raises(*arguments, **options):
    yield


pytest.raises = raises


def fails():
    return None
