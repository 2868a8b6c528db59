"""Every cell of the rule, and how a comparison finds its cell."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from parsimony import ab
from parsimony.ab.recommendation import weigh
from parsimony.records import Cost, Recommendation, Significance

KEEP, REJECT, PARE = Recommendation.KEEP, Recommendation.REJECT, Recommendation.PARE_BACK
E, P = ab.Effect, ab.Price

TABLE = {
    E.BETTER: {P.CHEAPER: KEEP, P.DEFENSIBLE: KEEP, P.EXCESSIVE: PARE, P.UNKNOWN: PARE},
    E.WORSE: {P.CHEAPER: REJECT, P.DEFENSIBLE: REJECT, P.EXCESSIVE: REJECT, P.UNKNOWN: REJECT},
    E.EQUAL: {P.CHEAPER: KEEP, P.DEFENSIBLE: REJECT, P.EXCESSIVE: REJECT, P.UNKNOWN: REJECT},
    E.ONE_SEED: {P.CHEAPER: PARE, P.DEFENSIBLE: PARE, P.EXCESSIVE: PARE, P.UNKNOWN: PARE},
    E.UNDETERMINED: {P.CHEAPER: PARE, P.DEFENSIBLE: PARE, P.EXCESSIVE: PARE, P.UNKNOWN: PARE},
}
NOTHING = ab.ArmCost(Cost(tokens=0, calls=0, cpu=0, wall_time=0, dollars=0), {}, {})
READ = {  # significance, delta, seeds that give an effect
    E.BETTER: (Significance.YES, 0.1, 5),
    E.WORSE: (Significance.YES, -0.1, 5),
    E.EQUAL: (Significance.NO, 0.001, 5),
    E.ONE_SEED: (Significance.NO, 0.1, 1),
    E.UNDETERMINED: (Significance.UNDETERMINED, 0.1, 5),
}


def costs(
    ratio: float, interval: tuple[float, float], incremental: float | None, before: float = 1.0
) -> ab.CostComparison:
    return ab.CostComparison(
        (NOTHING, NOTHING), ab.Unit.DOLLARS, (1.0, ratio), ratio, interval, 10, (before, ratio), incremental
    )


PRICES = {
    P.CHEAPER: costs(0.5, (0.4, 0.6), -1.0),
    P.DEFENSIBLE: costs(1.1, (0.9, 1.3), 9.9),
    P.EXCESSIVE: costs(2.0, (1.8, 2.2), 10.1),
    P.UNKNOWN: ab.CostComparison((NOTHING, NOTHING), None),
}


def test_the_table_is_the_one_of_the_documentation() -> None:
    assert {cell: value for cell, (value, _) in ab.RULE.items()} == {
        (effect, price): value for effect, row in TABLE.items() for price, value in row.items()
    }


def test_the_table_is_printed_in_the_documentation() -> None:
    names = {
        "significantly better": E.BETTER,
        "significantly worse": E.WORSE,
        "measurably equal (`no`, two seeds or more)": E.EQUAL,
        "one seed": E.ONE_SEED,
        "undetermined": E.UNDETERMINED,
    }
    text = (Path(__file__).parents[3] / "docs" / "comparisons.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.count("|") == 6]
    (header,) = [row for row in rows if row[1:] == [price.value for price in P]]
    assert header[0] == ""
    printed = {names[row[0]]: dict(zip(P, row[1:], strict=True)) for row in rows if row[0] in names}
    assert printed == {effect: {price: value.value for price, value in row.items()} for effect, row in TABLE.items()}


@pytest.mark.parametrize(("effect", "price"), list(itertools.product(E, P)))
def test_every_cell(effect: ab.Effect, price: ab.Price) -> None:
    significant, delta, seeds = READ[effect]
    advice = ab.advise(significant, delta, seeds, PRICES[price], ab.Bound())
    assert (advice.effect, advice.price) == (effect, price)
    assert advice.recommendation is TABLE[effect][price]
    assert advice.because


@pytest.mark.parametrize(
    ("bound", "incremental", "expected"),
    [
        (ab.Bound(10), 10.0, P.DEFENSIBLE),
        (ab.Bound(10), 10.01, P.EXCESSIVE),
        (ab.Bound(1, amount=20), 15.0, P.DEFENSIBLE),
        (ab.Bound(100, amount=10), 15.0, P.EXCESSIVE),
    ],
)
def test_the_bound(bound: ab.Bound, incremental: float, expected: ab.Price) -> None:
    assert weigh(costs(1.2, (1.1, 1.3), incremental), bound, 0.1) is expected


def test_a_baseline_that_resolves_nothing_bounds_nothing() -> None:
    assert weigh(costs(3.0, (2.0, 4.0), 99.0, before=math.inf), ab.Bound(), 0.1) is P.DEFENSIBLE


def test_an_effect_of_exactly_nothing_is_no_gain() -> None:
    assert ab.advise(Significance.YES, 0.0, 5, PRICES[P.CHEAPER], ab.Bound()).effect is E.UNDETERMINED
