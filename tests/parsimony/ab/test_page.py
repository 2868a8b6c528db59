"""The page of comparisons of every shape. That nothing is undefined in it is the template's own strictness."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from parsimony import ab
from parsimony.report.comparison_page import comparison_page
from parsimony.runs import Spend
from tests.parsimony.ab.conftest import Table, by_counts, compared, make_run

SPEND = Spend(input_tokens=10, micro_dollars=1000)
SHAPES: dict[str, Mapping[str, Table]] = {
    "one cell": {"a": [[0]], "b": [[1]]},
    "all missing": {"a": [[None, None]], "b": [[None, None]]},
    "some missing": {"a": [[None, 1], [1, 0]], "b": [[1, 1], [0, None]]},
    "equal": {"a": [[1, 1]] * 3, "b": [[1, 1]] * 3},
    "many seeds": {"a": by_counts(range(10, 24), 40, 1), "b": by_counts(range(12, 26), 40, 2)},
}


@pytest.mark.parametrize("spend", [None, SPEND], ids=["no cost", "cost"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_a_page(name: str, spend: Spend | None) -> None:
    one = compared(SHAPES[name], spend={"a": spend, "b": spend} if spend else None)
    page = comparison_page([one], beside=Path("runs/one"))
    assert ab.headline(one) in page
    assert ("Incomplete." in page) is (not one.complete)
    assert page.count("<svg") >= 2


def test_several_comparisons_have_an_overview_first() -> None:
    table = by_counts((5, 6), 12)
    source = ab.Source(make_run({"base": table, "x": table, "y": by_counts((7, 8), 12, 3)}))
    pairs = [ab.align(source.grid("base"), source.grid(name)) for name in ("x", "y")]
    page = comparison_page(ab.compare(pairs, ["first", "second"]), beside=Path())
    assert page.index("2 candidates against base</h1>") < page.index(">first</h1>") < page.index(">second</h1>")
    assert 'href="#c2"' in page
    assert 'id="c2"' in page


def test_logs_are_linked_from_where_the_page_is() -> None:
    one = compared({"a": [[0]], "b": [[1]]})
    assert 'href="../logs/t0-a-1.log"' in comparison_page([one], beside=Path("pages"))


def test_the_same_comparison_gives_the_same_page() -> None:
    one = compared(SHAPES["many seeds"])
    assert comparison_page([one], beside=Path()) == comparison_page([one], beside=Path())
