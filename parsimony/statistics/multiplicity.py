"""Several comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values by Holm's step-down method (1979), in the order given.

    Compared with alpha, they keep the chance of any false positive at most alpha, whatever the dependence.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, worst = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, (len(p_values) - rank) * p_values[i])
        adjusted[i] = min(1.0, worst)
    return adjusted
