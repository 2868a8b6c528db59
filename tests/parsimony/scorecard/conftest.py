"""What the tests of scorecards share."""

import pytest

from parsimony.errors import InputError
from parsimony.footprint import load_track


@pytest.fixture
def tree_sitter() -> None:
    """Skips where the wheels of tree-sitter are not there."""
    try:
        for language in ("go", "java", "rust", "c", "cpp"):
            load_track(language=language)
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def script() -> None:
    """Skips where Node.js or its package is not there."""
    try:
        load_track(language="typescript")
    except InputError as error:
        pytest.skip(str(error))
