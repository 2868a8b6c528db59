"""How long each command that reads runs takes on one of 500 tasks × 10 seeds × 4 arms, and how much memory.

    python benchmarks/measures_at_scale.py [--tasks N] [--seeds N] [--arms N] [--variety N] [--keep DIR] [--only NAME]

The run is made up, and its folder is real: tasks, predictions and sweep as files, executions of 60 tests, base files,
verdicts and costs through the real recorder into a real ledger, results derived from it. Each task has a Python file
of some 300 lines and a fix of two methods; its candidates are the fix, parts of it, other places and syntax errors, in
`--variety` different patches a task (all of them different by default, as those of language models mostly are).

Then each command runs as a user runs it, one at a time in a process of its own, start of Python and imports included.
Exit status 1 when one takes more than 10 s of processor time (each is one thread: on a machine that does nothing else,
that is the time on the clock, which is printed too), or ends with another status than it should.
"""

from __future__ import annotations

import argparse
import difflib
import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import structlog
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
PLACE = "pkg/core.py"
BUGS = [f"tests/test_core.py::test_bug_{number}" for number in range(4)]
OLD = [f"tests/test_core.py::test_{number}" for number in range(56)]
FIX = (7, 31)
KINDS: Sequence[tuple[tuple[int, ...], bool]] = (
    (FIX, False),
    ((7,), False),
    ((12,), False),
    (FIX, True),
    ((*FIX, 44), False),
    ((2,), False),
)
"""Methods that a candidate changes, and whether it leaves a syntax error."""
PRICES = """\
version: 1
currency: USD
models:
  - {name: example, input: 0.25, cached: 0.025, output: 2.00, valid_from: 2020-01-01, source: made up}
compute:
  - {cpu_hour: 0.04, gib_hour: 0.005, valid_from: 2020-01-01, source: made up}
"""


# ---- the run


def source(task: int) -> str:
    """The file of a task."""
    methods = (
        f"    def method_{number}(self, value):\n        total = {task} + {number}\n"
        f"        for item in value:\n            total += item\n        return total\n"
        for number in range(60)
    )
    return "class Core:\n" + "\n".join(methods)


def patch_of(text: str, edits: Sequence[int], value: int, *, broken: bool = False) -> str:
    """A patch that changes a line in each of some methods."""
    new = text
    for number in edits:
        new = new.replace(f"+ {number}\n", f"+ {number}{' (' if broken else f' + {value}'}\n", 1)
    lines = difflib.unified_diff(text.splitlines(True), new.splitlines(True), f"a/{PLACE}", f"b/{PLACE}")
    return f"diff --git a/{PLACE} b/{PLACE}\n" + "".join(lines)


def task_row(number: int) -> dict[str, Any]:
    """A row of the task file: one of 40 repositories, made in one of 36 months."""
    return {
        "instance_id": f"owner__project{number % 40}-{number}",
        "repo": f"owner/project{number % 40}",
        "base_commit": "0" * 40,
        "patch": patch_of(source(number), FIX, 1),
        "problem_statement": f"The total of method_{number % 60} is off by one.",
        "created_at": f"{2022 + number % 3}-{number % 12 + 1:02d}-15",
        "FAIL_TO_PASS": BUGS,
        "PASS_TO_PASS": OLD,
        "image": IMAGE,
        "test_cmd": "pytest tests",
        "log_format": "pytest",
    }


def candidate_rows(tasks: int, seeds: int, names: Sequence[str], variety: int) -> Iterator[dict[str, Any]]:
    """A row of the file of predictions for each task, arm and seed."""
    chance = random.Random(1)
    for number in range(tasks):
        text = source(number)
        for place, arm in enumerate(names):
            for seed in range(1, seeds + 1):
                value = 1 + (place * seeds + seed) % variety
                edits, broken = KINDS[0] if chance.random() < 0.3 + 0.02 * place else chance.choice(KINDS)
                yield {
                    "instance_id": f"owner__project{number % 40}-{number}",
                    "arm": arm,
                    "seed": seed,
                    "model_patch": patch_of(text, edits, value, broken=broken),
                    "trace": {"files": ["pkg/other.py", PLACE], "symbols": [f"Core.method_{seed}", "Core.method_7"]},
                    "usage": {
                        "model": "example",
                        "input_tokens": chance.randrange(10_000, 200_000),
                        "output_tokens": chance.randrange(1_000, 20_000),
                        "calls": chance.randrange(5, 60),
                        "wall_seconds": chance.randrange(30, 900),
                    },
                }


def write_inputs(folder: Path, tasks: int, seeds: int, arms: int, variety: int) -> Path:
    """Task file, predictions, prices, and the sweep that names them."""
    names = ["baseline", *(f"candidate-{number}" for number in range(1, arms))]
    rows = {"tasks": map(task_row, range(tasks)), "predictions": candidate_rows(tasks, seeds, names, variety)}
    for name, some in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    (folder / "prices.yaml").write_text(PRICES)
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


