"""Prices, sums, ratios and rankings: exact, and unknown is never zero."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.pricefile import read_prices
from parsimony.cost_ledger import (
    ArmCost,
    ComputePrice,
    ModelPrice,
    PriceTable,
    Total,
    by_arm,
    convex_frontier,
    dominates,
    frontier,
    price,
    price_compute,
    rank,
)
from parsimony.errors import InputError
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome

DAY = date(2026, 6, 1)
CHEAP = ModelPrice(
    "m", Fraction("0.25"), Fraction("0.025"), Fraction(2), date(2026, 1, 1), aliases=("m-latest",), file="p.yaml"
)
TABLE = PriceTable((CHEAP,), (ComputePrice(Fraction("0.036"), date(2026, 1, 1)),), ("p.yaml",))
EXAMPLE = Path(__file__).parents[3] / "configs" / "prices" / "example.yaml"


def test_told_dollars_count_as_told() -> None:
    assert price(Spend(input_tokens=10**9, micro_dollars=7, model="unknown"), TABLE, DAY) == 7


def test_tokens_are_priced_exactly() -> None:
    """A million of each: a quarter, a fortieth and two dollars."""
    spend = Spend(input_tokens=10**6, cached_tokens=10**6, output_tokens=10**6, model="m-latest")
    assert price(spend, TABLE, DAY) == 2_275_000


@pytest.mark.parametrize(("tokens", "micro"), [(2, 0), (6, 2), (10, 2), (14, 4)])
def test_halves_are_rounded_to_even(tokens: int, micro: int) -> None:
    assert price(Spend(input_tokens=tokens, model="m"), TABLE, DAY) == micro


@given(st.lists(st.integers(0, 10**7), min_size=3, max_size=3))
def test_no_cent_is_lost_to_floats(tokens: list[int]) -> None:
    fresh, cached, output = tokens
    exact = Fraction(fresh, 4) + Fraction(cached, 40) + 2 * output
    spend = Spend(input_tokens=fresh, cached_tokens=cached, output_tokens=output, model="m")
    assert abs(price(spend, TABLE, DAY) - exact) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("spend", "day", "words"),
    [
        (Spend(input_tokens=1, model="other"), DAY, "no price of the model 'other' on 2026-06-01"),
        (Spend(input_tokens=1, model="m"), date(2025, 12, 31), "known from 2026-01-01 to now"),
        (Spend(input_tokens=1), DAY, "neither dollars nor a model"),
    ],
)
def test_what_has_no_price_is_an_error(spend: Spend, day: date, words: str) -> None:
    with pytest.raises(InputError, match=words):
        price(spend, TABLE, day)


def test_computing_without_a_price_is_unknown() -> None:
    assert price_compute(Spend(cpu_seconds=100.0), TABLE, DAY) == 1000
    assert price_compute(Spend(cpu_seconds=100.0), PriceTable(), DAY) is None


def test_prices_of_one_day_must_not_contradict() -> None:
    later = replace(CHEAP, valid_from=date(2026, 3, 1))
    with pytest.raises(InputError, match="two prices on 2026-03-01"):
        PriceTable((CHEAP, later))
    ended = replace(CHEAP, valid_until=date(2026, 2, 28))
    assert PriceTable((ended, later)).model("m", date(2026, 2, 28)) is ended
    assert PriceTable((ended, later)).model("m", date(2026, 3, 1)) is later


def test_the_shipped_file_prices_the_examples() -> None:
    assert read_prices([EXAMPLE]).model("example-small", DAY).output == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("input: 0.25", "input: -1", "input"),
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


def trial(arm: str, task: int, solved: bool, *, dollars: int | None = 10, repeat: int = 0) -> Trial:
    outcome = Outcome.RESOLVED if solved else Outcome.NOT_RESOLVED
    return Trial(f"t-{task}", arm, 1, repeat, outcome, "sha256:1", llm=Spend(1, 2, 3, 4, 5.0, 60.0, dollars, "m"),
                 compute=Spend(cpu_seconds=50.0, wall_seconds=9.0))  # fmt: skip


def run_of(*trials: Trial) -> Run:
    return Run("r", "n", "s", {}, {one.arm: Settings() for one in trials}, trials)


def test_costs_of_an_arm() -> None:
    """Producing counts once per candidate, grading once per repeat."""
    (arm,) = by_arm(run_of(trial("x", 1, True), trial("x", 1, True, repeat=1), trial("x", 2, False)), TABLE, DAY)
    assert (arm.candidates, arm.resolved, arm.llm.rows, arm.compute.rows) == (2, 1, 2, 3)
    assert (arm.llm.tokens, arm.llm.calls, arm.llm.micro_dollars, arm.compute.micro_dollars) == (12, 8, 20, 1500)
    assert arm.dollars == pytest.approx(0.00152)
    assert arm.ratios() == {
        "resolved_per_dollar": pytest.approx(1 / 0.00152), "resolved_per_million_tokens": pytest.approx(1e6 / 12),
        "resolved_per_wall_hour": pytest.approx(30.0), "resolved_per_cpu_second": pytest.approx(1 / 160),
        "dollars_per_resolved": pytest.approx(0.00152),
    }  # fmt: skip


def test_an_unknown_part_makes_the_whole_unknown() -> None:
    silent = replace(trial("x", 1, True), llm=None)
    (arm,) = by_arm(run_of(silent, trial("x", 2, True)), TABLE, DAY)
    assert (arm.unpriced, arm.dollars, arm.ratios()["resolved_per_dollar"]) == (1, None, None)
    (bare,) = by_arm(run_of(trial("x", 1, True)), PriceTable(), DAY)
    assert bare.dollars is None


def test_a_candidate_without_a_price_is_named() -> None:
    with pytest.raises(InputError, match="t-2, arm x, seed 1: no price of the model 'm'"):
        by_arm(run_of(trial("x", 1, True), trial("x", 2, True, dollars=None)), PriceTable(), DAY)


def arm(name: str, resolved: int, dollars: float | None) -> ArmCost:
    total = Total(rows=1, micro_dollars=round((dollars or 0) * 1e6))
    return ArmCost(name, 100, resolved, total, Total(), int(dollars is None))


def test_equal_rates_at_ten_times_the_cost_are_not_equal() -> None:
    ranked = rank([arm("dear", 40, 400.0), arm("cheap", 40, 40.0), arm("twin", 40, 40.0), arm("dark", 40, None)])
    assert [(one.cost.arm, one.rank) for one in ranked] == [("cheap", 1), ("twin", 1), ("dear", 3), ("dark", 4)]
    assert [one.dominated_by for one in ranked] == ["", "", "cheap", ""]


def test_the_frontier_and_its_convex_part() -> None:
    """B is worth its price beside A and D; C lies under the line from B to D."""
    arms = [arm("A", 10, 10.0), arm("B", 40, 20.0), arm("C", 45, 40.0), arm("D", 60, 50.0), arm("E", 30, 45.0)]
    assert [one.arm for one in frontier(arms)] == ["A", "B", "C", "D"]
    assert [one.arm for one in convex_frontier(arms)] == ["A", "B", "D"]
    assert convex_frontier([]) == []


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 50)), min_size=1, max_size=12))
def test_no_arm_of_the_frontier_is_dominated_and_every_other_is(points: list[tuple[int, int]]) -> None:
    arms = [arm(f"a{n}", resolved, float(dollars)) for n, (resolved, dollars) in enumerate(points)]
    edge = {one.arm for one in frontier(arms)}
    for one in arms:
        assert (one.arm in edge) == (not any(dominates(other, one) for other in arms))
    assert {one.arm for one in convex_frontier(arms)} <= edge
