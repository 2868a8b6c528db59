"""How long `parsimony compare` takes on a run of 500 tasks × 10 seeds × 4 arms.

    python benchmarks/compare_scale.py [--tasks N] [--seeds N] [--arms N] [--keep DIR]

The run is synthetic, and its folder is real: tasks, predictions and sweep as files, 20,000 executions, verdicts and
costs through the real recorder into a real ledger, results derived from it. Then the command runs as a user runs it, in
a process of its own, start of Python and imports included. Exit status 1 when it takes more than 10 s of processor time
(it is one thread: on a machine that does nothing else, that is the time on the clock, which is printed too).
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
from pathlib import Path

import yaml

from cluster.dispatch import Job
from cluster.grading import judge_of
from cluster.plan import Environment, load, make_plan
from cluster.session import Session
from cluster.sweep import read_sweep
from parsimony.cli.progress import Quiet
from parsimony.execution import (
    ApplyRecord,
    CapturedOutput,
    Evidence,
    Execution,
    ExecutionOutcome,
    ResourceUsage,
    TestResult,
    TestStatus,
)

LIMIT_S = 10.0
IMAGE = "example/task:1"
DIGEST = "sha256:" + "0" * 64
PATCH = "diff --git a/mod.py b/mod.py\n--- a/mod.py\n+++ b/mod.py\n@@ -1 +1 @@\n-x = 0\n+x = {}\n"


def write_inputs(folder: Path, tasks: int, seeds: int, arms: int) -> Path:
    """Tasks of 40 repositories, a candidate for each seed and arm, and the sweep that names them."""
    chance = random.Random(1)
    names = ["baseline", *(f"candidate-{number}" for number in range(1, arms))]
    rows = [
        {
            "instance_id": f"owner__project{number % 40}-{number}",
            "repo": f"owner/project{number % 40}",
            "base_commit": "0" * 40,
            "patch": PATCH.format("gold"),
            "FAIL_TO_PASS": ["t.py::bug"],
            "PASS_TO_PASS": ["t.py::old"],
            "image": IMAGE,
            "test_cmd": "pytest t.py",
            "log_format": "pytest",
        }
        for number in range(tasks)
    ]
    candidates = (
        {
            "instance_id": row["instance_id"],
            "arm": arm,
            "seed": seed,
            "model_patch": PATCH.format(f"{place}{seed:03d}{index:05d}"),
            "usage": {
                "model": "example",
                "input_tokens": chance.randrange(10_000, 200_000),
                "output_tokens": chance.randrange(1_000, 20_000),
                "calls": chance.randrange(5, 60),
                "dollars": round(chance.uniform(0.05, 2.0) * (1 + 0.2 * place), 4),
            },
        }
        for index, row in enumerate(rows)
        for place, arm in enumerate(names)
        for seed in range(1, seeds + 1)
    )
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in candidates))
    sweep = {
        "name": "scale",
        "tasks": "tasks.jsonl",
        "predictions": "predictions.jsonl",
        "arms": {name: {"harness_version": name} for name in names},
        "seeds": list(range(1, seeds + 1)),
        "frozen": {"model": "example", "temperature": 0.0, "token_budget": 1000, "tool_budget": 100},
        "sandbox": {"kind": "docker"},
        "footprint": "off",
    }
    (folder / "sweep.yaml").write_text(yaml.safe_dump(sweep))
    return folder / "sweep.yaml"


def execution(key: str, *, resolved: bool, seconds: float) -> Execution:
    """What a sandbox would have seen."""
    found = {
        "t.py::bug": TestResult(TestStatus.PASSED if resolved else TestStatus.FAILED, 0.1),
        "t.py::old": TestResult(TestStatus.PASSED, 0.1),
    }
    return Execution(
        execution_key=key,
        outcome=ExecutionOutcome.COMPLETED,
        exit_status=0 if resolved else 1,
        tests=found,
        evidence=Evidence.REPORT,
        reasons=(),
        apply=ApplyRecord(strategy="git-apply"),
        usage=ResourceUsage(seconds, 0.9 * seconds, 1 << 25),
        phases={"run": seconds},
        log=CapturedOutput(head=b"synthetic\n", total_bytes=10),
        sandbox="docker",
        runner_version="1",
        started_at=time.time(),
    )


def build(folder: Path, tasks: int, seeds: int, arms: int) -> Path:
    """The folder of a finished run; arm number n resolves 2 points more than the one before it."""
    sweep = read_sweep(write_inputs(folder, tasks, seeds, arms))
    inputs = load(sweep)
    chance = random.Random(2)
    skill = {name: chance.betavariate(0.5, 0.6) for name in inputs.tasks}
    run = folder / "run"
    with Session.open(sweep, run) as session:
        plan = make_plan(sweep, inputs, {IMAGE: Environment(DIGEST)})
        session.event("run.planned", environments={IMAGE: DIGEST})
        recorder = session.recorder(plan, judge_of(sweep, inputs), Quiet())
        recorder.settle(plan.units)
        place = {name: number for number, name in enumerate(sweep.arms or {})}
        for unit in plan.units:
            assert unit.key is not None
            resolved = chance.random() < min(1.0, skill[unit.task.instance_id] + 0.02 * place[unit.arm])
            done = execution(unit.key, resolved=resolved, seconds=chance.expovariate(1 / 20))
            recorder.terminal(Job(unit.key, None, None, 0), done, ())
        session.write_results(plan, recorder, inputs)
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--arms", type=int, default=4)
    parser.add_argument("--keep", type=Path, help="build the run there, or use the one that is there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        run = folder / "run"
        if not (run / "outcomes.jsonl").exists():
            started = time.perf_counter()
            build(folder, asked.tasks, asked.seeds, asked.arms)
            print(f"built in {time.perf_counter() - started:.1f} s")
        command = [sys.executable, "-c", "from parsimony.cli import main; main()", "compare", str(run), "--json"]
        started = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ, check=True)
        clock = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    found = json.loads(done.stdout)
    compared = len(found) if isinstance(found, list) else 1
    print(
        f"{compared} comparisons in {seconds:.2f} s of processor time (limit {LIMIT_S:g} s), {clock:.2f} s on the clock"
    )
    return int(seconds > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
