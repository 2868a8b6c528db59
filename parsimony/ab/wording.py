"""A comparison in words and as plain data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from parsimony.ab.comparison import Comparison
from parsimony.ab.costs import Unit
from parsimony.ab.recommendation import Effect
from parsimony.records import Recommendation

_DO = {
    Recommendation.KEEP: "Keep",
    Recommendation.REJECT: "Reject",
    Recommendation.PARE_BACK: "Pare back",
}


def points(value: float, *, sign: bool = True) -> str:
    """A difference of rates in percentage points: `+3.2`."""
    shown = f"{100 * value:+.1f}" if sign else f"{100 * value:.1f}"
    return shown.replace("-", "−")


def rate(bounds: tuple[float, float]) -> str:
    """`41.7 %`, or both bounds: `40.0–43.3 %`."""
    low, high = (100 * end for end in bounds)
    return f"{low:.1f} %" if low == high else f"{low:.1f}–{high:.1f} %"


def number(value: float, unit: str) -> str:
    """An amount without its unit, as short as it can be."""
    if unit == Unit.DOLLARS:
        return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"
    return f"{value:,.0f}" if value >= 100 or unit == Unit.TOKENS else f"{value:.2f}"


def amount(value: float | None, unit: Unit | str) -> str:
    """An amount with its unit: `$1.23`, `12,345 tokens`, `3.4 CPU seconds`."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    return number(value, unit) if unit == Unit.DOLLARS else f"{number(value, unit)} {unit}"


def p_text(p_value: float) -> str:
    """`p = 0.034`, `p < 0.0001`."""
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}" if p_value < 0.01 else f"p = {p_value:.3f}"


def headline(one: Comparison) -> str:
    """The verdict in one sentence: what to do, what was seen, how sure that is, at what cost."""
    return f"{_DO[one.record.result.recommendation]}: {one.advice.because}."


def finding(one: Comparison) -> str:
    """What was seen, in numbers."""
    names = [arm.label for arm in one.arms]
    low, high = one.delta_bounds
    if one.complete:
        rates = [f"{100 * arm.mean:.1f} %" for arm in one.arms]
        seen = f"{points(low)} points ({names[1]} {rates[1]}, {names[0]} {rates[0]})"
    else:
        seen = f"between {points(low)} and {points(high)} points, as {sum(one.missing)} verdicts are missing"
    if one.interval is not None:
        ends = " to ".join(points(end) for end in one.interval)
        seen += f", {100 * one.level:.4g} % interval {ends}"
    return f"{seen}, {p_text(one.p_value)}."


def significance(one: Comparison) -> str:
    """Why the verdict on significance is what it is."""
    effect, need = one.advice.effect, f"{one.options.smallest_effect:.1%}".replace("%", " points")
    if effect is Effect.ONE_SEED:
        return "Significant: no. One seed per arm says nothing about the variance; run two or more."
    if one.decided_by_missing:
        return "Significant: undetermined. The missing verdicts could change it; grade them first."
    if effect in {Effect.BETTER, Effect.WORSE}:
        return f"Significant: yes. The p-value is under {one.alpha:.3g}."
    if effect is Effect.EQUAL:
        return f"Significant: no. The interval excludes a difference of {need} either way."
    told = f"Significant: undetermined. Neither is p under {one.alpha:.3g}, nor does the interval exclude {need}."
    moving, name = min(one.low.moving, one.high.moving), one.clusters.name
    if moving > 0 and 2.0 ** (1 - moving) >= one.alpha:
        some = f"{moving} of {one.clusters.number} {plural(name, one.clusters.number)}"
        told += f" Only {some} differ, and fewer than {_fewest(one.alpha)} cannot reach it whatever they show:"
        told += " it takes more tasks, not more seeds."
    return told


