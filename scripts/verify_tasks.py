"""Grade a folder of real tasks with known verdicts, and compare: every (task, candidate), run after run.

    python scripts/verify_tasks.py FOLDER [--runs 3] [--workers 2,8] [--engines local,ray] [--only TEXT] [--skip TEXT]
                                   [--sandbox docker|kubernetes]

FOLDER holds `tasks.jsonl`, `predictions/*.jsonl` and `expected.jsonl` (`instance_id`, `model_name_or_path`,
`expected_outcome`, perhaps `accepted_outcomes`; `tampered_or_not_resolved` accepts either). Every combination of run,
workers and engine grades everything anew, into a fresh folder, and afterwards looks for containers or pods left over.
Exit status 1 when anything differs. `--sandbox kubernetes` takes its cluster from $KUBECONFIG, and how it is used from
the file that $PARSIMONY_KUBERNETES names.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cluster.agent import SandboxSpec
from cluster.ledger import LedgerReader
from cluster.sandboxes import labels
from parsimony.cli.clusters import cluster_choice

Key = tuple[str, str]


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON lines file."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def accepted(row: Mapping[str, Any]) -> set[str]:
    """The outcomes that an honest grader may give."""
    outcome = row["expected_outcome"]
    either = {"tampered", "not_resolved"} if outcome == "tampered_or_not_resolved" else {outcome}
    return either | set(row.get("accepted_outcomes", ()))


def predictions(folder: Path, out: Path, only: str, skip: str | None) -> dict[tuple[str, str, int], Key]:
    """One file with every candidate once, its model as its arm; returns who is who in the outcomes."""
    seen: dict[Key, None] = {}
    arms: dict[tuple[str, str, int], Key] = {}
    with out.open("w", encoding="utf-8") as lines:
        for path in sorted((folder / "predictions").glob("*.jsonl")):
            for row in read(path):
                key = row["instance_id"], row["model_name_or_path"]
                named = " ".join(key)
                if key in seen or only not in named or (skip is not None and skip in named):
                    continue
                seen[key] = None
                arms[row["instance_id"], row["model_name_or_path"], 0] = key
                lines.write(json.dumps({**row, "arm": row["model_name_or_path"], "seed": 0}) + "\n")
    return arms


def grade(folder: Path, candidates: Path, out: Path, workers: int, engine: str, sandbox: str) -> float:
    """Seconds of one whole command."""
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", "--json"]
    command += ["--tasks", str(folder / "tasks.jsonl"), "--predictions", str(candidates), "--out", str(out)]
    command += ["--workers", str(workers), "--engine", engine, "--sandbox", sandbox]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in {0, 3}:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr[-2000:]}")
    return time.monotonic() - began


def leftovers(out: Path, sandbox: str) -> list[str]:
    """Containers or pods of this run that are still there."""
    events = LedgerReader(out / "ledger").rows("event")
    run = next(json.loads(row["data"])["run_id"] for row in events if row["name"] == "run.started")
    if sandbox == "kubernetes":
        return asyncio.run(pods(run))
    command = ["docker", "ps", "-aq", "--filter", f"label={labels.RUN}={run}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


async def pods(run: str) -> list[str]:
    """Pods of a run that were left behind; they are removed by this."""
    sandbox = await SandboxSpec("kubernetes", cluster_choice().options).open(1)
    try:
        return await sandbox.reap(run)
    finally:
        await sandbox.close()


def compare(
    out: Path, arms: Mapping[tuple[str, str, int], Key], expected: Mapping[Key, Mapping[str, Any]]
) -> list[str]:
    """A line per candidate whose outcome is not accepted."""
    wrong = []
    for line in read(out / "outcomes.jsonl"):
        key = arms[line["task_id"], line["arm"], line["seed"]]
        wanted = accepted(expected[key])
        if line["outcome"] not in wanted:
            wrong.append(
                f"{key[0]} {key[1]}: {line['outcome']}, not {' or '.join(sorted(wanted))}: {line['reasons'][:2]}"
            )
    return wrong


def main() -> int:
    """Run every combination."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", default="2,8")
    parser.add_argument("--engines", default="local,ray")
    parser.add_argument("--sandbox", default="docker", choices=("docker", "kubernetes"))
    parser.add_argument("--only", default="", help="only candidates with this text in task or model")
    parser.add_argument("--skip", help="no candidates with this text in task or model")
    options = parser.parse_args()
    expected = {(r["instance_id"], r["model_name_or_path"]): r for r in read(options.folder / "expected.jsonl")}
    bad, kind = 0, "pods" if options.sandbox == "kubernetes" else "containers"
    with tempfile.TemporaryDirectory() as name:
        candidates = Path(name, "predictions.jsonl")
        arms = predictions(options.folder, candidates, options.only, options.skip)
        for engine in options.engines.split(","):
            for workers in map(int, options.workers.split(",")):
                for run in range(1, options.runs + 1):
                    out = Path(name, f"{engine}-{workers}-{run}")
                    seconds = grade(options.folder, candidates, out, workers, engine, options.sandbox)
                    wrong = compare(out, arms, expected)
                    left = leftovers(out, options.sandbox)
                    bad += len(wrong) + len(left)
                    good = len(arms) - len(wrong)
                    what = f"{good} of {len(arms)} as expected, {seconds:.0f} s, {len(left)} {kind} left"
                    print(f"{engine}, {workers} workers, run {run}: {what}", flush=True)
                    for line in wrong:
                        print(f"  {line}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
