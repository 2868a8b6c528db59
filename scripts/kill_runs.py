"""Kill real things under real runs, at random moments, and have the same command go on: `SIGKILL`, or a full disk.

    python scripts/kill_runs.py [--kills 25] [--seed N] [--only KIND ...] [--tasks FOLDER] [--engine-restart COMMAND]

| kind        | what is killed                                     | graded                  |
|-------------|----------------------------------------------------|-------------------------|
| `driver`    | the driver's process                               | examples, processes     |
| `disk`      | the room on the disk of the run's folder           | examples, processes     |
| `agent`     | an agent of Ray, the driver goes on                | examples, Ray           |
| `raylet`    | the daemon of the driver's own Ray node            | examples, Ray           |
| `container` | a candidate's container, the driver goes on        | a real task, Docker     |
| `docker`    | the driver, over Docker                            | a real task, Docker     |
| `dockerd`   | the Docker Engine, restarted by --engine-restart   | a real task, Docker     |
| `pod`       | a candidate's pod, the driver goes on              | a real task, Kubernetes |

A kind whose means are not there is skipped, and said so: Docker and Kubernetes need FOLDER (`tasks.jsonl`,
`expected.jsonl`, `predictions/`), pods $KUBECONFIG, `disk` root, and `dockerd` is for machines on which nothing else
uses the engine. After at most three kills a run is finished, and its verdicts, its ledger, and containers, pods,
processes and temporary folders are looked at. Exit status 1 when anything is lost, double or left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kill_strikes import (
    ROOT,
    Bench,
    Episode,
    Gone,
    fill_disk,
    gets_through,
    kill_agent,
    kill_container,
    kill_driver,
    kill_engine,
    kill_pod,
    kill_raylet,
    pods,
)

from cluster.ledger import LedgerReader

EXAMPLES: Final = ROOT / "configs" / "examples"
QUICK: Final = ("csvsniff-2", "ratelimit-6", "bytesize-10")
REAL: Final = ("fastify__secure-json-parse-142", "given/secure-json-parse-142:1")
MOST_KILLS: Final = 3


def examples(*options: str) -> Bench:
    """Three of the example tasks, in processes."""
    rows = [json.loads(line) for line in (EXAMPLES / "expected.jsonl").read_text().splitlines()]
    expected = {
        (r["instance_id"], r["arm"], r["seed"]): set(r["accepted_outcomes"]) for r in rows if r["instance_id"] in QUICK
    }
    files = ("--tasks", str(EXAMPLES / "tasks.jsonl"), "--predictions", str(EXAMPLES / "predictions.jsonl"))
    named = [word for task in QUICK for word in ("--task", task)]
    return Bench((*files, *named, "--sandbox", "process", "--workers", "2", *options), expected)


def real(folder: Path, scratch: Path, *options: str) -> Bench:
    """The candidates of one real task."""
    task, _ = REAL
    rows = [json.loads(line) for line in (folder / "expected.jsonl").read_text().splitlines()]
    rows = [r for r in rows if r["instance_id"] == task and "ab-" not in r["model_name_or_path"]]
    names = {r["model_name_or_path"] for r in rows}
    predictions = scratch / "predictions.jsonl"
    seen: set[str] = set()
    with predictions.open("w") as lines:
        for path in sorted((folder / "predictions").glob("*.jsonl")):
            for row in map(json.loads, path.read_text().splitlines()):
                name = row["model_name_or_path"]
                if row["instance_id"] == task and name in names - seen:
                    seen.add(name)
                    lines.write(json.dumps({**row, "arm": name, "seed": 0}) + "\n")
    either = {"tampered", "not_resolved"}
    expected = {
        (task, r["model_name_or_path"], 0): either
        if r["expected_outcome"] == "tampered_or_not_resolved"
        else {r["expected_outcome"], *r.get("accepted_outcomes", ())}
        for r in rows
    }
    files = ("--tasks", str(folder / "tasks.jsonl"), "--predictions", str(predictions), "--task", task)
    return Bench((*files, "--workers", "3", *options), expected)


def check(episode: Episode) -> list[str]:
    """Everything that is not as it should be after a run that was finished."""
    bad: list[str] = []
    lines = [json.loads(line) for line in (episode.out / "outcomes.jsonl").read_text().splitlines()]
    found = {(x["task_id"], x["arm"], x["seed"]): x["outcome"] for x in lines}
    bad += [f"lost, or nobody planned it: {key}" for key in sorted(found.keys() ^ episode.bench.expected.keys())]
    for key, outcome in found.items():
        if outcome not in episode.bench.expected.get(key, {outcome}):
            bad.append(f"{key}: {outcome}, not {episode.bench.expected[key]}")
    reader = LedgerReader(episode.out / "ledger")
    reader.verify()
    executions = Counter(row["execution_key"] for row in reader.rows("execution", ["execution_key"]))
    costs = Counter(
        row["execution_key"] for row in reader.rows("cost", ["kind", "execution_key"]) if row["kind"] == "compute_spent"
    )
    bad += [f"{key} is there {count} times" for key, count in executions.items() if count > 1]
    if costs != executions:
        bad.append(f"costs of {costs.total()} executions, {executions.total()} are there")
    return bad + left(episode)


def left(episode: Episode) -> list[str]:
    """What a run left behind; what is on its way out gets ten seconds."""
    until = time.monotonic() + 10
    while True:
        found = [f"process {p.pid} is left: {' '.join(p.cmdline())[:200]}" for p in episode.processes()]
        found += [f"{path} is left" for root in episode.place.glob("psm-*") for path in root.iterdir() if path.is_dir()]
        if shutil.which("docker"):
            found += [f"container {name} is left" for name in episode.containers()]
        if os.environ.get("KUBECONFIG"):
            found += [f"pod {name} is left" for name, _ in pods(episode.run_id())]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.5)


@contextlib.contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """A disk of its own for a folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@dataclass(frozen=True)
class Kind:
    """A way to kill: how, under what, how often beside the others, and why it cannot be done here."""

    strike: Callable[[Episode], None]
    bench: Callable[[Path], Bench]
    share: int
    missing: str = ""


