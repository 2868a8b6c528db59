"""Two arms on the same tasks: exact tests, the mean difference with its interval, and the decision that `ab` uses."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from parsimony.statistics.clusters import jackknife_spread
from parsimony.statistics.proportions import Interval
from parsimony.statistics.signflip import Permutation, sign_flip_test
from parsimony.statistics.summaries import chi_squared_tail, student_quantile, student_two_sided

_SHARED_SEEDS_AT: Final = 0.01


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p-value of McNemar's test (1947): `b` pairs changed one way, `c` the other way.

    Twice the smaller tail of the binomial distribution with probability 1/2, at most 1; 1 where no pair changed. The
    tail is summed in integers.
    """
    if b < 0 or c < 0:
        raise ValueError(f"b={b}, c={c}: both must be 0 or more")
    n = b + c
    tail, term = 0, 1  # C(n, 0), C(n, 1), ... each from the one before
    for k in range(min(b, c) + 1):
        tail += term
        term = term * (n - k) // (k + 1)
    return min(1.0, float(Fraction(2 * tail, 2**n)))


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference of means, second arm less first.

    Attributes:
        standard_error, interval, p_value: None where nothing is known of them (fewer than two clusters). The p-value is
            that of Student's t, as the interval; `paired_test` has the exact one.
        n: pairs. clusters: of them.
    """

    mean: float
    standard_error: float | None
    interval: Interval | None
    p_value: float | None
    n: int
    clusters: int


def paired_difference(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Difference | None:
    """The mean of b - a over pairs (Miller 2024, arXiv:2411.00640), with the error and the tails that clusters give it:
    see `jackknife_spread`. Without clusters it is the paired t test.

    Args:
        a, b: one value per task, in the same order.
        clusters: what each task belongs to; None = every task stands alone.

    Returns:
        None where there are no pairs.
    """
    if len(a) != len(b) or (clusters is not None and len(clusters) != len(a)):
        raise ValueError("a, b and clusters must be of one length")
    if not a:
        return None
    differences = [after - before for before, after in zip(a, b, strict=True)]
    groups: Sequence[Hashable] = range(len(a)) if clusters is None else clusters
    number, mean = len(set(groups)), math.fsum(differences) / len(differences)
    spread = jackknife_spread(differences, groups)
    if spread is None:
        return Difference(mean, None, None, None, len(a), number)
    error = spread.standard_error
    half = student_quantile((1 + level) / 2, spread.df) * error
    p_value = student_two_sided(mean / error, spread.df) if error else float(mean == 0)
    return Difference(mean, error, (mean - half, mean + half), p_value, len(a), number)


def paired_permutation(
    a: Sequence[Fraction | float],
    b: Sequence[Fraction | float],
    clusters: Sequence[Hashable] | None = None,
    *,
    shrink: float = 1.0,
) -> Permutation:
    """The paired permutation test of b against a; tasks of one cluster change sign together. See `sign_flip_test`.

    Integers and `Fraction` are counted exactly.
    """
    if len(a) != len(b) or (clusters is not None and len(clusters) != len(a)):
        raise ValueError("a, b and clusters must be of one length")
    groups: Sequence[Hashable] = range(len(a)) if clusters is None else clusters
    sums: dict[Hashable, Fraction | float] = {}
    for before, after, group in zip(a, b, groups, strict=True):
        sums[group] = sums.get(group, Fraction(0)) + (_exact(after) - _exact(before))
    return sign_flip_test(list(sums.values()), shrink=shrink)


def _exact(value: Fraction | float) -> Fraction | float:
    return Fraction(value) if isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class PairedTest:
    """What is decided on: the difference with its interval, and the exact p-value.

    Attributes:
        p_value: of the permutation test; larger than that where seeds share something.
        seed_variance: of the difference, by what all tasks of a seed share; 0 where nothing of the kind shows, or it
            cannot be told.
        exact: whether the distribution was counted or drawn.
    """

    difference: Difference
    p_value: float
    seed_variance: float
    exact: bool


def paired_test(
    a: Sequence[Sequence[int]],
    b: Sequence[Sequence[int]],
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
) -> PairedTest | None:
    """Test whether the second arm resolves more or less than the first: the decision behind `significant`.

    Each task counts once, by its rate over seeds. The permutation test over clusters keeps its level whatever the
    spread of difficulty, however few the seeds and however unequal the clusters, because it assumes no more than the
    null hypothesis says: that the arms could be exchanged within a cluster. (With n clusters none of its p-values is
    below 2 / 2^n: five or fewer decide nothing at 5 %.)

    It knows nothing of what all tasks of a seed share, such as a slow server or a cold cache. Where the rates of seeds
    plainly vary by more than the tasks' own outcomes explain, the excess is added to the variance of the difference,
    and the difference must be as much farther out.

    Args:
        a, b: per task the outcomes of the seeds (0 or 1), at least one each, tasks in the same order. Seeds are taken
            for shared where every task of an arm has the same number of them.
        clusters: the repository of each task; None = every task stands alone.

    Returns:
        None where there are no tasks.
    """
    if any(outcome not in {0, 1} for arm in (a, b) for seeds in arm for outcome in seeds):
        raise ValueError("outcomes must be 0 or 1, one per seed")
    before, after = ([Fraction(sum(seeds), len(seeds)) for seeds in arm] for arm in (a, b))
    difference = paired_difference([float(x) for x in before], [float(x) for x in after], clusters, level=level)
    if difference is None:
        return None
    shared = shared_seed_variance([a, b])
    own = (difference.standard_error or 0.0) ** 2
    shrink = math.sqrt(own / (own + shared)) if shared and own else 1.0
    found = paired_permutation(before, after, clusters, shrink=shrink)
    return PairedTest(difference, found.p_value, shared, found.exact)


def shared_seed_variance(arms: Sequence[Sequence[Sequence[int]]]) -> float:
    """Variance of the difference of two arms' mean rates by what all tasks of a seed share.

    In a table of tasks and seeds, the rates of seeds vary by what the tasks' own outcomes give them. What they vary
    beyond that is shared; it counts if a chi-squared test over both arms finds it at 1 %, because an excess by chance
    would cost power in every comparison. (A random-effects analysis of variance; Searle, Casella, McCulloch 1992.)

    Args:
        arms: per arm and task the outcomes of the seeds.

    Returns:
        0 where nothing is found, or where tasks have one seed or different numbers of them.
    """
    excess, ratio, df = 0.0, 0.0, 0
    for outcomes in arms:
        numbers = {len(seeds) for seeds in outcomes}
        if len(numbers) != 1 or (k := numbers.pop()) < 2 or len(outcomes) < 2:
            return 0.0
        rates = [sum(column) / len(outcomes) for column in zip(*outcomes, strict=True)]
        own = math.fsum(s * (k - s) for s in map(sum, outcomes)) / (k * (k - 1)) / len(outcomes) ** 2
        seen = statistics.variance(rates)
        if own == 0:
            continue  # no outcome ever changes between seeds: nothing is shared, because nothing varies
        excess += max(0.0, seen - own) / k
        ratio += (k - 1) * seen / own
        df += k - 1
    return excess if df and chi_squared_tail(ratio, df) < _SHARED_SEEDS_AT else 0.0


def changed_sides(a: Mapping[str, bool], b: Mapping[str, bool]) -> tuple[int, int]:
    """(lost, won): tasks that only the first, and that only the second arm resolves; the two numbers of McNemar."""
    shared = a.keys() & b.keys()
    return sum(a[name] and not b[name] for name in shared), sum(b[name] and not a[name] for name in shared)
