"""Two arms on the same tasks: exact tests, the mean difference with its interval, and the decision that `ab` uses."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from parsimony.statistics.clusters import jackknife_standard_error
from parsimony.statistics.proportions import Interval
from parsimony.statistics.signflip import Permutation, sign_flip_test
from parsimony.statistics.summaries import student_quantile, student_two_sided


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
    """The mean of b - a over pairs, with the standard error of the cluster jackknife and Student's t with C - 1 degrees
    of freedom (Miller 2024, arXiv:2411.00640, for the pairing; Bell and McCaffrey 2002 for the jackknife).

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
    error = jackknife_standard_error(differences, groups)
    if error is None:
        return Difference(mean, None, None, None, len(a), number)
    half = student_quantile((1 + level) / 2, number - 1) * error
    p_value = student_two_sided(mean / error, number - 1) if error else float(mean == 0)
    return Difference(mean, error, (mean - half, mean + half), p_value, len(a), number)


def paired_permutation(
    a: Sequence[Fraction | float], b: Sequence[Fraction | float], clusters: Sequence[Hashable] | None = None
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
    return sign_flip_test(list(sums.values()))


def _exact(value: Fraction | float) -> Fraction | float:
    return Fraction(value) if isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class PairedTest:
    """What is decided on: the difference with its interval, and the exact p-value.

    Attributes:
        p_value: of the permutation test.
        exact: whether it was counted or drawn.
    """

    difference: Difference
    p_value: float
    exact: bool


def paired_test(
    a: Sequence[tuple[int, int]],
    b: Sequence[tuple[int, int]],
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
) -> PairedTest | None:
    """Test whether the second arm resolves more or less than the first: the decision behind `significant`.

    Each task counts once, by its rate over seeds. The p-value is that of the permutation test over clusters. It keeps
    its level whatever the spread of difficulty, however few the seeds and however unequal the clusters, because it
    assumes no more than the null hypothesis says: that the two arms could be exchanged within a cluster. A t test on so
    few clusters would not keep it. With n clusters no p-value is below 2 / 2^n: five or fewer decide nothing at 5 %.

    Args:
        a, b: per task (resolved, seeds), with at least one seed, in the same order.
        clusters: the repository of each task; None = every task stands alone.

    Returns:
        None where there are no tasks.
    """
    before, after = ([Fraction(resolved, seeds) for resolved, seeds in arm] for arm in (a, b))
    difference = paired_difference([float(x) for x in before], [float(x) for x in after], clusters, level=level)
    if difference is None:
        return None
    found = paired_permutation(before, after, clusters)
    return PairedTest(difference, found.p_value, found.exact)


def changed_sides(a: Mapping[str, bool], b: Mapping[str, bool]) -> tuple[int, int]:
    """(lost, won): tasks that only the first, and that only the second arm resolves; the two numbers of McNemar."""
    shared = a.keys() & b.keys()
    return sum(a[name] and not b[name] for name in shared), sum(b[name] and not a[name] for name in shared)
