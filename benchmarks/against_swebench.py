"""The same gold rows through the SWE-bench harness 5.0.2 and through `parsimony grade`, in one run.

    python benchmarks/against_swebench.py --tasks FOLDER [--rows 24] [--workers 4] [--at-least 4] [--venv DIR]

FOLDER holds `tasks.jsonl`; graded are `--rows` rows that have an `eval_script` and whose tests take under a second, in
turn and again under names of their own. The harness is installed into an environment of its own. Both run as a user
runs them: one command, from its start to its end, results written. Every disagreement of verdicts is listed. Exit
status 1 when we are not `--at-least` times as fast.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any

HARNESS = "swebench==5.0.2"
SHORT_S = 1.0


def rows(folder: Path, count: int) -> list[dict[str, Any]]:
    """`count` rows that both can grade, the short ones in turn."""
    found = [json.loads(line) for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    short = [r for r in found if r.get("eval_script") and max(r["measured"]["test_s_after"]) < SHORT_S]
    if not short:
        raise SystemExit(f"{folder} holds no row with an eval_script and tests under {SHORT_S:g} s")
    return [{**row, "instance_id": f"{row['instance_id']}.{n}"} for n, row in enumerate(islice(cycle(short), count))]


def install(folder: Path) -> Path:
    """The harness in an environment of its own; its program."""
    program = folder / "bin" / "swebench"
    if not program.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", HARNESS], check=True)
    return program


def timed(command: list[str], cwd: Path, log: Path) -> float:
    """Seconds of a command from start to end; its output goes to `log`."""
    began = time.monotonic()
    with log.open("wb") as out:
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        subprocess.run(command, cwd=cwd, stdout=out, stderr=out, env=environment, check=False)
    return time.monotonic() - began


def theirs(program: Path, folder: Path, workers: int) -> tuple[float, dict[str, bool]]:
    """Seconds, and instance id -> resolved, by the harness."""
    command = [str(program), "eval", str(folder / "tasks.jsonl"), "-p", str(folder / "predictions.jsonl")]
    command += ["--run-id", "bench", "-j", str(workers), "-t", "120", "--report-dir", "."]
    seconds = timed(command, folder, folder / "swebench.log")
    reports = list(folder.glob("*.bench.json"))
    if not reports:
        raise SystemExit(f"the harness left no report:\n{(folder / 'swebench.log').read_text()[-2000:]}")
    report = json.loads(reports[0].read_text())
    return seconds, {name: name in report["resolved_ids"] for name in report["submitted_ids"]}


def ours(folder: Path, workers: int) -> tuple[float, dict[str, bool]]:
    """Seconds, and instance id -> resolved, by this project."""
    command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade"]
    command += [
        "--tasks",
        "tasks.jsonl",
        "--predictions",
        "predictions.jsonl",
        "--out",
        "ours",
        "--workers",
        str(workers),
    ]
    seconds = timed(command, folder, folder / "parsimony.log")
    outcomes = folder / "ours" / "outcomes.jsonl"
    if not outcomes.exists():
        raise SystemExit(f"we left no outcomes:\n{(folder / 'parsimony.log').read_text()[-2000:]}")
    lines = [json.loads(line) for line in outcomes.read_text().splitlines()]
    return seconds, {line["task_id"]: line["outcome"] == "resolved" for line in lines}


def disagreements(them: Mapping[str, bool], us: Mapping[str, bool]) -> list[str]:
    """A line per task on which the two do not agree (copies of a row together)."""
    lines: dict[str, str] = {}
    words = {True: "resolved", False: "unresolved", None: "no verdict"}
    for name in sorted({*them, *us}):
        if them.get(name) is not us.get(name):
            task = name.rpartition(".")[0]
            lines[task] = f"{task}: {HARNESS} says {words[them.get(name)]}, we say {words[us.get(name)]}"
    return list(lines.values())


def main() -> int:
    """Run both and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--at-least", type=float, default=4.0)
    parser.add_argument("--venv", type=Path, help="where the harness is installed; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = install(options.venv or folder / "venv")
        chosen = rows(options.tasks, options.rows)
        (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in chosen))
        predictions = [
            {"instance_id": r["instance_id"], "model_name_or_path": "gold", "model_patch": r["patch"]} for r in chosen
        ]
        (folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in predictions))
        our_seconds, us = ours(folder, options.workers)
        their_seconds, them = theirs(program, folder, options.workers)
    print(f"{len(chosen)} gold rows, {options.workers} workers, whole commands:")
    print(f"  {HARNESS}: {their_seconds:.1f} s, {sum(them.values())} resolved")
    print(f"  parsimony grade: {our_seconds:.1f} s, {sum(us.values())} resolved")
    print(f"  {their_seconds / our_seconds:.1f} times as fast")
    for line in disagreements(them, us):
        print(f"  disagreement: {line}")
    return int(their_seconds / our_seconds < options.at_least)


if __name__ == "__main__":
    sys.exit(main())
