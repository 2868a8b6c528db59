"""Prices: exact, dated, and unknown is never zero."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.pricefile import read_prices
from parsimony.cost_ledger import ComputePrice, ModelPrice, PriceTable, price, price_compute
from parsimony.errors import InputError
from parsimony.runs import Spend

DAY = date(2026, 6, 1)
CHEAP = ModelPrice(
    "m", Fraction("0.25"), Fraction("0.025"), Fraction(2), date(2026, 1, 1), aliases=("m-latest",), file="p.yaml"
)
HOUR = ComputePrice(Fraction("0.036"), date(2026, 1, 1), file="p.yaml")
TABLE = PriceTable((CHEAP,), (HOUR,), ("p.yaml",))
EXAMPLE = Path(__file__).parents[3] / "configs" / "prices" / "example.yaml"


def test_told_dollars_count_as_told() -> None:
    assert price(Spend(input_tokens=10**9, micro_dollars=7, model="unknown"), TABLE, DAY) == 7
    assert price_compute(Spend(cpu_seconds=1e9, micro_dollars=7), TABLE, DAY) == 7


def test_tokens_are_priced_exactly() -> None:
    """A million of each: a quarter, a fortieth and two dollars."""
    spend = Spend(input_tokens=10**6, cached_tokens=10**6, output_tokens=10**6, model="m-latest")
    assert price(spend, TABLE, DAY) == 2_275_000


@pytest.mark.parametrize(("tokens", "micro"), [(2, 0), (6, 2), (10, 2), (14, 4)])
def test_halves_are_rounded_to_even(tokens: int, micro: int) -> None:
    assert price(Spend(input_tokens=tokens, model="m"), TABLE, DAY) == micro


@given(st.lists(st.integers(0, 10**7), min_size=3, max_size=3).filter(any))
def test_no_cent_is_lost_to_floats(tokens: list[int]) -> None:
    fresh, cached, output = tokens
    exact = Fraction(fresh, 4) + Fraction(cached, 40) + 2 * output
    spend = Spend(input_tokens=fresh, cached_tokens=cached, output_tokens=output, model="m")
    assert abs(price(spend, TABLE, DAY) - exact) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("spend", "day", "words"),
    [
        (
            Spend(input_tokens=1, model="other"),
            DAY,
            r"no price of the model 'other' on 2026-06-01.* to p\.yaml",
        ),
        (Spend(input_tokens=1, model="m"), date(2025, 12, 31), "there is one from 2026-01-01 to now"),
        (Spend(input_tokens=1), DAY, "neither dollars nor a model"),
        (Spend(model="m", calls=3), DAY, "neither dollars nor tokens"),
    ],
)
def test_what_has_no_price_is_an_error(spend: Spend, day: date, words: str) -> None:
    with pytest.raises(InputError, match=words):
        price(spend, TABLE, day)


def test_without_any_file_the_error_says_which_to_write() -> None:
    with pytest.raises(InputError, match=r"write a file like configs/prices/example\.yaml"):
        price(Spend(input_tokens=1, model="m"), PriceTable(), DAY)


def test_computing_without_a_price_is_unknown() -> None:
    assert price_compute(Spend(cpu_seconds=100.0), TABLE, DAY) == 1000
    assert price_compute(Spend(cpu_seconds=100.0), PriceTable(), DAY) is None
    with pytest.raises(InputError, match="no price of computing on 2025-12-31"):
        price_compute(Spend(cpu_seconds=100.0), TABLE, date(2025, 12, 31))


def test_memory_has_a_price_of_its_own() -> None:
    """Half a GiB for 7,200 s at a dollar, and an hour of a processor at 36 thousandths."""
    table = PriceTable(compute=(replace(HOUR, gib_hour=Fraction(1)),))
    spend = Spend(cpu_seconds=3600.0, wall_seconds=7200.0, peak_memory_bytes=1 << 29)
    assert price_compute(spend, table, DAY) == 1_036_000
    assert price_compute(replace(spend, peak_memory_bytes=None), table, DAY) is None


def test_prices_of_one_day_must_not_contradict() -> None:
    later = replace(CHEAP, valid_from=date(2026, 3, 1))
    with pytest.raises(InputError, match="two prices on 2026-03-01"):
        PriceTable((CHEAP, later))
    with pytest.raises(InputError, match="m-latest has two prices"):
        PriceTable((CHEAP, replace(later, name="m-latest", aliases=())))
    with pytest.raises(InputError, match="compute has two prices"):
        PriceTable(compute=(HOUR, HOUR))
    with pytest.raises(InputError, match="before it begins"):
        PriceTable((replace(CHEAP, valid_until=date(2025, 1, 1)),))


def test_the_day_decides() -> None:
    ended, later = replace(CHEAP, valid_until=date(2026, 2, 28)), replace(CHEAP, valid_from=date(2026, 3, 1))
    assert PriceTable((later, ended)).model("m", date(2026, 2, 28)) is ended
    assert PriceTable((later, ended)).model("m", date(2026, 3, 1)) is later


def test_the_shipped_file_prices_the_examples() -> None:
    table = read_prices([EXAMPLE])
    assert table.model("example-small", DAY).output == 2
    assert table.processor(DAY).gib_hour == Fraction("0.005")  # type: ignore[union-attr]


def test_prices_are_taken_as_written(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(EXAMPLE.read_text().replace("cached: 0.025", "cached: 0.00001"))
    assert read_prices([path]).model("example-small", DAY).cached == Fraction(1, 100_000)


def test_several_files_are_one_table(tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(
        "version: 1\ncurrency: USD\nmodels:\n"
        "  - {name: mine, input: 1, cached: 0, output: 3, valid_from: 2026-01-01, source: our contract}\n"
    )
    table = read_prices([EXAMPLE, more])
    assert (table.model("mine", DAY).file, table.model("example-small-1", DAY).file) == (str(more), str(EXAMPLE))
    with pytest.raises(InputError, match="two prices"):
        read_prices([more, more])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("input: 0.25", "input: -1", "input"),
        ("input: 0.25", "input: .nan", "input"),
        ("input: 0.25", "input: true", "input"),
        ("input: 0.25", "inptu: 0.25", "add `input:`"),
        ("aliases: [", "alias: [", "did you mean `aliases`"),
        ("valid_from: 2026-01-01", "valid_from: soon", "valid_from"),
        ("version: 1", "version: 2", "version"),
        ("currency: USD", "currency: EUR", "currency"),
    ],
)
def test_a_price_file_of_another_form_names_the_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(EXAMPLE.read_text().replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_prices([path])
    assert words in str(caught.value)
    assert caught.value.place.row is not None
