"""Go, JavaScript and TypeScript equal the published numbers in every field."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from parsimony.errors import InputError
from parsimony.footprint import measure

Rows = Callable[[str], Iterator[dict[str, Any]]]


def _differences(row: dict[str, Any]) -> dict[str, Any]:
    expected, exact = row["expected"], row["exact"]
    files = {row["path"]: (row["before"].encode(), row["after"].encode())}
    try:
        metrics = measure(files, language=row["language"]).metrics()
    except InputError as error:
        return {} if expected["status"] == "error" and error.place.file == row["path"] else {"error": str(error)}
    if expected["status"] == "error":
        return {"status": "no error"}
    wanted = {name: value for name, value in expected.items() if name in metrics} | exact
    return {name: (metrics[name], value) for name, value in wanted.items() if metrics[name] != value}


def _check(rows: Rows, *languages: str) -> None:
    seen = 0
    for row in rows("go-js-given.jsonl"):
        if row["language"] in languages:
            seen += 1
            assert _differences(row) == {}, (row["id"], row["kind"])
    assert seen > 40


@pytest.mark.shared
@pytest.mark.usefixtures("tree_sitter")
def test_go(rows: Rows) -> None:
    _check(rows, "go")


@pytest.mark.shared
@pytest.mark.usefixtures("script")
def test_javascript_and_typescript(rows: Rows) -> None:
    _check(rows, "javascript", "typescript")
