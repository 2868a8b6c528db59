"""Money is exact to the micro-dollar, whatever form it comes in."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.value import read_values, values_of_rows
from parsimony.value.amounts import MOST, exact_text, micro_dollars, told
from tests.parsimony.value.conftest import task


@given(st.integers(0, MOST * 10**6))
def test_every_micro_dollar_survives_text_and_back(micro: int) -> None:
    assert micro_dollars(exact_text(micro), "dollars") == micro


@given(st.integers(0, 10**12))
def test_numbers_mean_what_was_written(hundredths: int) -> None:
    """A float is read as the decimal that was typed: 0.1 is a tenth."""
    typed = Decimal(hundredths) / 100
    assert micro_dollars(float(typed), "dollars") == hundredths * 10_000


@pytest.mark.parametrize(
    "value",
    ["", "-1", "$5", "1,000", "1e3", "0.0000001", "nan", "١", None, True, -0.01, float("nan"), float("inf"), 1e-9,
     MOST + 1, str(MOST + 1), "9" * 400, 10**400, [1]],
)  # fmt: skip
def test_what_is_no_amount_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="dollars"):
        micro_dollars(value, "dollars")


def test_people_see_dollars() -> None:
    assert [told(one) for one in (None, 0, 1_234_500_000, -250_000_000, 14_200)] == [
        "–", "$0.00", "$1,234.50", "−$250.00", "$0.0142",
    ]  # fmt: skip
    assert told(1_500_000, sign=True) == "+$1.50"


def test_a_file_of_values(tmp_path: Path) -> None:
    """Bad rows are rejected with their lines, and the others count."""
    path = tmp_path / "values.csv"
    path.write_text("task_id,dollars,kind\nt0,1000.50,ic_swe\nt1,0,\nt2,-5,ic_swe\nt0,7,ic_swe\nt3,9\n")
    listed = read_values(path)
    assert {name: (one.micro_dollars, one.kind) for name, one in listed.worths.items()} == {
        "t0": (1_000_500_000, "ic_swe"), "t1": (0, None),
    }  # fmt: skip
    assert [error.place.row for error in listed.rejected] == [4, 5, 6]
    assert "in line 2" in str(listed.rejected[1])


@pytest.mark.parametrize("text", ["", "task_id,dollars\n", "task_id\nt0\n", "task_id,dollars,bonus\nt0,1,2\n"])
def test_a_file_that_is_no_table_of_values(tmp_path: Path, text: str) -> None:
    path = tmp_path / "values.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_values(path)
    assert str(path) in str(caught.value)


def test_rows_of_tasks_bring_values() -> None:
    """Our field `value` is taken before SWE-Lancer's `price`; its `variant` is the kind."""
    tasks = {
        "a": task("a", value=250, price="7"),
        "b": task("b", price="1000.0", variant="swe_manager"),
        "c": task("c"),
        "d": task("d", value="lots"),
    }
    listed = values_of_rows(tasks)
    assert {name: (one.micro_dollars, one.kind) for name, one in listed.worths.items()} == {
        "a": (250_000_000, None), "b": (1_000_000_000, "swe_manager"),
    }  # fmt: skip
    assert len(listed.rejected) == 1