def execution(key: str, patch: bytes, base: bytes, *, seconds: float) -> Execution:
    """What a sandbox would have seen."""
    fixed = b"+ 7 + " in patch and b"+ 31 + " in patch
    bug = TestStatus.PASSED if fixed else TestStatus.FAILED
    return Execution(
        execution_key=key,
        outcome=ExecutionOutcome.COMPLETED,
        exit_status=0 if fixed else 1,
        tests={
            **dict.fromkeys(BUGS, TestResult(bug, 0.1)),
            **dict.fromkeys(OLD, TestResult(TestStatus.PASSED, 0.1)),
        },
        evidence=Evidence.REPORT,
        reasons=(),
        apply=ApplyRecord(strategy="git-apply"),
        usage=ResourceUsage(seconds, 0.9 * seconds, 1 << 25),
        phases={"run": seconds},
        log=CapturedOutput(head=b"made up\n", total_bytes=8),
        sandbox="docker",
        runner_version="1",
        started_at=time.time(),
        applied_patch=patch,
        base_files={PLACE: base},
    )


def build(folder: Path, tasks: int, seeds: int, arms: int, variety: int) -> Path:
    """The folder of a finished run."""
    sweep = read_sweep(write_inputs(folder, tasks, seeds, arms, variety))
    inputs = load(sweep)
    bases = {name: source(number).encode() for number, name in enumerate(inputs.tasks)}
    chance = random.Random(2)
    run = folder / "run"
    with Session.open(sweep, run) as session:
        plan = make_plan(sweep, inputs, {IMAGE: Environment(DIGEST)})
        session.event("run.planned", units=len(plan.units), environments={IMAGE: DIGEST})
        recorder = session.recorder(plan, judge_of(sweep, inputs), Quiet())
        recorder.settle(plan.units)
        for key, work in plan.work.items():
            base, seconds = bases[work.task.instance_id], chance.expovariate(1 / 20)
            recorder.terminal(Job(key, None, None, 0), execution(key, work.patch, base, seconds=seconds), ())
        session.write_results(plan, recorder, inputs)
    return run


def build_quietly(*of_run: Any) -> None:
    """`build` without a line for each execution."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    build(*of_run)


# ---- the commands


def commands(folder: Path, run: Path) -> dict[str, tuple[list[str], set[int]]]:
    """What is measured: words of the command, and the statuses with which it may end."""
    tasks, prices, ledger = (str(folder / name) for name in ("tasks.jsonl", "prices.yaml", "sets.jsonl"))
    place = ["--ledger", ledger]
    return {
        "scorecard": (["scorecard", str(run), "--prices", prices], {0}),
        "diagnose": (["diagnose", str(run), "--baseline", "baseline", "--candidate", "candidate-1"], {0}),
        "compare": (["compare", str(run), *place], {0}),
        "cost": (["cost", str(run), "--prices", prices, *place], {0}),
        "ablate": (["ablate", str(run)], {0, 1, 3}),
        "invariants": (["invariants", str(run)], {0, 3}),
        "sets create": (
            ["sets", "create", "regression", "--role", "regression", "--tasks", tasks, "--source", "static:made-up",
             *place], {0},
        ),
        "sets show": (["sets", "show", "regression", *place], {0}),
        "sets claim": (["sets", "claim", str(run), *place], {0, 1}),
        "contamination gate": (["contamination", "gate", "--tasks", tasks, "--cutoff", "2023-06", *place], {0, 1}),
        "contamination decay": (["contamination", "decay", str(run), "--cutoff", "2023-06", *place], {0, 1}),
        "contamination leak": (["contamination", "leak", "--tasks", tasks, *place], {0, 1}),
        "audit status": (["audit", "status", str(folder)], {0, 1, 2}),
        "status": (["status", str(run)], {0}),
        "report": (["report", str(run)], {0}),
    }  # fmt: skip


def measure(words: Sequence[str], ends: set[int], scratch: Path) -> tuple[float, float, float, str]:
    """Processor seconds, seconds on the clock, MiB at the peak, and what went wrong."""
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", *words]
    with (scratch / "out").open("wb") as out:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        clock = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)  # so that nobody waits for it once more
    told = (scratch / "out").read_text(errors="replace").strip().splitlines()
    problem = "" if child.returncode in ends else f"status {child.returncode}: {' '.join(told[-3:])[:300]}"
    return used.ru_utime + used.ru_stime, clock, used.ru_maxrss / 1024, problem


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("tasks", 500), ("seeds", 10), ("arms", 4), ("variety", 1000)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--keep", type=Path, help="build the run there, or use the one that is there")
    parser.add_argument("--only", action="append", help="measure this command only; may be repeated")
    asked = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "run" / "outcomes.jsonl").exists():
            started = time.perf_counter()
            # Apart: a child's peak of memory is at least that of the process that starts it.
            of_run = (folder, asked.tasks, asked.seeds, asked.arms, asked.variety)
            builder = multiprocessing.get_context("spawn").Process(target=build_quietly, args=of_run)
            builder.start()
            builder.join()
            if builder.exitcode:
                return 2
            print(f"built in {time.perf_counter() - started:.1f} s")
        (folder / "sets.jsonl").unlink(missing_ok=True)
        (folder / "sets.jsonl.head").unlink(missing_ok=True)
        print(f"{'command':<22}{'CPU s':>8}{'clock s':>9}{'MiB':>8}")
        for name, (words, ends) in commands(folder, folder / "run").items():
            if asked.only is None or name in asked.only:
                used, clock, memory, problem = measure(words, ends, Path(scratch))
                print(f"{name:<22}{used:>8.2f}{clock:>9.2f}{memory:>8.0f}  {problem}", flush=True)
                failed |= bool(problem) or used > LIMIT_S
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
