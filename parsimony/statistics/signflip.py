"""The paired permutation test: under the null hypothesis a difference between two arms could as well have had the other
sign. Tasks of one cluster change sign together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

MOST_STEPS: Final = 1 << 20
"""Values of the sum that the exact distribution may have; beyond, draws take its place."""
DRAWS: Final = 100_000
_SEED: Final = 20_250_923
_TIE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Permutation:
    """Result of the test. `exact`: the whole distribution was counted, no draws were needed."""

    p_value: float
    exact: bool


def sign_flip_test(sums: Sequence[Fraction | float], *, shrink: float = 1.0) -> Permutation:
    """Two-sided p-value of a sum of differences under independent changes of sign (Fisher 1935; Pitman 1937).

    Args:
        sums: one difference per cluster. With `Fraction` (as counts give them) all 2^n patterns are counted exactly, by
            convolution over the values that the sum can have; floats, and fractions without a common grid of at most
            `MOST_STEPS` values, are drawn `DRAWS` times with a fixed seed (p then counts the observed pattern: Phipson
            and Smyth 2010).
        shrink: the observed sum counts as this share of itself (0..1): for a statistic that has more variance than the
            changes of sign give it.

    Returns:
        p = 1 where nothing differs.
    """
    moving = [one for one in sums if one != 0]
    if not moving:
        return Permutation(1.0, exact=True)
    if all(isinstance(one, Fraction) for one in moving):
        grid = math.lcm(*(Fraction(one).denominator for one in moving))
        steps = [int(abs(Fraction(one)) * grid) for one in moving]
        shared = math.gcd(*steps)
        steps = [step // shared for step in steps]
        if sum(steps) <= MOST_STEPS and len(steps) * sum(steps) <= 256 * MOST_STEPS:
            observed = abs(sum(int(Fraction(one) * grid) for one in moving)) // shared
            return Permutation(_tail(steps, shrink * observed), exact=True)
    return Permutation(_drawn([float(one) for one in moving], shrink), exact=False)


def _tail(steps: Sequence[int], observed: float) -> float:
    """P(|sum of ±step| >= observed). The distribution has the values -S, -S+2, ..., S; index i stands for 2i - S."""
    import numpy as np  # noqa: PLC0415 - slow to load

    total, reached = sum(steps), 0
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for step in steps:
        kept = chances[: reached + 1] / 2
        chances[: reached + 1] = kept
        chances[reached + 1 : reached + step + 1] = 0.0
        chances[step : reached + step + 1] += kept
        reached += step
    above = float(chances[math.ceil((total + observed * (1 - _TIE)) / 2) :].sum())
    return min(1.0, 2 * above) if observed else 1.0


def _drawn(sums: Sequence[float], shrink: float) -> float:
    import numpy as np  # noqa: PLC0415 - slow to load

    values = np.array(sums)
    observed = shrink * abs(values.sum()) * (1 - _TIE)
    random, hits, left = np.random.default_rng(_SEED), 0, DRAWS
    while left:
        rows = min(left, max(1, (1 << 22) // len(values)))
        signs = random.integers(0, 2, (rows, len(values)), dtype=np.int8) * 2 - 1
        hits += int((np.abs(signs @ values) >= observed).sum())
        left -= rows
    return (hits + 1) / (DRAWS + 1)
