"""How long it takes to open and summarise a ledger of a million scores and as many executions.

    python benchmarks/ledger_scale.py [--rows N] [--keep DIRECTORY]

Builds the ledger in a temporary directory with the real writer (the last rows stay in the journal, as a killed run
leaves them), then measures each reader in a process of its own, start of Python and imports included:

    summary   LedgerReader + summarise: page checksums and footers verified, newest score per key, counts, sums
    floor     pyarrow reads the same columns of the same segments, json the same journal; nothing is verified or counted
    resume    Ledger.open by the next writer, and the keys of all executions

Exit status 1 when the summary takes more than 3 s or 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cluster.ledger import Ledger, LedgerReader
from cluster.ledger.summary import summarise

LIMIT_SECONDS = 3.0
LIMIT_BYTES = 1_000_000_000
FLUSH_EVERY = 100
REPEATS = 3


def rows(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Scores and executions of a sweep: 5 arms, 6 seeds, the tasks that make up the number; a ninth was retried."""
    chance = random.Random(1)
    outcomes = ["resolved", "not_resolved", "not_resolved", "timed_out", "does_not_apply"]
    now = 1.8e9
    for number in range(count):
        now += 0.05
        key = f"sha256:{chance.getrandbits(256):064x}"
        seconds = round(chance.expovariate(1 / 20), 3)
        used = {"wall_seconds": seconds, "cpu_seconds": seconds * 0.9, "peak_memory_bytes": chance.getrandbits(28)}
        outcome = chance.choice(outcomes)
        task = f"owner__project-{number // 30:05d}"
        common = {"execution_key": key, "patch_ref": f"sha256:{chance.getrandbits(256):064x}", "recorded_at": now}
        if number % 9 == 0:
            yield "attempt", {"job_key": key, "attempt": 1, "agent": "n1", "started_at": now - 1, "ending": "temporary"}
        yield (
            "execution",
            {
                **common,
                **used,
                "task_id": task,
                "sandbox": "docker",
                "repeat": 0,
                "outcome": outcome if outcome in {"timed_out", "does_not_apply"} else "completed",
                "exit_status": number % 3,
                "evidence": "report",
                "reasons": ["2 of 5 tests that should pass fail"],
                "tests": chance.randbytes(200),
                "log_bytes": chance.getrandbits(20),
                "started_at": now - seconds,
            },
        )
        yield (
            "score",
            {
                **common,
                **used,
                "task_id": task,
                "arm": f"arm-{number % 5}",
                "seed": number // 5 % 6,
                "repeat": 0,
                "score_key": f"sha256:{chance.getrandbits(256):064x}",
                "outcome": outcome,
                "evidence": "report",
                "attempts": 1,
                "score": json.dumps({"instance_id": task, "resolved": outcome == "resolved"}),
            },
        )


def build(directory: Path, count: int) -> dict[str, float]:
    """Write the ledger; rows per second with an fsync for every 100, segments and all."""
    started = time.perf_counter()
    longest = 0.0
    written = 0
    ledger = Ledger.open(directory)
    for kind, row in rows(count):
        ledger.append(kind, row)
        written += 1
        if written % FLUSH_EVERY == 0:
            before = time.perf_counter()
            ledger.flush()
            longest = max(longest, time.perf_counter() - before)
    ledger.close(seal=False)
    elapsed = time.perf_counter() - started
    return {"rows": written, "rows_per_second": written / elapsed, "longest_flush_seconds": longest}


def summary(directory: Path) -> object:
    found = summarise(directory)
    return sum(item.count for item in found.outcomes)


def floor(directory: Path) -> object:
    columns = {
        "score": ["task_id", "arm", "seed", "repeat", "outcome", "recorded_at"],
        "execution": ["outcome"],
        "attempt": ["started_at", "ended_at", "ending"],
    }
    read = 0
    for kind, names in columns.items():
        tables = [pq.ParquetFile(path).read(columns=names) for path in sorted(directory.glob(f"{kind}-*.parquet"))]
        read += len(pa.concat_tables(tables)) if kind == "score" and tables else 0
    for path in directory.glob("wal-*.jsonl"):
        with path.open("rb") as file:
            read += sum(json.loads(line[9:])["kind"] == "score" for line in file)
    return read


def resume(directory: Path) -> object:
    ledger = Ledger.open(directory)
    keys = {row["execution_key"] for row in LedgerReader(directory).rows("execution", ["execution_key"])}
    ledger.close(seal=False)
    return len(keys)


READERS: dict[str, Callable[[Path], object]] = {"summary": summary, "floor": floor, "resume": resume}


def measured(name: str, directory: Path) -> dict[str, Any]:
    """The best of a few runs of a reader, each in a new process."""
    runs = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        command = [sys.executable, __file__, "--read", name, "--keep", str(directory)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append({"process_seconds": time.perf_counter() - started, **json.loads(output)})
    return min(runs, key=lambda run: float(run["process_seconds"]))


def read(name: str, directory: Path) -> None:
    """In the new process: read, and say what it took."""
    started = time.perf_counter()
    result = READERS[name](directory)
    elapsed = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": elapsed, "peak_bytes": peak, "result": result}))


def report(directory: Path, count: int) -> int:
    if not directory.exists() or not any(directory.iterdir()):
        built = build(directory, count)
        print(
            f"build     {built['rows']:,.0f} rows, {built['rows_per_second']:,.0f} rows/s with an fsync every "
            f"{FLUSH_EVERY} rows and all seals, longest flush {built['longest_flush_seconds']:.2f} s"
        )
    size = sum(path.stat().st_size for path in directory.iterdir())
    journal = sum(path.stat().st_size for path in directory.glob("wal-*"))
    segments = len(list(directory.glob("*.parquet")))
    print(f"ledger    {size / 1e6:,.0f} MB in {segments} segments, {journal / 1e6:,.0f} MB of it in the journal")
    found = {name: measured(name, directory) for name in READERS}
    for name, run in found.items():
        print(
            f"{name:<9} {run['process_seconds']:.2f} s with Python and imports, {run['seconds']:.2f} s without, "
            f"{run['peak_bytes'] / 1e6:,.0f} MB peak, result {run['result']:,}"
        )
    ours, plain = found["summary"], found["floor"]
    print(f"summary / floor: {ours['process_seconds'] / plain['process_seconds']:.2f}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    within = ours["process_seconds"] < LIMIT_SECONDS and ours["peak_bytes"] < LIMIT_BYTES
    print(f"under {LIMIT_SECONDS:.0f} s and {LIMIT_BYTES / 1e9:.0f} GB: {'yes' if within else 'NO'}")
    return 0 if within else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Open and summarise a large ledger.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="scores, and as many executions")
    parser.add_argument("--keep", type=Path, help="build here and keep it, or measure what is here already")
    parser.add_argument("--read", choices=sorted(READERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(options.read, options.keep)
        return 0
    if options.keep:
        return report(options.keep, options.rows)
    with tempfile.TemporaryDirectory() as temporary:
        return report(Path(temporary) / "ledger", options.rows)


if __name__ == "__main__":
    sys.exit(main())
