"""Where the shared vectors and the repositories of the real commits are."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Rows = Callable[[str], Iterator[dict[str, Any]]]


@pytest.fixture
def rows() -> Rows:
    """Reads a file of shared vectors, row by row."""
    named = os.environ.get("PARSIMONY_VECTORS")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "vectors"

    def read(name: str) -> Iterator[dict[str, Any]]:
        path = folder / name
        if not path.is_file():
            pytest.skip("PARSIMONY_VECTORS does not name the folder of the shared vectors")
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    return read
