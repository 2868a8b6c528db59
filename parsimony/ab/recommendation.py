"""Keep, reject or pare back: a closed rule over significance, direction and cost (docs/comparisons.md: the table)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from parsimony.ab.costs import CostComparison
from parsimony.records import Recommendation, Significance

COST_BOUND: Final = 10.0
"""What an additional resolved task may cost, in multiples of what a resolved task costs the baseline."""


class Price(StrEnum):
    """What the difference costs."""

    CHEAPER = "cheaper"  # the whole interval of the cost ratio is below 1
    DEFENSIBLE = "defensible"  # not measurably cheaper, and within the bound
    EXCESSIVE = "excessive"  # beyond the bound
    UNKNOWN = "unknown"  # no unit is known of every candidate of both arms


class Effect(StrEnum):
    """What the difference is."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"  # two seeds or more, and the interval excludes the smallest effect of interest
    ONE_SEED = "one seed"  # nothing has been established
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Bound:
    """How much an additional resolved task may cost.

    Attributes:
        factor: in multiples of the baseline's cost per resolved task.
        amount: in the unit that cost is weighed in; where given, `factor` does not count.
    """

    factor: float = COST_BOUND
    amount: float | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommendation and what it follows from; `because` is a clause for people."""

    recommendation: Recommendation
    effect: Effect
    price: Price
    because: str


RULE: Final[dict[tuple[Effect, Price], tuple[Recommendation, str]]] = {
    (Effect.BETTER, Price.CHEAPER): (Recommendation.KEEP, "it resolves more and costs less"),
    (Effect.BETTER, Price.DEFENSIBLE): (Recommendation.KEEP, "it resolves more, at a defensible cost"),
    (Effect.BETTER, Price.EXCESSIVE): (
        Recommendation.PARE_BACK,
        "it resolves more, but each additional task costs more than the bound allows",
    ),
    (Effect.BETTER, Price.UNKNOWN): (
        Recommendation.PARE_BACK,
        "it resolves more, but nobody knows at what cost",
    ),
    (Effect.WORSE, Price.CHEAPER): (Recommendation.REJECT, "it resolves fewer; that it is cheaper is no gain"),
    (Effect.WORSE, Price.DEFENSIBLE): (Recommendation.REJECT, "it resolves fewer"),
    (Effect.WORSE, Price.EXCESSIVE): (Recommendation.REJECT, "it resolves fewer and costs more"),
    (Effect.WORSE, Price.UNKNOWN): (Recommendation.REJECT, "it resolves fewer"),
    (Effect.EQUAL, Price.CHEAPER): (Recommendation.KEEP, "it resolves as many and costs less"),
    (Effect.EQUAL, Price.DEFENSIBLE): (Recommendation.REJECT, "it measurably fails to move the rate"),
    (Effect.EQUAL, Price.EXCESSIVE): (Recommendation.REJECT, "it fails to move the rate and costs more"),
    (Effect.EQUAL, Price.UNKNOWN): (Recommendation.REJECT, "it measurably fails to move the rate"),
    **{(Effect.ONE_SEED, price): (Recommendation.PARE_BACK, "one seed per arm establishes nothing") for price in Price},
    **{
        (Effect.UNDETERMINED, price): (Recommendation.PARE_BACK, "it cannot be told from the baseline yet")
        for price in Price
    },
}
"""Every cell of the rule: what it recommends, and why."""


def advise(significant: Significance, delta: float, seeds: int, costs: CostComparison, bound: Bound) -> Advice:
    """The recommendation."""
    effect, price = _effect(significant, delta, seeds), weigh(costs, bound, delta)
    recommendation, because = RULE[effect, price]
    return Advice(recommendation, effect, price, because)


def _effect(significant: Significance, delta: float, seeds: int) -> Effect:
    if seeds < 2:
        return Effect.ONE_SEED
    if significant is Significance.NO:
        return Effect.EQUAL
    if significant is Significance.UNDETERMINED or delta == 0:
        return Effect.UNDETERMINED
    return Effect.BETTER if delta > 0 else Effect.WORSE


def weigh(costs: CostComparison, bound: Bound, delta: float) -> Price:
    """What the difference costs.

    Where more is resolved, the bound is on the cost of each additional resolved candidate. Where it is not, there is
    nothing to set against a higher cost: a ratio that is measurably above 1 is excessive.
    """
    if costs.unit is None or costs.ratio is None or costs.per_resolved is None:
        return Price.UNKNOWN
    if costs.interval is not None and costs.interval[1] < 1:
        return Price.CHEAPER
    if delta <= 0 or costs.incremental is None:
        return Price.EXCESSIVE if costs.interval is not None and costs.interval[0] > 1 else Price.DEFENSIBLE
    allowed = bound.amount if bound.amount is not None else bound.factor * costs.per_resolved[0]
    return Price.DEFENSIBLE if costs.incremental <= allowed or math.isinf(allowed) else Price.EXCESSIVE
