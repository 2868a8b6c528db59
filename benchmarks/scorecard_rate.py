"""How long scorecards and a diagnosis of a large run take, with its base files in memory.

    python benchmarks/scorecard_rate.py [--tasks 500] [--seeds 10] [--arms 4] [--variety 6] [--most 10]

The run is made up: each task has a Python file of some 300 lines and a fix of two methods, and its candidates are
`--variety` different patches (the fix, parts of it, another place, a syntax error), as systems that work on one task
often find the same ones. Exit status 1 when measuring and diagnosing take more than `--most` seconds of CPU.
"""

from __future__ import annotations

import argparse
import difflib
import random
import sys
import time
from collections.abc import Sequence

from parsimony.diagnosis import diagnose, sentence
from parsimony.execution import TestStatus
from parsimony.runs import Run, Spend, Trial
from parsimony.scorecard import Base, Material, Measurer
from parsimony.scorer import Outcome
from parsimony.tasks import Task, Trace

METHODS = 60
TESTS = tuple(f"tests/test_core.py::test_{number}" for number in range(60))
ALL_RAN = dict.fromkeys(TESTS, TestStatus.PASSED)


def source(task: int) -> str:
    methods = (
        f"    def method_{number}(self, value):\n        total = {task} + {number}\n"
        f"        for item in value:\n            total += item\n        return total\n"
        for number in range(METHODS)
    )
    return "class Core:\n" + "\n".join(methods)


def patched(text: str, edits: Sequence[int], broken: bool = False) -> bytes:
    new = text
    for number in edits:
        new = new.replace(f"+ {number}\n", f"+ {number}{' (' if broken else ' + 1'}\n", 1)
    lines = difflib.unified_diff(text.splitlines(True), new.splitlines(True), "a/pkg/core.py", "b/pkg/core.py")
    return ("diff --git a/pkg/core.py b/pkg/core.py\n" + "".join(lines)).encode()


def candidates(text: str, variety: int) -> list[tuple[bytes, Outcome]]:
    kinds = [((7, 31), False), ((7,), False), ((12,), False), ((7, 31), True), ((7, 31, 44), False), ((2,), False)]
    kinds += [((7, 31, number), False) for number in range(45, 45 + max(0, variety - len(kinds)))]
    return [
        (patched(text, edits, broken), Outcome.RESOLVED if 31 in edits and not broken else Outcome.NOT_RESOLVED)
        for edits, broken in kinds[:variety]
    ]


def make(tasks: int, seeds: int, arms: int, variety: int) -> tuple[Run, dict[str, bytes], dict[Trial, Material]]:
    chance = random.Random(4)
    known, files, trials, materials = {}, {}, [], {}
    for number in range(tasks):
        name, text = f"task-{number}", source(number)
        files[name] = text.encode()
        known[name] = Task(
            name, f"owner/repo-{number % 12}", None, TESTS[:4], TESTS[4:], "pytest", image="i", language="python",
            patch=patched(text, (7, 31)),
        )  # fmt: skip
        kinds = candidates(text, variety)
        for arm in range(arms):
            for seed in range(seeds):
                patch, outcome = chance.choice(kinds[: variety - arm % 2])
                trial = Trial(
                    name, f"arm-{arm}", seed, 0, outcome, execution_key=f"{name}-{arm}-{seed}",
                    fail_to_pass=(4, 4), pass_to_pass=(56, 56), regressions=0,
                    llm=Spend(input_tokens=1000, calls=3, micro_dollars=1000),
                    compute=Spend(cpu_seconds=1.0, wall_seconds=1.0, micro_dollars=10),
                    trace=Trace(("pkg/other.py", "pkg/core.py"), (f"Core.method_{seed}", "Core.method_7")),
                )  # fmt: skip
                trials.append(trial)
                materials[trial] = Material(patch, patch, ALL_RAN, exit_status=0)
    return Run("run", "made up", "here", known, {}, tuple(trials)), files, materials


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("tasks", 500), ("seeds", 10), ("arms", 4), ("variety", 6)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--most", type=float, default=10.0, help="seconds of CPU")
    wanted = parser.parse_args()
    run, files, materials = make(wanted.tasks, wanted.seeds, wanted.arms, wanted.variety)

    def base(task: Task, paths: Sequence[str]) -> Base:
        return {path: files[task.instance_id] if path == "pkg/core.py" else None for path in paths}

    started, used = time.perf_counter(), time.process_time()
    measured = list(Measurer(base).measure(run, materials.__getitem__))
    measuring = time.process_time() - used
    notes = [[note for note, _ in measured if note.arm == arm] for arm in ("arm-0", "arm-1")]
    found = diagnose(notes[0], notes[1], names=("arm-0", "arm-1"))
    used, took = time.process_time() - used, time.perf_counter() - started
    cards = sum(card is not None for _, card in measured)
    print(f"{len(run.trials):,} candidates, {cards:,} scorecards: {used:.2f} s of CPU, {took:.2f} s by the clock")
    print(f"measuring {measuring:.2f} s of CPU, diagnosis {used - measuring:.2f} s")
    print(sentence(found))
    return 0 if used <= wanted.most and cards == len(run.trials) else 1


if __name__ == "__main__":
    sys.exit(main())
