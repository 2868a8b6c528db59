"""How fast jobs that do nothing go through driver, dispatcher and agent, beside bare calls of the same kind of actor.

    python benchmarks/dispatch_rate.py [--count 100000] [--slots 64] [--address A] [--least 0.6] [--most-growth 50]

The bare rate is that of an asynchronous Ray actor with the options of an agent (no CPUs, no restarts, the same
concurrency) whose method takes and gives nothing, with as many calls under way as an agent's window holds, in the same
process, before, between and after the driven parts, so that whatever else the machine does hits both alike. The driven
jobs carry a real request there and a real execution back.

Also measured: the growth of the driver's memory from job 10,000 to the last, and the rate of the local engine. Exit
status 1 when the driven rate is below `--least` of the bare one, or the memory grows by more than `--most-growth` MB.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import dataclass
from typing import Any

import psutil
import ray

from cluster.agent import AgentSpec
from cluster.dispatch import Ending, Job
from cluster.driver import DriveOptions, drive
from cluster.engines import Engine
from cluster.engines.local import LocalEngine
from cluster.engines.ray import RayEngine
from cluster.engines.ray.engine import PREFETCH
from cluster.engines.ray.fleet import CALLS
from cluster.engines.ray.session import connect
from cluster.sandboxes.fake import FakeSandbox, ended
from parsimony.execution import ApplyRecord, Evidence, Execution, ExecutionOutcome, ExecutionRequest, SandboxResult

FIRST_SAMPLE = 10_000
BARE_SHARE = 10
"""A bare part has one call for so many driven jobs."""


@dataclass(frozen=True)
class NoOrder:
    """An order whose execution is made up."""

    request: ExecutionRequest


class NoSandbox:
    """Opens a sandbox that runs nothing and forgets what it was asked."""

    async def open(self, slots: int) -> FakeSandbox:
        sandbox = FakeSandbox(lambda request: ended())
        sandbox.requests = Forgetful()
        return sandbox


class Forgetful(list[ExecutionRequest]):
    """A list that stays empty, so that the agent does not grow."""

    def append(self, item: ExecutionRequest, /) -> None:
        pass


def read(order: Any, result: SandboxResult, /, *, sandbox: str) -> Execution:
    return Execution(
        execution_key=order.request.execution_key,
        outcome=ExecutionOutcome.COMPLETED,
        exit_status=0,
        tests={},
        evidence=Evidence.NONE,
        reasons=(),
        apply=ApplyRecord(),
        usage=result.usage,
        phases=result.phases,
        log=result.log,
        sandbox=sandbox,
        runner_version="0",
        started_at=0.0,
    )


class Memory:
    """A sink that records nothing but the driver's memory on the way."""

    def __init__(self) -> None:
        self.ended = 0
        self.samples: list[tuple[int, int]] = []

    def attempt_started(self, job: Job, attempt: int, agent: str) -> None:
        pass

    def attempt_ended(self, job: Job, attempt: int, ending: Ending, fault: str, message: str) -> None:
        if fault:
            print(f"   {job.key}: {fault}: {message}", file=sys.stderr)

    def terminal(self, job: Job, execution: Execution | None, reasons: tuple[str, ...]) -> None:
        self.ended += 1
        if self.ended % FIRST_SAMPLE == 0:
            self.samples.append((self.ended, psutil.Process().memory_info().rss))

    def flush_if_due(self) -> None:
        pass

    def flush(self) -> None:
        pass


class Bare:
    """The same kind of actor, with nothing in it."""

    async def call(self) -> None:
        pass


async def bare_rate(calls: int, window: int) -> float:
    """Calls a second."""
    options = {"num_cpus": 0, "max_restarts": 0, "max_task_retries": 0, "max_concurrency": window + CALLS}
    actor = ray.remote(Bare).options(**options).remote()
    await actor.call.remote()
    left = calls

    async def caller() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await actor.call.remote()

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(window)))
    rate = calls / (time.perf_counter() - began)
    ray.kill(actor)
    return rate


async def driven_rate(engine: Engine, count: int, sink: Memory) -> float:
    """Jobs a second, through everything."""
    jobs = [Job(f"sha256:{number:064x}", f"image-{number // 6}", 1.0, number) for number in range(count)]
    began = time.perf_counter()
    result = await drive(jobs, _order, engine, sink, DriveOptions(signals=False))
    seconds = time.perf_counter() - began
    assert result.counts.done == count, result
    return count / seconds


def _order(job: Job, attempt: int) -> NoOrder:
    request = ExecutionRequest(
        job.key, f"bench-{job.rank}-{attempt}", ("true",), {"run.sh": b"true\n"}, image=job.image
    )
    return NoOrder(request)


async def measure(count: int, slots: int, address: str | None) -> tuple[float, float | None]:
    """Print everything; returns the share of the bare rate and the growth in MB."""
    spec = AgentSpec(NoSandbox(), read, slots)
    window = slots + PREFETCH
    async with LocalEngine(spec) as engine:
        print(f"local engine: {await driven_rate(engine, count, Memory()):10,.0f} jobs/s")
    began = time.perf_counter()
    connect(address)
    bare = [await bare_rate(count // BARE_SHARE, window)]
    driven = 0.0
    sink = Memory()
    async with RayEngine(spec) as engine:
        print(f"ray start-up: {time.perf_counter() - began:10.1f} s (with the first bare part)")
        driven = await driven_rate(engine, count, sink)
    bare.append(await bare_rate(count // BARE_SHARE, window))
    print("bare calls:   " + "".join(f"{rate:10,.0f}/s" for rate in bare))
    share = driven / (sum(bare) / len(bare))
    print(f"ray engine:   {driven:10,.0f} jobs/s = {share:.0%} of the bare rate")
    growth = (sink.samples[-1][1] - sink.samples[0][1]) / 1e6 if len(sink.samples) > 1 else None
    if growth is not None:
        told = f"from job {sink.samples[0][0]:,} to job {sink.samples[-1][0]:,}"
        print(f"driver grew:  {growth:10.1f} MB {told}")
    return share, growth


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="jobs (default 100000)")
    parser.add_argument("--slots", type=int, default=64, help="attempts at once (default 64)")
    parser.add_argument("--address", help="of a Ray cluster; without it, a Ray of our own")
    parser.add_argument("--least", type=float, default=0.6, help="share of the bare rate to reach (default 0.6)")
    parser.add_argument("--most-growth", type=float, default=50.0, help="MB that the driver may grow (default 50)")
    options = parser.parse_args()
    share, growth = asyncio.run(measure(options.count, options.slots, options.address))
    ray.shutdown()
    return int(share < options.least or (growth or 0.0) > options.most_growth)


if __name__ == "__main__":
    sys.exit(main())
