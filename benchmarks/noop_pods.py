"""Many pods that do nothing, through a real API server: what does the driver need, and what does it ask for?

    python benchmarks/noop_pods.py [PODS] [--at-once 32] [--image IMAGE]

Uses the cluster that $KUBECONFIG names, as $PARSIMONY_KUBERNETES says. Prints, and checks, that memory after the first
tenth stays flat (within 16 MiB), that the API got at most 6 requests a pod, all of them counted, and that nothing is
left. Exit status 1 when one of these does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
import uuid
from pathlib import Path

from cluster.agent import SandboxSpec
from cluster.sandboxes import labels
from cluster.sandboxes.kubernetes.pod import attempt_selector
from cluster.sandboxes.kubernetes.sandbox import KubernetesSandbox
from parsimony.cli.clusters import cluster_choice
from parsimony.errors import TemporaryError
from parsimony.execution import MIB, ExecutionRequest, Limits

FLAT = 16 * MIB
MOST_REQUESTS = 6


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def measure(count: int, at_once: int, image: str) -> int:
    run = f"noop-{uuid.uuid4().hex[:8]}"
    limits = Limits(
        timeout_s=60, overhead_s=0, cpus=0.02, memory_bytes=32 * MIB, disk_bytes=16 * MIB, output_bytes=4096
    )
    sandbox = await SandboxSpec("kubernetes", cluster_choice().options).open(at_once)
    assert isinstance(sandbox, KubernetesSandbox)
    slots, memory, done, faults, began = asyncio.Semaphore(at_once), list[int](), 0, 0, time.monotonic()

    async def one(number: int) -> None:
        nonlocal done, faults
        name = f"psm-{run}-{number}"
        marks = {labels.RUN: run, labels.ATTEMPT: "1"}
        request = ExecutionRequest(f"sha256:{name}", name, ("true",), {}, limits=limits, image=image, labels=marks)
        async with slots:
            try:
                assert (await sandbox.run(request)).exit_status == 0
            except TemporaryError as error:
                faults += 1
                print(f"{name}: {error}", flush=True)
        done += 1
        if done % max(1, count // 10) == 0:
            memory.append(resident())
            rate = done / (time.monotonic() - began)
            print(f"{done} pods, {rate:.2f} a second, {memory[-1] / MIB:.1f} MiB in memory", flush=True)

    await asyncio.gather(*(one(number) for number in range(count)))
    await sandbox.close()
    requests = sandbox.requests
    again = await SandboxSpec("kubernetes", cluster_choice().options).open(1)
    assert isinstance(again, KubernetesSandbox)
    left = [pod["metadata"]["name"] for pod in again.pods(attempt_selector(run))]
    await again.close()
    each = sum(requests.values()) / count
    print(f"{count} pods in {time.monotonic() - began:.0f} s, {faults} faults, {len(left)} left")
    print(f"{each:.2f} requests a pod: {requests}; memory grew by {(max(memory) - memory[0]) / MIB:.1f} MiB")
    return int(bool(left) or bool(faults) or each > MOST_REQUESTS or max(memory) - memory[0] > FLAT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pods", type=int, nargs="?", default=500)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--image", default="debian:bookworm-slim")
    options = parser.parse_args()
    return asyncio.run(measure(options.pods, options.at_once, options.image))


if __name__ == "__main__":
    sys.exit(main())
