"""How much longer short gradings take through the docker sandbox than by the bare commands of Docker itself.

    python benchmarks/sandbox_floor.py [IMAGE] [--count 96] [--workers 2,8] [--rounds 3] [--limit 1.15]

The floor is what anyone would write by hand: `docker create`, `docker cp` in, `docker start`, `docker wait`,
`docker cp` out, `docker rm -f`, with the same hardening flags, files and command, the same number at once, on the same
machine and in the same run. Rounds of both alternate, so that whatever else the machine does hits both alike; the
ratio is of the medians. Removal is part of both: the sandbox removes in the background, and its clock stops when
`close` has returned. Exit status 1 when a ratio is above the limit.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster.sandboxes import labels
from cluster.sandboxes.container_config import KEPT_CAPABILITIES, OPEN_FILES
from cluster.sandboxes.docker import DockerEngine, DockerSandbox
from parsimony.execution import ExecutionRequest, Limits, SandboxResult

FILES = {
    "run.sh": b'cat "$PARSIMONY_IN"/data/* >"$PARSIMONY_OUT/report.json"\n',
    **{f"data/{n}": b"x" * 2000 for n in range(8)},
}
SCRIPT = 'sh "$PARSIMONY_IN/run.sh"'
LIMITS = Limits(timeout_s=60, overhead_s=0, memory_bytes=1 << 30)
RUN = f"bench-{uuid.uuid4().hex[:8]}"
PHASES = ("create", "inject", "start", "run", "collect")


def floor(image: str, count: int, workers: int) -> float:
    """Seconds for `count` containers by the command line, `workers` at once."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "parsimony")
        for name, data in FILES.items():
            path = tree / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (tree / "out").mkdir()
        (tree / "work").mkdir()
        began = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            for done in [
                pool.submit(_by_hand, image, f"{RUN}-floor-{uuid.uuid4().hex[:8]}", tree) for _ in range(count)
            ]:
                done.result()
        return time.monotonic() - began


def _by_hand(image: str, name: str, tree: Path) -> None:
    def docker(*arguments: str) -> None:
        subprocess.run(["docker", *arguments], check=True, stdout=subprocess.DEVNULL)

    flags = ["--network=none", "--init", "--cap-drop=ALL", *(f"--cap-add={name}" for name in KEPT_CAPABILITIES)]
    flags += [
        "--security-opt=no-new-privileges",
        f"--memory={LIMITS.memory_bytes}",
        f"--memory-swap={LIMITS.memory_bytes}",
    ]
    flags += [
        f"--cpus={LIMITS.cpus}",
        f"--pids-limit={LIMITS.pids}",
        f"--ulimit=nofile={OPEN_FILES}",
        "--ulimit=core=0",
    ]
    flags += ["--env=PARSIMONY_IN=/parsimony/in", "--env=PARSIMONY_OUT=/parsimony/out", "--workdir=/parsimony/work"]
    docker("create", f"--name={name}", f"--label={labels.RUN}={RUN}", *flags, image, "/bin/sh", "-c", SCRIPT)
    try:
        docker("cp", str(tree), f"{name}:/")
        docker("start", name)
        docker("wait", name)
        with tempfile.TemporaryDirectory() as out:
            docker("cp", f"{name}:/parsimony/out", out)
            assert Path(out, "out", "report.json").stat().st_size == 16_000
    finally:
        docker("rm", "-f", name)


class TimedEngine(DockerEngine):
    """Notes how long removals take."""

    removals: list[float]

    def remove(self, container: str) -> None:
        """See `Engine`."""
        began = time.monotonic()
        super().remove(container)
        self.removals.append(time.monotonic() - began)


async def sandboxed(image: str, count: int, workers: int, removals: list[float]) -> tuple[float, list[SandboxResult]]:
    """Seconds for the same through the sandbox, which is open before the clock starts."""
    engine = TimedEngine(workers)
    engine.removals = removals
    sandbox = DockerSandbox(engine, workers)
    await sandbox.environment_digest(image)
    began = time.monotonic()
    results = await asyncio.gather(*(sandbox.run(_request(image)) for _ in range(count)))
    await sandbox.close()
    seconds = time.monotonic() - began
    assert all(len(result.outputs["report.json"]) == 16_000 for result in results)
    return seconds, results


def _request(image: str) -> ExecutionRequest:
    name = f"{RUN}-{uuid.uuid4().hex[:12]}"
    command = ("/bin/sh", "-c", SCRIPT)
    return ExecutionRequest(name, name, command, FILES, LIMITS, image, labels={labels.RUN: RUN, labels.ATTEMPT: "1"})


def compare(image: str, count: int, workers: int, rounds: int) -> float:
    """Alternate both, print what was seen, and return the ratio."""
    floors: list[float] = []
    ours: list[float] = []
    results: list[SandboxResult] = []
    removals: list[float] = []
    for _ in range(rounds):
        floors.append(floor(image, count, workers))
        seconds, seen = asyncio.run(sandboxed(image, count, workers, removals))
        ours.append(seconds)
        results += seen
    ratio = statistics.median(ours) / statistics.median(floors)
    print(f"{workers} workers, {count} containers, {rounds} rounds")
    print(f"  floor    {_spread(floors)}   {count / statistics.median(floors):5.2f} a second")
    print(f"  sandbox  {_spread(ours)}   {count / statistics.median(ours):5.2f} a second")
    print(f"  ratio    {ratio:.3f}")
    for phase in PHASES:
        print(f"  {phase:8} {_percentiles([result.phases[phase] for result in results])}")
    print(f"  removal  {_percentiles(removals)}   in the background")
    return ratio


def _spread(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):7.2f} s   ({min(seconds):.2f} to {max(seconds):.2f})"


def _percentiles(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.3f} s   p95 {sorted(seconds)[int(0.95 * (len(seconds) - 1))]:.3f} s"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", nargs="?", default="python:3.11-slim-bookworm")
    parser.add_argument("--count", type=int, default=96)
    parser.add_argument("--workers", default="2,8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1.15)
    arguments = parser.parse_args()
    workers = [int(number) for number in arguments.workers.split(",")]
    ratios = [compare(arguments.image, arguments.count, number, arguments.rounds) for number in workers]
    worst = max(ratios)
    print(f"worst ratio {worst:.3f}, limit {arguments.limit}")
    return int(worst > arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
