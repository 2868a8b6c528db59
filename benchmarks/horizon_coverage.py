"""Does the interval of a time horizon hold the truth as often as it says?

    python benchmarks/horizon_coverage.py [--runs 300]

Runs are drawn from a logistic curve with a known horizon of 30 minutes, slope -0.6 per doubling, tasks from 1 minute to
17 hours in families that share some luck on the logit scale. Luck is symmetric, so the horizon of all families together
stays at 30 minutes. Exit status 1 when intervals of 95 % with ten families or more hold it in less than 92 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

import numpy as np

from parsimony.horizon import Options, State, TimedTask, estimate

HORIZON, SLOPE = 30.0, -0.6
LEAST, ENOUGH_FAMILIES = 0.92, 10


@dataclass(frozen=True, slots=True)
class World:
    """Of one experiment; `luck`: standard deviation that tasks of a family share, on the logit scale."""

    families: int
    tasks: int
    runs: int
    luck: float

    def draw(self, random: np.random.Generator) -> list[TimedTask]:
        """The tasks of one arm."""
        found = []
        for family in range(self.families):
            shared = random.normal(0, self.luck)
            for task in range(self.tasks):
                log_minutes = random.uniform(0, 10)
                logit = SLOPE * (log_minutes - math.log2(HORIZON)) + shared
                scores = random.random(self.runs) < 1 / (1 + math.exp(-logit))
                found.append(
                    TimedTask(f"t{family}-{task}", 2.0**log_minutes, f"f{family}", tuple(scores.astype(float).tolist()))
                )
        return found


WORLDS = (World(30, 1, 1, 0.0), World(30, 4, 3, 0.0), World(30, 4, 3, 1.0), World(10, 12, 3, 1.0), World(5, 24, 3, 1.0))


def main() -> int:
    """Print the table; 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    runs = parser.parse_args().runs
    print(f"{runs} runs each: how often the 95 % interval of h50 holds 30 min, and its median width in doublings")
    broken = False
    for place, world in enumerate(WORLDS):
        inside, widths, none = 0, [], 0
        for seed in range(runs):
            found = estimate(world.draw(np.random.default_rng([place, seed])), Options(draws=400, seed=seed))
            if found.state is not State.ESTIMATED or found.interval50 is None:
                none += 1
                continue
            low, high = found.interval50
            inside += low <= HORIZON and (high is None or high >= HORIZON)
            widths.append(math.inf if high is None or low == 0 else math.log2(high / low))
        coverage = inside / max(runs - none, 1)
        print(
            f"{world.families:>4} families × {world.tasks:>2} tasks × {world.runs} runs, luck {world.luck:.0f}: "
            f"{100 * coverage:5.1f} %, {np.median(widths):.2f} doublings, {none} without a horizon"
        )
        broken = broken or (world.families >= ENOUGH_FAMILIES and coverage < LEAST)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
