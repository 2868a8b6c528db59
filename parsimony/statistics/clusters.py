"""Means of values that share a source (tasks of one repository), and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence


def clustered_standard_error(
    values: Sequence[float], clusters: Sequence[Hashable], small_sample: bool = False
) -> float | None:
    """Standard error of a mean of clustered values (Miller 2024, arXiv:2411.00640; Liang and Zeger 1986).

    The square root of the sum over clusters of (sum of residuals)², over n.

    Args:
        clusters: for each value, what it belongs to.
        small_sample: multiply the variance by C / (C - 1) for C clusters.

    Returns:
        None where it is not known: no values, or one cluster and `small_sample`.
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values and {len(clusters)} clusters")
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    sums = cluster_sums((value - mean for value in values), clusters)
    if small_sample and len(sums) < 2:
        return None
    correction = len(sums) / (len(sums) - 1) if small_sample else 1.0
    return math.sqrt(correction * math.fsum(total**2 for total in sums.values())) / len(values)


def jackknife_standard_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """Standard error of a mean by leaving out one cluster at a time (CR3; Bell and McCaffrey 2002; MacKinnon, Nielsen,
    Webb 2023): with few clusters, or clusters of unequal size, it is not too small as the plain one is.

    Returns:
        None with fewer than two clusters.
    """
    n, total = len(values), math.fsum(values)
    sums, sizes = cluster_sums(values, clusters), cluster_sums((1.0 for _ in values), clusters)
    if len(sums) < 2:
        return None
    left = [(total - sums[name]) / (n - sizes[name]) for name in sums]
    return math.sqrt((len(left) - 1) / len(left) * math.fsum((one - total / n) ** 2 for one in left))


def cluster_sums(values: Iterable[float], clusters: Iterable[Hashable]) -> Mapping[Hashable, float]:
    """The sum of each cluster's values, clusters in the order of their first value."""
    parts: dict[Hashable, list[float]] = {}
    for value, name in zip(values, clusters, strict=True):
        parts.setdefault(name, []).append(value)
    return {name: math.fsum(some) for name, some in parts.items()}
