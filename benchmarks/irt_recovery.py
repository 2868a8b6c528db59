"""Does the item-response fit find the parameters that data were drawn from, and are its errors honest?

    python benchmarks/irt_recovery.py [--banks 20]

Banks are drawn from the two-parameter model itself with a fixed seed: θ ~ N(0, 1), b ~ N(0, 1), ln a ~ N(0, 0.5²). For
each size it prints, over tasks that some and not all solve: the correlation of true and fitted values, the root mean
square error, how often the fitted value ± 1.96 errors holds the truth, and Kendall's tau of the ranks of respondents on
the mid-range set against all tasks.

A second table asks what the mid-range set is worth: chosen by 15 agents, it ranks 15 others, and so do random sets of
as many of the 200 tasks, for several spreads of abilities and difficulties.

Exit status 1 when a bound for 30 respondents × 200 tasks is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parsimony.difficulty import Band, Fitted, Place, fit, kendall_tau

Floats = NDArray[np.float64]

SIZES = ((10, 200, 1), (30, 200, 1), (30, 200, 5), (100, 200, 1), (30, 500, 1), (200, 200, 1), (200, 40, 1))
BOUNDED = (30, 200, 1)
BOUNDS = {"θ": (0.97, 0.30), "b": (0.85, 0.75), "ln a": (0.5, 0.50)}
"""At least this correlation, at most this root mean square error."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What a bank was drawn from."""

    ability: Floats
    difficulty: Floats
    log_a: Floats

    def responses(self, trials: int, random: np.random.Generator) -> Floats:
        """Successes, (respondents, tasks)."""
        chance = 1 / (1 + np.exp(-np.exp(self.log_a) * (self.ability[:, None] - self.difficulty)))
        return random.binomial(trials, chance).astype(float)


def compare(name: str, truth: Floats, found: Floats, error: Floats) -> dict[str, tuple[float, float, float]]:
    """Correlation, root mean square error, coverage."""
    inside = np.abs(found - truth) <= 1.96 * error
    correlation, rmse = np.corrcoef(truth, found)[0, 1], np.sqrt(np.mean((found - truth) ** 2))
    return {name: (float(correlation), float(rmse), float(inside.mean()))}


def one_bank(size: tuple[int, int, int], seed: int) -> tuple[dict[str, tuple[float, float, float]], float, float, bool]:
    """Recovery by parameter, tau of ranks, share of tasks in the band, and whether the fit converged."""
    respondents, tasks, trials = size
    random = np.random.default_rng(seed)
    truth = Truth(random.normal(size=respondents), random.normal(size=tasks), random.normal(0, 0.5, tasks))
    successes = truth.responses(trials, random)
    found: Fitted = fit(successes, np.full(successes.shape, float(trials)))
    kept = found.fitted
    told = compare("θ", truth.ability, found.ability, found.ability_se)
    told |= compare("b", truth.difficulty[kept], found.difficulty[kept], found.difficulty_se[kept])
    a = found.discrimination[kept]
    told |= compare("ln a", truth.log_a[kept], np.log(a), found.discrimination_se[kept] / a)
    shares = successes / trials
    band = Band()
    middle = np.array([band.place(float(rate)) is Place.MIDDLE for rate in shares.mean(axis=0)])
    tau = kendall_tau(shares.mean(axis=1), shares[:, middle].mean(axis=1))
    assert tau is not None
    return told, tau, float(middle.mean()), found.converged


def compare_sets(ability_sd: float, difficulty_sd: float, banks: int) -> tuple[float, float, float]:
    """Share of tasks in the band, and tau with all tasks of the mid-range set and of random sets; means over banks."""
    found = []
    for seed in range(banks):
        random = np.random.default_rng(seed)
        truth = Truth(
            ability_sd * random.normal(size=30), difficulty_sd * random.normal(size=200), random.normal(0, 0.5, 200)
        )
        solved = truth.responses(1, random)
        history, others = solved[:15], solved[15:]
        middle = np.array([Band().place(float(rate)) is Place.MIDDLE for rate in history.mean(axis=0)])
        if not middle.any():
            continue
        full, size = others.mean(axis=1), int(middle.sum())
        drawn = [others[:, random.choice(200, size, replace=False)].mean(axis=1) for _ in range(20)]
        taus = [kendall_tau(full, means) or 0.0 for means in (others[:, middle].mean(axis=1), *drawn)]
        found.append((middle.mean(), taus[0], float(np.median(taus[1:]))))
    band, middle_tau, random_tau = np.mean(found, axis=0)
    return float(band), float(middle_tau), float(random_tau)


def main() -> int:
    """Print the table; 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--banks", type=int, default=20)
    banks = parser.parse_args().banks
    print(f"{banks} banks of each size, medians: correlation, root mean square error, coverage of 95 % intervals")
    print(f"respondents × tasks × trials   {'θ':16}   {'b':16}   {'ln a':16}   tau   in band  seconds")
    broken = []
    for size in SIZES:
        started = time.perf_counter()
        found = [one_bank(size, seed) for seed in range(banks)]
        seconds = (time.perf_counter() - started) / banks
        medians = {
            name: tuple(float(np.median([told[name][k] for told, *_ in found])) for k in range(3)) for name in BOUNDS
        }
        cells = "   ".join(f"{r:.3f} {rmse:.2f} {100 * cover:3.0f} %" for r, rmse, cover in medians.values())
        tau, band = (float(np.median([one[place] for one in found])) for place in (1, 2))
        label = " × ".join(map(str, size))
        print(f"{label:>28}   {cells}   {tau:.2f}  {100 * band:5.0f} %  {seconds:7.2f}")
        if not all(one[3] for one in found):
            broken.append(f"{size}: a fit did not converge")
        if size == BOUNDED:
            for name, (least, most) in BOUNDS.items():
                if medians[name][0] < least or medians[name][1] > most:
                    broken.append(f"{size}: {name} has {medians[name][0]:.3f} and {medians[name][1]:.3f}")
    print(
        "\nspread of abilities, of difficulties: share of tasks in the band, tau-b of the mid-range set, of random sets"
    )
    for ability_sd in (1.0, 0.3):
        for difficulty_sd in (1.0, 2.0, 4.0):
            band, middle_tau, random_tau = compare_sets(ability_sd, difficulty_sd, banks)
            print(f"{ability_sd:>12g} {difficulty_sd:>6g}   {100 * band:5.0f} %   {middle_tau:.2f}   {random_tau:.2f}")
    for line in broken:
        print(f"broken: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