def kinds(options: argparse.Namespace) -> dict[str, Kind]:
    """All of them, by name."""
    folder: Path | None = options.tasks
    tasks = "" if folder is not None else "--tasks names no folder of real tasks"
    image = subprocess.run(["docker", "image", "inspect", REAL[1]], capture_output=True, check=False).returncode
    docker = tasks or (f"no Docker Engine here has the image {REAL[1]}" if image else "")
    cluster = tasks or ("" if os.environ.get("KUBECONFIG") else "$KUBECONFIG is not set")
    root = "" if os.getuid() == 0 else "only root can mount a small disk"
    restart = docker or ("" if options.engine_restart else "--engine-restart is not given")

    def there(*words: str) -> Callable[[Path], Bench]:
        return lambda scratch: real(folder or Path(), scratch, *words)

    ray = ("--engine", "ray")
    return {
        "driver": Kind(kill_driver, lambda _: examples(), 9),
        "disk": Kind(fill_disk, lambda _: examples(), 3, root),
        "docker": Kind(kill_driver, there(), 6, docker),
        "container": Kind(kill_container, there(), 4, docker),
        "agent": Kind(kill_agent, lambda _: examples(*ray), 2),
        "raylet": Kind(kill_raylet, lambda _: examples(*ray), 1),
        "dockerd": Kind(kill_engine(options.engine_restart or ""), there(), 2, restart),
        "pod": Kind(kill_pod, there("--sandbox", "kubernetes"), 2, cluster),
    }


def one_run(name: str, kind: Kind, kills: int, chance: random.Random) -> tuple[int, list[str]]:
    """A run with up to `kills` kills. Returns how many there were, and what is wrong."""
    struck = 0
    with tempfile.TemporaryDirectory(prefix="psk-", ignore_cleanup_errors=True) as folder:
        episode = Episode(kind.bench(Path(folder)), Path(folder), chance)
        with small_disk(episode.out) if name == "disk" else contextlib.nullcontext():
            try:
                with contextlib.suppress(Gone):
                    for _ in range(kills):
                        kind.strike(episode)
                        struck += 1
                episode.start()
                gets_through(episode)
            except AssertionError as error:
                return struck, [str(error)]
            return struck, check(episode)


def main() -> int:
    """Kill until there were enough kills of every kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the moments")
    parser.add_argument("--only", nargs="+", metavar="KIND", help="only these kinds")
    parser.add_argument("--tasks", type=Path, help="folder of real tasks, for Docker and Kubernetes")
    parser.add_argument("--engine-restart", metavar="COMMAND", help="starts the Docker Engine again")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    able = {}
    for name, kind in kinds(options).items():
        if options.only is not None and name not in options.only:
            continue
        if kind.missing:
            print(f"{name:10} skipped: {kind.missing}", flush=True)
        else:
            able[name] = kind
    print(f"seed {options.seed}", flush=True)
    total, wrong = 0, 0
    shares = sum(kind.share for kind in able.values())
    for name, kind in able.items():
        wanted, made, runs, began = max(1, round(options.kills * kind.share / shares)), 0, 0, time.monotonic()
        while made < wanted and runs < 3 * wanted + 3:
            struck, bad = one_run(name, kind, min(MOST_KILLS, wanted - made), chance)
            made, runs, wrong = made + struck, runs + 1, wrong + len(bad)
            for line in bad:
                print(f"{name:10} {line}", flush=True)
        total += made
        print(f"{name:10} {made} kills in {runs} runs, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{total} kills: {wrong} things lost, double, left behind or wrong", flush=True)
    return int(wrong > 0 or not total)


if __name__ == "__main__":
    sys.exit(main())
