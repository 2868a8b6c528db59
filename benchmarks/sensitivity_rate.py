"""How fast `parsimony.sensitivity` is beside a plain loop over draws, agents and tasks.

    python benchmarks/sensitivity_rate.py [--tasks 500] [--agents 30] [--draws 2000] [--loop-draws 100] [--least 20]

Both get the same made-up records in the same process, with the loop before and after, so that whatever else the
machine does hits both alike. The loop draws with `random.choices` as the specification says; it does `--loop-draws` of
the draws, and its time is scaled to all of them. Its first draws must give the same interval ends. Exit status 1 when
the bootstrap is less than `--least` times as fast as the loop.

A run on two shared cores is quoted in docs/footprint-scores.md.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from typing import Any

import numpy as np

from parsimony.measurements import Record, parse_records
from parsimony.resampling import interval_95, mean_draws
from parsimony.scoring import Panel, freeze, rank_intervals, score
from parsimony.sensitivity import sensitivity


def made_up(tasks: int, agents: int) -> tuple[Record, ...]:
    """Records of patches between 0 and 400 units, one in five a known failure."""
    generator = random.Random(1)
    rows = []
    for task in range(tasks):
        for agent in range(agents):
            added, deleted = int(generator.expovariate(1 / 60)), int(generator.expovariate(1 / 30))
            resolved = agent == 0 or generator.random() < 0.8
            metrics = {
                "units_added": added, "units_deleted": deleted, "net_units": added - deleted, "churn": added + deleted,
                "mode": "full_file", "touched_files": ["a.py"], "excluded_files": [],
            }  # fmt: skip
            rows.append(
                {
                    "agent": f"agent-{agent:02}", "task_id": f"task-{task:04}", "resolved": resolved,
                    "published_result_categories": ["resolved" if resolved else "unresolved"], "analysis_status": "ok",
                    "metrics": metrics, "analyzer_version": "1", "python_version": "3.12.1",
                    "provenance": {"repo": "o/r", "base_commit": str(task)},
                }
            )  # fmt: skip
    return parse_records(rows)


def loop(scores: dict[str, list[float]], draws: int, seed: int) -> dict[str, list[float]]:
    """The means of every draw, one task at a time."""
    generator = random.Random(seed)
    means: dict[str, list[float]] = {agent: [] for agent in scores}
    tasks = range(len(next(iter(scores.values()))))
    for _ in range(draws):
        chosen = generator.choices(tasks, k=len(tasks))
        for agent, values in scores.items():
            means[agent].append(sum(values[task] for task in chosen) / len(chosen))
    return means


def timed(work: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def task_scores(panel: Panel, records: tuple[Record, ...]) -> dict[str, list[float]]:
    rows = sorted(score(panel, records), key=lambda row: row.agent)
    return {row.agent: [task.lower for task in row.tasks.values()] for row in rows}


def measure(tasks: int, agents: int, draws: int, loop_draws: int) -> float:
    """Print everything; returns how many times as fast as the loop the bootstrap is."""
    seconds, records = timed(lambda: made_up(tasks, agents))
    print(f"{len(records):,} records made and read in {seconds:.2f} s")
    seconds, panel = timed(lambda: freeze(records, "bench"))
    print(f"freeze           {seconds:8.3f} s")
    seconds, rows = timed(lambda: score(panel, records))
    print(f"score            {seconds:8.3f} s")
    scores = task_scores(panel, records)
    values = np.array(list(scores.values())).T
    before, means = timed(lambda: loop(scores, loop_draws, 42))
    ours, drawn = timed(lambda: mean_draws(values, draws, 42))
    after, _ = timed(lambda: loop(scores, loop_draws, 42))
    lower, upper = interval_95(drawn[:loop_draws])
    for column, agent in enumerate(scores):
        ordered = sorted(means[agent])
        ends = ordered[int(0.025 * (loop_draws - 1))], ordered[int(0.975 * (loop_draws - 1))]
        assert math.isclose(ends[0], lower[column], rel_tol=1e-12), agent
        assert math.isclose(ends[1], upper[column], rel_tol=1e-12), agent
    plain = (before + after) / 2 * draws / loop_draws
    print(f"plain bootstrap  {plain:8.3f} s (scaled from {before:.3f} and {after:.3f} s for {loop_draws} draws)")
    print(f"bootstrap        {ours:8.3f} s = {plain / ours:.0f} times as fast, with the same interval ends")
    seconds, _ = timed(lambda: sensitivity(panel, records, draws=draws))
    print(f"sensitivity      {seconds:8.3f} s in all, 7 scenarios and the bootstrap")
    seconds, _ = timed(lambda: rank_intervals(rows, draws=draws))
    print(f"rank intervals   {seconds:8.3f} s")
    return plain / ours


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--agents", type=int, default=30)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--loop-draws", type=int, default=100, help="draws that the plain loop does (default 100)")
    parser.add_argument("--least", type=float, default=20.0, help="times as fast as the loop (default 20)")
    options = parser.parse_args()
    return int(measure(options.tasks, options.agents, options.draws, options.loop_draws) < options.least)


if __name__ == "__main__":
    sys.exit(main())
