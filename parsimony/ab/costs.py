"""What the arms cost: sums for the record, distributions, and the paired ratio with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Final

from parsimony.ab.cells import CellCost, Grid, Key
from parsimony.records import Cost
from parsimony.statistics import Interval, paired_difference, quantile


class Unit(StrEnum):
    """What cost is weighed in, the telling first."""

    DOLLARS = "dollars"
    TOKENS = "tokens"
    CPU = "CPU seconds"


@dataclass(frozen=True, slots=True)
class Distribution:
    """What candidates of one arm cost in one unit."""

    n: int
    median: float
    p90: float
    largest: float
    total: float


@dataclass(frozen=True, slots=True)
class ArmCost:
    """What one arm cost.

    Attributes:
        record: sums over all its candidates; 0 where nobody told.
        not_told: units that are not known of every candidate, with how many candidates lack them.
        distributions: per measure: dollars, tokens, CPU seconds, wall seconds; of the candidates that told.
    """

    record: Cost
    not_told: Mapping[str, int]
    distributions: Mapping[str, Distribution]


@dataclass(frozen=True, slots=True)
class CostComparison:
    """The arms' costs beside each other.

    Attributes:
        unit: what they are weighed in; None where nothing is known of both.
        means: per candidate, of the pairs in which both tell.
        ratio: candidate over baseline; None where the baseline cost nothing or nothing is known.
        interval: of the ratio; None with fewer than two clusters.
        pairs: how many candidates of each arm it rests on.
        per_resolved: (baseline, candidate): total over resolved; infinite without any.
        incremental: what each additional resolved candidate cost more; None unless more were resolved.
    """

    arms: tuple[ArmCost, ArmCost]
    unit: Unit | None
    means: tuple[float, float] | None = None
    ratio: float | None = None
    interval: Interval | None = None
    pairs: int = 0
    per_resolved: tuple[float, float] | None = None
    incremental: float | None = None


_MEASURES: Final[Mapping[str, Callable[[CellCost], float | None]]] = {
    "dollars": lambda cost: cost.dollars,
    "tokens": lambda cost: cost.tokens,
    "CPU seconds": lambda cost: cost.cpu,
    "wall seconds": lambda cost: cost.wall,
}


def compare_costs(baseline: Grid, candidate: Grid, clusters: Sequence[Hashable], level: float) -> CostComparison:
    """Weigh the arms in dollars where all candidates tell them, else in tokens, else in CPU seconds.

    Args:
        clusters: one per task.
    """
    costs = [grid.costs for grid in (baseline, candidate)]
    arms = (_arm_cost(costs[0]), _arm_cost(costs[1]))
    unit = next((unit for unit in Unit if _known(unit, costs)), None)
    if unit is None:
        return CostComparison(arms, None)
    of = _MEASURES[unit]
    pairs = [key for key in costs[0] if key in costs[1]]
    a, b = ([of(side[key]) or 0.0 for key in pairs] for side in costs)
    spent, now = math.fsum(a), math.fsum(b)
    ratio = now / spent if spent else None
    resolved = [sum(grid.cells[key].verdict is True for key in pairs) for grid in (baseline, candidate)]
    more = resolved[1] - resolved[0]
    return CostComparison(
        arms,
        unit,
        (spent / len(pairs), now / len(pairs)),
        ratio,
        _ratio_interval(pairs, a, b, dict(zip(baseline.tasks, clusters, strict=True)), level) if ratio else None,
        len(pairs),
        (_over(spent, resolved[0]), _over(now, resolved[1])),
        (now - spent) / more if more > 0 else None,
    )


def _known(unit: Unit, costs: Sequence[Mapping[Key, CellCost]]) -> bool:
    values = [[_MEASURES[unit](cost) for cost in side.values()] for side in costs]
    everywhere = all(value is not None for side in values for value in side)
    return everywhere and any(values[0]) and any(values[1]) and any(key in costs[1] for key in costs[0])


def _over(spent: float, resolved: int) -> float:
    return spent / resolved if resolved else math.inf


def _ratio_interval(
    pairs: Sequence[Key], a: Sequence[float], b: Sequence[float], clusters: Mapping[str, Hashable], level: float
) -> Interval | None:
    """Interval of a ratio of means by linearization (Cochran 1977, section 6.3), on the logarithmic scale so that it
    stays above 0; the residuals as every paired difference here, clustered."""
    ratio = math.fsum(b) / math.fsum(a)
    groups = [clusters[task] for task, _ in pairs]
    # Their mean is 0: what is wanted is how sure that is.
    residuals = paired_difference([ratio * before for before in a], b, groups, level=level)
    if residuals is None or residuals.interval is None:
        return None
    half = (residuals.interval[1] - residuals.mean) / fmean(b)
    return ratio * math.exp(-half), ratio * math.exp(half)


def _arm_cost(costs: Mapping[Key, CellCost]) -> ArmCost:
    found = list(costs.values())
    told = {name: [value for cost in found if (value := of(cost)) is not None] for name, of in _MEASURES.items()}
    record = Cost(
        tokens=sum(cost.tokens or 0 for cost in found),
        calls=sum(cost.calls or 0 for cost in found),
        cpu=math.fsum(cost.cpu for cost in found),
        wall_time=math.fsum(cost.wall for cost in found),
        dollars=math.fsum(cost.dollars or 0.0 for cost in found),
    )
    lacking = {name: len(found) - len(values) for name, values in told.items() if len(values) < len(found)}
    return ArmCost(record, lacking, {name: _distribution(values) for name, values in told.items() if any(values)})


def _distribution(values: Sequence[float]) -> Distribution:
    median, p90 = quantile(values, 0.5), quantile(values, 0.9)
    assert median is not None
    assert p90 is not None
    return Distribution(len(values), median, p90, max(values), math.fsum(values))
