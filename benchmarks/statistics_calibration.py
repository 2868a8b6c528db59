"""Do the statistics keep what they promise? By simulation with a fixed seed, or by summing binomials, which is exact.

    python benchmarks/statistics_calibration.py [--runs 4000]

Comparisons are simulated as they come: tasks whose difficulty piles up at both ends, in repositories of unequal size
that share some of it, several seeds that share a little luck, and flaky tests. What is called is what `parsimony
compare` calls. Exit status 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from parsimony.statistics import clopper_pearson, jackknife_spread, paired_difference, paired_test, power_of, wilson

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class World:
    """What comparisons are drawn from.

    Attributes:
        tasks, repositories, seeds: of one comparison; sizes of repositories fall off as 1 / rank.
        repository_sd, seed_sd: on the logit scale: what the tasks of a repository share, in difficulty and in what the
            change does to them; what all tasks of one seed of one arm share.
        flake: share of outcomes that a test turns round.
        effect: of the change, on the logit scale.
    """

    tasks: int = 50
    repositories: int = 12
    seeds: int = 5
    repository_sd: float = 0.8
    change_sd: float = 0.0
    seed_sd: float = 0.1
    flake: float = 0.01
    effect: float = 0.0

    def clusters(self) -> NDArray[np.int64]:
        """The repository of each task; each has one at least."""
        weights = 1 / np.arange(1, self.repositories + 1)
        extra = np.floor(weights / weights.sum() * (self.tasks - self.repositories)).astype(int) + 1
        extra[0] += self.tasks - extra.sum()
        return np.repeat(np.arange(self.repositories), extra)

    def draw(self, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Outcomes (tasks, seeds) of both arms."""
        groups = self.clusters()
        easy = random.beta(0.5, 0.5, self.tasks).clip(0.01, 0.99)
        logit = np.log(easy / (1 - easy)) + random.normal(0, self.repository_sd, self.repositories)[groups]
        change = self.effect + random.normal(0, 1, self.repositories)[groups] * self.change_sd
        arms = []
        for shift in (0.0, change):
            luck = random.normal(0, self.seed_sd, self.seeds)
            chance = 1 / (1 + np.exp(-((logit + shift)[:, None] + luck[None, :])))
            outcome = random.random(chance.shape) < chance
            arms.append((outcome ^ (random.random(chance.shape) < self.flake)).astype(np.int64))
        return arms[0], arms[1]


def comparisons(world: World, runs: int, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    random = np.random.default_rng(seed)
    for _ in range(runs):
        yield world.draw(random)


def rejected(world: World, runs: int, seed: int, alpha: float = 0.05) -> tuple[float, Floats]:
    """Share of comparisons that are significant, and the differences that were measured."""
    groups = [int(group) for group in world.clusters()]
    hits, differences = 0, []
    for a, b in comparisons(world, runs, seed):
        found = paired_test(a.tolist(), b.tolist(), groups)
        assert found is not None
        hits += found.p_value < alpha
        differences.append(found.difference.mean)
    return hits / runs, np.array(differences)


def interval_coverage(world: World, runs: int, seed: int) -> float:
    """Share of paired clustered 95 % intervals that hold the true difference (here 0)."""
    groups = [int(group) for group in world.clusters()]
    held = 0
    for a, b in comparisons(world, runs, seed):
        found = paired_difference(list(a.mean(axis=1)), list(b.mean(axis=1)), groups)
        assert found is not None
        assert found.interval is not None
        held += found.interval[0] <= 0 <= found.interval[1]
    return held / runs


def exact_coverage(interval: object, n: int, rates: Floats) -> Floats:
    """Coverage of an interval of a proportion at each rate, by summing the binomial: no simulation."""
    assert callable(interval)
    bounds = np.array([interval(k, n) for k in range(n + 1)])
    chances = binom.pmf(np.arange(n + 1)[:, None], n, rates[None, :])
    inside = (bounds[:, :1] <= rates[None, :]) & (rates[None, :] <= bounds[:, 1:])
    return np.asarray((chances * inside).sum(axis=0))


class Table:
    """Lines with a verdict; `broken` counts bounds that do not hold."""

    def __init__(self) -> None:
        self.broken = 0

    def line(self, what: str, value: float, low: float, high: float) -> None:
        good = low <= value <= high
        self.broken += not good
        print(f"{what:<66} {value:8.4f}   [{low:.4f}, {high:.4f}]  {'ok' if good else 'BROKEN'}", flush=True)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    runs = parser.parse_args().runs
    table, began = Table(), time.monotonic()
    print(f"{'what':<66} {'value':>8}   bounds")
    for world in (
        World(),
        World(tasks=500, repositories=12, seed_sd=0.03),
        World(tasks=120, repositories=40, seeds=3),
        World(tasks=50, repositories=50, seeds=5, seed_sd=0.15),
    ):
        named = f"{world.tasks} tasks, {world.repositories} repositories, {world.seeds} seeds (sd {world.seed_sd:g})"
        share, _ = rejected(world, runs, seed=1)
        table.line(f"A/A significant at 5 %: {named}", share, 0.0, 0.058)
    for repositories in (30, 60):
        world = World(tasks=200, repositories=repositories, change_sd=0.5, seed_sd=0.0)
        held = interval_coverage(world, runs, seed=2)
        table.line(f"paired clustered 95 % interval, {repositories} repositories: coverage", held, 0.935, 0.965)
    for tasks, repositories, effect in ((200, 200, 0.35), (300, 40, 0.3)):
        world = World(tasks=tasks, repositories=repositories, seed_sd=0.0, effect=effect)
        share, differences = rejected(world, runs, seed=3)
        groups = [int(group) for group in world.clusters()]
        spread = jackknife_spread(list(np.random.default_rng(4).normal(size=tasks)), groups)
        assert spread is not None
        promised = power_of(differences.mean(), tasks, tasks * differences.var(ddof=1), df=spread.df)
        assert promised is not None
        table.line(f"power less what is promised ({promised:.3f}), {tasks} tasks, {repositories} repositories",
                   share - promised, -0.03, 0.03)  # fmt: skip
    rates = np.linspace(0.005, 0.995, 991)
    for n in (10, 30, 100, 500):
        exact, score = exact_coverage(clopper_pearson, n, rates), exact_coverage(wilson, n, rates)
        table.line(f"Clopper-Pearson, n = {n}: least coverage", float(exact.min()), 0.95, 1.0)
        table.line(f"Wilson, n = {n}: mean coverage", float(score.mean()), 0.94, 0.97)
        table.line(f"Wilson, n = {n}: least coverage", float(score.min()), 0.82, 1.0)
    print(f"{time.monotonic() - began:.0f} s, {runs} runs each, fixed seeds")
    return int(table.broken > 0)


if __name__ == "__main__":
    sys.exit(main())
