"""How near to the best possible the dispatcher schedules, in virtual time, by the very code that runs sweeps.

    python benchmarks/scheduling_simulator.py [--nodes 1 10 100 1000] [--seeds 3] [--slots 8] [--prefetch 2] [--json]

500 tasks × 10 seeds × 2 arms = 10,000 jobs, an image a task. Durations are lognormal: a task's own (median 60 s, sigma
1) times each execution's (sigma --spread). The dispatcher is told the longest of --recorded past executions of the
task, as `cluster.session` tells it. A pull takes a lognormal time (median 30 s, sigma 0.5); a node pulls one image at a
time, nodes hold nothing at first, and an attempt takes a slot when its image is there (as `cluster.agent` does).

Lower bound of the makespan: the largest of
  - the work bound: (total work) / (nodes × slots) + the shortest pull, since no slot can work before an image is there;
  - the longest job: its duration and the pull of its image, since no node holds it.

Printed: makespan / lower bound, and pulls / max(images, nodes). Exit status 1 when one of them is above
`--most-makespan` (1.05) or `--most-pulls` (1.2).
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cluster.dispatch import AgentJoined, AttemptFinished, Dispatcher, Ending, Finished, Job, JobsAdded, Start

TASKS, SEEDS, ARMS = 500, 10, 2


@dataclass
class World:
    """What is true, and what the dispatcher is told of it."""

    jobs: list[Job]
    seconds: dict[str, float]
    pulls: dict[str, float]

    @classmethod
    def drawn(cls, seed: int, spread: float = 0.1, recorded: int = 3) -> World:
        """By the distributions above."""
        draw = random.Random(seed)
        jobs: list[Job] = []
        seconds: dict[str, float] = {}
        pulls: dict[str, float] = {}
        for task in range(TASKS):
            own = draw.lognormvariate(4.094, 1.0)
            told = own * max(draw.lognormvariate(0.0, spread) for _ in range(recorded))
            image = f"image-{task}"
            pulls[image] = draw.lognormvariate(3.401, 0.5)
            for copy in range(SEEDS * ARMS):
                key = f"{task}-{copy}"
                seconds[key] = own * draw.lognormvariate(0.0, spread)
                jobs.append(Job(key, image, told, len(jobs)))
        return cls(jobs, seconds, pulls)

    def bound(self, nodes: int, slots: int) -> float:
        """Seconds that no schedule can undercut."""
        work = sum(self.seconds.values()) / (nodes * slots) + min(self.pulls.values())
        return max(work, *(self.seconds[job.key] + self.pulls[str(job.image)] for job in self.jobs))


@dataclass
class Node:
    """A machine with its agent."""

    slots: int
    images: set[str] = field(default_factory=set)
    pulling: deque[str] = field(default_factory=deque)
    waiting: dict[str, list[Start]] = field(default_factory=dict)
    ready: deque[Start] = field(default_factory=deque)
    running: int = 0


class Simulation:
    """Nodes in virtual time."""

    def __init__(self, world: World, nodes: int, slots: int, prefetch: int) -> None:
        self.world = world
        self.nodes = {f"node-{number:04d}": Node(slots) for number in range(nodes)}
        self.slots, self.prefetch = slots, prefetch
        self.dispatcher = Dispatcher()
        self.calendar: list[tuple[float, int, str, Start | str]] = []
        self.number = 0
        self.pulls = 0
        self.now = 0.0

    def run(self) -> float:
        """Seconds until the last job has ended."""
        joins = [AgentJoined(name, self.slots, frozenset(), self.prefetch) for name in self.nodes]
        finished = self.obey(self.dispatcher.handle(JobsAdded(tuple(self.world.jobs)), *joins, now=0.0))
        while not finished:
            self.now, _, name, what = heapq.heappop(self.calendar)
            node = self.nodes[name]
            if isinstance(what, str):
                self.pulled(name, node, what)
                continue
            node.running -= 1
            self.fill(name, node)
            event = AttemptFinished(what.job.key, what.attempt, Ending.DONE)
            finished = self.obey(self.dispatcher.handle(event, now=self.now))
        assert self.dispatcher.counts.done == len(self.world.jobs)
        return self.now

    def obey(self, commands: Sequence[object]) -> bool:
        for command in commands:
            if isinstance(command, Start):
                self.arrive(command.agent, self.nodes[command.agent], command)
        return any(isinstance(command, Finished) for command in commands)

    def arrive(self, name: str, node: Node, start: Start) -> None:
        image = str(start.job.image)
        if image in node.images:
            node.ready.append(start)
            self.fill(name, node)
            return
        if image not in node.waiting:
            node.pulling.append(image)
            if len(node.pulling) == 1:
                self.pull(name, image)
        node.waiting.setdefault(image, []).append(start)

    def pull(self, name: str, image: str) -> None:
        self.pulls += 1
        self.later(self.world.pulls[image], name, image)

    def pulled(self, name: str, node: Node, image: str) -> None:
        node.pulling.popleft()
        node.images.add(image)
        node.ready.extend(node.waiting.pop(image))
        if node.pulling:
            self.pull(name, node.pulling[0])
        self.fill(name, node)

    def fill(self, name: str, node: Node) -> None:
        while node.ready and node.running < node.slots:
            start = node.ready.popleft()
            node.running += 1
            self.later(self.world.seconds[start.job.key], name, start)

    def later(self, seconds: float, name: str, what: Start | str) -> None:
        self.number += 1
        heapq.heappush(self.calendar, (self.now + seconds, self.number, name, what))


def measure(options: argparse.Namespace) -> Iterator[dict[str, float]]:
    """A row for each number of nodes and each seed."""
    for nodes in options.nodes:
        for seed in range(options.seeds):
            world = World.drawn(seed, options.spread, options.recorded)
            began = time.perf_counter()
            simulation = Simulation(world, nodes, options.slots, options.prefetch)
            makespan = simulation.run()
            bound = world.bound(nodes, options.slots)
            yield {
                "nodes": nodes,
                "seed": seed,
                "makespan_s": makespan,
                "bound_s": bound,
                "makespan": makespan / bound,
                "pulls": simulation.pulls / max(TASKS, nodes),
                "took_s": time.perf_counter() - began,
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--seeds", type=int, default=3, help="worlds to draw (default 3)")
    parser.add_argument("--spread", type=float, default=0.1, help="sigma of the executions of a task (default 0.1)")
    parser.add_argument("--recorded", type=int, default=3, help="past executions of a task (default 3)")
    parser.add_argument("--slots", type=int, default=8, help="executions at once on a node (default 8)")
    parser.add_argument("--prefetch", type=int, default=2, help="attempts that a node keeps waiting (default 2)")
    parser.add_argument("--most-makespan", type=float, default=1.05, help="over the lower bound (default 1.05)")
    parser.add_argument("--most-pulls", type=float, default=1.2, help="over max(images, nodes) (default 1.2)")
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    options = parser.parse_args()
    failed = 0
    for row in measure(options):
        failed += row["makespan"] > options.most_makespan or row["pulls"] > options.most_pulls
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        print(
            f"{row['nodes']:5.0f} nodes, world {row['seed']:.0f}: makespan {row['makespan_s']:9,.0f} s = "
            f"{row['makespan']:.3f} × lower bound; pulls {row['pulls']:.3f} × max(images, nodes); "
            f"simulated in {row['took_s']:.1f} s",
            flush=True,
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