def these_tasks(one: Comparison) -> str | None:
    """What the other tests say, with what they take for granted; None where there is none."""
    if one.tests is None:
        return None
    if one.tests.mcnemar is not None:
        lost, won, p_value = one.tests.mcnemar
        return f"McNemar's exact test on this seed: {won} won, {lost} lost, {p_text(p_value)}."
    seeds = one.tests.seeds
    if seeds is None or seeds.p_value is None:
        return None
    return f"On these tasks alone, over seeds (Welch's t): {p_text(seeds.p_value)}. It says nothing of other tasks."


def _fewest(alpha: float) -> int:
    """How many clusters must differ for a p-value under `alpha`."""
    return math.floor(1 - math.log2(alpha)) + 1


def plural(name: str, number: int) -> str:
    """`task`, `tasks`, `repositories`."""
    return name if number == 1 else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def cost(one: Comparison) -> str:
    """What the difference costs."""
    costs = one.costs
    if costs.unit is None or costs.means is None or costs.per_resolved is None:
        return "Cost: not known of every candidate in any one unit, so it cannot be weighed."
    told = f"Cost: {amount(costs.means[0], costs.unit)} a candidate before, {amount(costs.means[1], costs.unit)} after"
    if costs.ratio is not None:
        told += f", × {costs.ratio:.2f}"
    if costs.interval is not None:
        told += f" ({100 * one.level:.4g} % interval {costs.interval[0]:.2f} to {costs.interval[1]:.2f})"
    before, after = (amount(value, costs.unit) for value in costs.per_resolved)
    told += f"; per resolved {before} before, {after} after"
    if costs.incremental is not None and costs.incremental > 0:
        told += f"; each additional resolved one {amount(costs.incremental, costs.unit)}"
    return f"{told}."


def basis(one: Comparison) -> str:
    """What the p-value is of."""
    tasks, seeds = len(one.tasks), len(one.record.seeds)
    how = f"{tasks} {plural('task', tasks)} × {seeds} {plural('seed', seeds)}, paired by task"
    if one.clusters.name != "task":
        how += f", clustered by {one.clusters.number} repositories"
    counted = "counted exactly" if one.low.exact and one.high.exact else "drawn 100,000 times"
    look = one.options.look
    looks = f"; look {look.number} of {look.of}, {look.spending} spending" if look.of > 1 else ""
    return f"Basis: {how}; p of the permutation of arms, {counted}{looks}."


def outlook(one: Comparison) -> str:
    """What this comparison could see, and what it would take to see the smallest effect of interest."""
    power, seeds = one.power, len(one.record.seeds)
    if power.detectable is None:
        return "Nothing is known of the variance, so nothing of what could be detected."
    seen = f"With {100 * power.power:.0f} % power it finds {points(power.detectable, sign=False)} points"
    target = f"{points(power.target, sign=False)} points"
    if not power.tellable:
        what = "the missing verdicts" if not one.complete else "a second seed"
        return f"{seen}; how many seeds {target} take can be told with {what}."
    if power.seeds is None:
        return f"{seen}; no number of seeds finds {target} on these {len(one.tasks)} tasks: that takes more tasks."
    if power.seeds <= seeds:
        return f"{seen}; {seeds} seeds are enough for {target}."
    return f"{seen}; {target} take {power.seeds} seeds per arm, {power.seeds - seeds} more than there are."


def details(one: Comparison) -> dict[str, Any]:
    """Everything beside the record, as JSON values."""
    left_out = {"record", "options"}
    plain = {f.name: _plain(getattr(one, f.name)) for f in dataclasses.fields(one) if f.name not in left_out}
    words = {"headline": headline(one), "finding": finding(one), "significance": significance(one)}
    return {
        **words,
        "outlook": outlook(one),
        "these_tasks": these_tasks(one),
        "cost_in_words": cost(one),
        "basis": basis(one),
        "delta_bounds": list(one.delta_bounds),
        "interval": _plain(one.interval),
        "options": _plain(one.options),
        **plain,
    }


def _plain(value: Any) -> Any:
    """Dataclasses, tuples, enums and infinities as JSON has them (an infinity is null)."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
