"""Two arms of which only the resolved counts per seed are known: by seeds, on the tasks that were run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from parsimony.errors import InputError
from parsimony.records import Significance
from parsimony.statistics import Interval, mean_interval
from parsimony.statistics.summaries import student_quantile, student_two_sided


@dataclass(frozen=True, slots=True)
class CountTest:
    """A test over per-seed rates.

    Attributes:
        delta: of the mean rates, second less first.
        standard_error, interval, p_value: None with one seed in an arm: nothing is known of the variance.
        df: degrees of freedom of Student's t; infinite where no seed differs from another.
    """

    delta: float
    standard_error: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    df: float | None = None


def welch(a: Sequence[int], b: Sequence[int], tasks: int, level: float = 0.95) -> CountTest:
    """Welch's unequal-variances t-test over per-seed resolve rates (Welch 1947), second arm less first.

    It speaks of other seeds on the same tasks and takes seeds for independent; it knows nothing of other tasks.

    Args:
        a, b: resolved counts, one per seed; each 0 to `tasks`.
    """
    first, second = _rates(a, tasks), _rates(b, tasks)
    delta = statistics.fmean(second) - statistics.fmean(first)
    if len(a) < 2 or len(b) < 2:
        return CountTest(delta)
    shares = [statistics.variance(rates) / len(rates) for rates in (first, second)]
    error = math.sqrt(sum(shares))
    if error == 0:
        return CountTest(delta, 0.0, (delta, delta), float(delta == 0), math.inf)
    df = sum(shares) ** 2 / sum(s**2 / (len(x) - 1) for s, x in zip(shares, (first, second), strict=True))
    return _by_t(delta, error, df, level)


def paired_by_seed(a: Sequence[int], b: Sequence[int], tasks: int, level: float = 0.95) -> CountTest:
    """Student's paired t-test over per-seed differences: only where seed i of both arms shares what makes it a seed.

    Args:
        a, b: resolved counts in the same order of seeds.
    """
    if len(a) != len(b):
        raise InputError("holds other seeds than the baseline", mend="give both arms the same seeds", field="resolved")
    differences = [after - before for before, after in zip(_rates(a, tasks), _rates(b, tasks), strict=True)]
    found = mean_interval(differences, level)
    assert found is not None, "checked by _rates"
    if found.interval is None:
        return CountTest(found.mean)
    error = math.sqrt(found.variance / found.n)
    if error == 0:
        return CountTest(found.mean, 0.0, (found.mean, found.mean), float(found.mean == 0), math.inf)
    return _by_t(found.mean, error, found.n - 1, level)


def _by_t(delta: float, error: float, df: float, level: float) -> CountTest:
    half = student_quantile((1 + level) / 2, df) * error
    return CountTest(delta, error, (delta - half, delta + half), student_two_sided(delta / error, df), df)


def _rates(counts: Sequence[int], tasks: int) -> list[float]:
    if tasks < 1 or not counts:
        raise InputError("is empty", mend="give a count of resolved tasks for every seed", field="resolved")
    for count in counts:
        if not 0 <= count <= tasks:
            mend = f"it counts the resolved ones of {tasks} tasks"
            raise InputError(f"holds {count}", mend=mend, field="resolved")
    return [count / tasks for count in counts]


def significance_of_counts(
    a: Sequence[int],
    b: Sequence[int],
    tasks: int,
    *,
    alpha: float = 0.05,
    smallest_effect: float = 0.02,
    paired: bool = False,
) -> tuple[Significance, CountTest]:
    """The verdict on two arms of which only resolved counts per seed are known (build spec, section 5.4).

    35 of 100 against 38 of 100 on one seed each is `no`: nothing has been established.
    """
    test = (paired_by_seed if paired else welch)(a, b, tasks, 1 - alpha)
    return decide(test.p_value, test.interval, min(len(a), len(b)), alpha=alpha, smallest_effect=smallest_effect), test


def decide(
    p_value: float | None, interval: Interval | None, seeds: int, *, alpha: float, smallest_effect: float
) -> Significance:
    """Is the difference more than the variance would give?

    One seed: `no`. p < alpha: `yes`. The whole interval is within the smallest effect of interest of 0: `no`. Else
    `undetermined`.

    Args:
        seeds: per arm. smallest_effect: of the resolve rate, more than 0.
    """
    if seeds < 2:
        return Significance.NO
    if p_value is not None and p_value < alpha:
        return Significance.YES
    if interval is not None and -smallest_effect < interval[0] and interval[1] < smallest_effect:
        return Significance.NO
    return Significance.UNDETERMINED
