"""How often the intervals of `parsimony value` cover the truth, with plain percentiles beside them (docs/value.md).

Tasks pay log-normal amounts, dear ones are solved less often, three seeds each. The truth is the share of all dollars
that the arm would earn on endlessly many such tasks. Takes about three minutes; the numbers are the same each time.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from parsimony.resampling import interval_95, weighted_mean_draws
from parsimony.value.intervals import effective_number, intervals

SPREADS = (0.0, 0.5, 1.2)
TASKS = (10, 20, 50, 100, 200)
SEEDS = 3
DRAWS = 2000

Floats = NDArray[np.float64]


def some_tasks(random: np.random.Generator, tasks: int, spread: float) -> tuple[Floats, Floats]:
    """Payouts in dollars and the chance that each task is solved."""
    size = random.normal(size=tasks)
    return np.exp(spread * size), 1 / (1 + np.exp(0.5 * size + 0.3))


def coverage(spread: float, tasks: int, repeats: int) -> tuple[float, float, float]:
    """Mean effective number of tasks, and the coverage of plain percentiles and of ours."""
    random = np.random.default_rng(20_250_923)
    payouts, chances = some_tasks(random, 2_000_000, spread)
    truth = float((payouts * chances).sum() / payouts.sum())
    effective, plain, ours = 0.0, 0, 0
    for repeat in range(repeats):
        payouts, chances = some_tasks(random, tasks, spread)
        micro = [round(one * 1e6) for one in payouts]
        share = (random.random((SEEDS, tasks)) < chances).mean(axis=0)
        low, high = interval_95(weighted_mean_draws(share[:, None], payouts[:, None], DRAWS, repeat))
        plain += bool(low[0] <= truth <= high[0])
        column = [Fraction(round(part * SEEDS) * pays, SEEDS) for part, pays in zip(share, micro, strict=True)]
        (found,) = intervals([column], micro, range(tasks), draws=DRAWS, seed=repeat)
        ours += found is not None and found[0] <= truth * sum(micro) <= found[1]
        effective += effective_number(micro, range(tasks))
    return effective / repeats, plain / repeats, ours / repeats


def main() -> None:
    """Print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=1000)
    repeats = arguments.parse_args().repeats
    print("| spread of payouts | tasks | effective | plain percentiles | ours |")
    print("|---:|---:|---:|---:|---:|")
    for spread in SPREADS:
        for tasks in TASKS:
            effective, plain, ours = coverage(spread, tasks, repeats)
            print(f"| {spread} | {tasks} | {effective:.1f} | {100 * plain:.1f} % | {100 * ours:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
