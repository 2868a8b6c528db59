"""How much longer whole gradings take than the bare commands of Docker that do the same work, for each engine.

    python benchmarks/grading_floor.py --tasks FOLDER [--count 96] [--workers 4] [--engines local,ray] [--limit 1.15]

FOLDER holds `tasks.jsonl` and `predictions/predictions-gold.jsonl`; their images must be here. Graded are gold patches
of tasks whose tests take under two seconds, repeated until there are `--count`.

The floor is written by hand with the docker command line, for each grading: create, copy the patches in, start (apply
both patches, run the test command), wait, copy the log out, remove by force. It checks nothing: no report, no restored
files, no canaries. Both use the same limits, images and number at once, in the same run, in alternating rounds; the
ratio is of the medians. Engines are warm: their start-up is reported beside and is not part of the ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

from cluster.agent import SandboxSpec
from cluster.dispatch import Ending, Job
from cluster.driver import DriveOptions, drive
from cluster.engines import Engine, EngineSpec, create_engine
from cluster.sandboxes import labels
from parsimony import scorer
from parsimony.execution import Execution
from parsimony.runner import GradingOrder, Policy, build_order
from parsimony.tasks import Task, read_tasks
from parsimony.testreports import FORMATS

SHORT_S = 2.0


def short_tasks(folder: Path) -> list[Task]:
    """Tasks whose tests were measured to take under `SHORT_S` seconds."""
    tasks = read_tasks(folder / "tasks.jsonl", formats=FORMATS).tasks
    return [t for t in tasks if max(measured(t).get("test_s_after", [9.0])) < SHORT_S]


def measured(task: Task) -> dict[str, list[float]]:
    """The row's own measurements, {} where it has none."""
    found = task.row.get("measured")
    return found if isinstance(found, dict) else {}


def floor(work: Sequence[Task], workers: int) -> float:
    """Seconds for the gradings by hand."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        began = time.monotonic()
        done = [pool.submit(_by_hand, task, Path(folder, str(n))) for n, task in enumerate(work)]
        for one in done:
            one.result()
        return time.monotonic() - began


def _by_hand(task: Task, folder: Path) -> None:
    name = f"floor-{uuid.uuid4().hex[:12]}"
    inbox = folder / "in"
    inbox.mkdir(parents=True)
    (inbox / "candidate.patch").write_bytes(task.patch)
    (inbox / "test.patch").write_bytes(task.test_patch)
    script = (
        "cd /testbed && git apply /in/candidate.patch && git apply /in/test.patch && "
        f"{{ {task.test_cmd}; }} >/tmp/log 2>&1"
    )
    limits = ["--network", "none", "--memory", "3g", "--memory-swap", "3g", "--cpus", "1", "--pids-limit", "512"]

    def docker(*arguments: str) -> None:
        subprocess.run(["docker", *arguments], check=True, stdout=subprocess.DEVNULL)

    docker("create", "--name", name, "--init", *limits, str(task.image), "bash", "-c", script)
    docker("cp", str(inbox), f"{name}:/in")
    docker("start", name)
    docker("wait", name)
    docker("cp", f"{name}:/tmp/log", str(folder / "log"))
    docker("rm", "-f", name)


class Tally:
    """A sink that keeps executions in memory."""

    def __init__(self) -> None:
        self.executions: dict[str, Execution] = {}
        self.faults: list[str] = []

    def attempt_started(self, job: Job, attempt: int, agent: str) -> None:
        """Not of interest here."""

    def attempt_ended(self, job: Job, attempt: int, ending: Ending, fault: str, message: str) -> None:
        """Faults would make the comparison meaningless."""
        if fault:
            self.faults.append(f"{fault}: {message}")

    def terminal(self, job: Job, execution: Execution | None, reasons: tuple[str, ...]) -> None:
        """Keep it."""
        if execution is not None:
            self.executions[job.key] = execution

    def flush_if_due(self) -> None:
        """Nothing is written."""

    def flush(self) -> None:
        """Nothing is written."""


async def ours(engine: Engine, work: Sequence[Task]) -> tuple[float, int]:
    """Seconds for the gradings through an engine that is warm, and how many resolved."""
    run, tally = uuid.uuid4().hex[:8], Tally()
    by_key = {f"sha256:{run}{n:056x}": task for n, task in enumerate(work)}

    def order(job: Job, attempt: int) -> GradingOrder:
        task = by_key[job.key]
        marks = {labels.MANAGED_BY: labels.OURS, labels.RUN: run}
        return build_order(
            task,
            task.patch,
            key=job.key,
            run_id=run,
            attempt=attempt,
            limits=task.limits,
            policy=Policy(),
            labels=marks,
        )

    jobs = [Job(key, task.image, None, n) for n, (key, task) in enumerate(by_key.items())]
    began = time.monotonic()
    await drive(jobs, order, engine, tally, DriveOptions(signals=False))
    seconds = time.monotonic() - began
    if tally.faults:
        raise SystemExit(f"infrastructure failed: {tally.faults[0]}")
    verdicts = [scorer.score(task, "gold", tally.executions[key], graded_at=0).outcome for key, task in by_key.items()]
    return seconds, sum(v is scorer.Outcome.RESOLVED for v in verdicts)


async def compare(kind: str, work: Sequence[Task], workers: int, rounds: int) -> float:
    """Print the figures of one engine; returns the ratio."""
    began = time.monotonic()
    async with create_engine(EngineSpec(kind), SandboxSpec("docker"), slots=workers) as engine:
        for image in dict.fromkeys(task.image for task in work):
            await engine.environment_digest(image)
        await ours(engine, work[:workers])
        started = time.monotonic() - began
        floors, own = [], []
        for _ in range(rounds):
            floors.append(await asyncio.to_thread(floor, work, workers))
            seconds, resolved = await ours(engine, work)
            own.append(seconds)
            print(
                f"  {kind}: floor {floors[-1]:.1f} s, ours {own[-1]:.1f} s, {resolved}/{len(work)} resolved", flush=True
            )
    ratio = statistics.median(own) / statistics.median(floors)
    print(
        f"{kind}: start-up and first gradings {started:.1f} s; {len(work)} gradings, {workers} at once: "
        f"{statistics.median(own):.1f} s against a floor of {statistics.median(floors):.1f} s, ratio {ratio:.3f}"
    )
    return ratio


def main() -> Iterator[float]:
    """Run it; yields a ratio per engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--count", type=int, default=96)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="local,ray")
    parser.add_argument("--limit", type=float, default=1.15)
    options = parser.parse_args()
    work = list(islice(cycle(short_tasks(options.tasks)), options.count))
    for kind in options.engines.split(","):
        ratio = asyncio.run(compare(kind, work, options.workers, options.rounds))
        if ratio > options.limit:
            print(f"{kind}: above the limit of {options.limit}")
        yield ratio / options.limit


if __name__ == "__main__":
    sys.exit(any(share > 1 for share in list(main())))
