"""The decay curve: how often tasks of each month are resolved, and whether that drops at a model's cutoff.

A model that has seen old tasks does better on them than on new ones. The reverse does not follow: tasks of other months
can be harder, and a small set shows nothing. So the drop comes with its interval and its test, never alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from parsimony.contamination.cutoffs import Cutoff
from parsimony.contamination.dates import Moment
from parsimony.contamination.twosample import difference_interval, mean_interval, permutation_test
from parsimony.errors import InputError
from parsimony.runs import Run

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Side:
    """Tasks of one side of the cutoff, or of a month. `rate`: mean over tasks of the share of their trials resolved."""

    tasks: int
    trials: int
    resolved: int
    missing: int
    rate: float | None
    wilson: Interval | None


@dataclass(frozen=True, slots=True)
class Month:
    """A month of the curve. `after`: how many of its tasks are after the cutoff (a month may have both)."""

    month: str
    side: Side
    after: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Rate after less rate before. `exact`: the p-value counts the whole distribution."""

    value: float
    interval: Interval
    p_value: float
    exact: bool


@dataclass(frozen=True, slots=True)
class ArmDecay:
    """The curve of an arm. `difference` is None where a side has no task with a verdict."""

    arm: str
    months: tuple[Month, ...]
    before: Side
    after: Side
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Decay:
    """The curves of a run.

    Attributes:
        cutoff: as told.
        undated: tasks without a readable `created_at`; they are on neither side.
    """

    cutoff: Cutoff
    arms: tuple[ArmDecay, ...]
    undated: tuple[str, ...]


@dataclass(slots=True)
class _Tally:
    """Trials of one task."""

    resolved: int = 0
    graded: int = 0
    missing: int = 0


def decay(run: Run, cutoff: Cutoff, arms: Iterable[str] | None = None) -> Decay:
    """The decay curves of a run. A task is after the cutoff as the gate says; every other dated one is before it.

    Raises:
        InputError: the run has no such arm.
    """
    chosen = tuple(arms) if arms is not None else run.arms
    for arm in chosen:
        if arm not in run.arms:
            raise InputError(f"has no arm {arm!r}", mend=f"its arms: {', '.join(run.arms)}", file=run.source)
    dates, undated = _dates(run)
    after = {name for name, moment in dates.items() if moment.surely_after(cutoff.moment)}
    return Decay(cutoff, tuple(_arm(run, arm, dates, after) for arm in chosen), undated)


def _dates(run: Run) -> tuple[dict[str, Moment], tuple[str, ...]]:
    dates, undated = {}, []
    for name, task in run.tasks.items():
        try:
            dates[name] = Moment.parse(task.created_at, field="created_at")
        except InputError:
            undated.append(name)
    return dates, tuple(undated)


def _arm(run: Run, arm: str, dates: Mapping[str, Moment], after: set[str]) -> ArmDecay:
    tallies: dict[str, _Tally] = {}
    for trial in run.of(arm):
        if trial.task_id in dates:
            tally = tallies.setdefault(trial.task_id, _Tally())
            tally.missing += trial.resolved is None
            tally.graded += trial.resolved is not None
            tally.resolved += trial.resolved is True
    by_month: dict[str, dict[str, _Tally]] = {}
    for name, tally in tallies.items():
        by_month.setdefault(dates[name].month, {})[name] = tally
    old = {name: tally for name, tally in tallies.items() if name not in after}
    new = {name: tally for name, tally in tallies.items() if name in after}
    months = (Month(month, _side(by_month[month]), len(by_month[month].keys() & after)) for month in sorted(by_month))
    return ArmDecay(arm, tuple(months), _side(old), _side(new), _difference(old, new))


def _rates(tallies: Mapping[str, _Tally]) -> list[Fraction]:
    return [Fraction(tally.resolved, tally.graded) for tally in tallies.values() if tally.graded]


def _side(tallies: Mapping[str, _Tally]) -> Side:
    rates = _rates(tallies)
    rate = float(sum(rates) / len(rates)) if rates else None
    counts = Counter[str]()
    for tally in tallies.values():
        counts.update(trials=tally.graded, resolved=tally.resolved, missing=tally.missing)
    interval = mean_interval(rate, len(rates)) if rate is not None else None
    return Side(len(rates), counts["trials"], counts["resolved"], counts["missing"], rate, interval)


def _difference(old: Mapping[str, _Tally], new: Mapping[str, _Tally]) -> Difference | None:
    before, after = _rates(old), _rates(new)
    test = permutation_test(before, after)
    if test is None:
        return None
    first, second = float(sum(before) / len(before)), float(sum(after) / len(after))
    interval = difference_interval(first, len(before), second, len(after))
    assert interval is not None
    return Difference(second - first, interval, test.p_value, test.exact)
