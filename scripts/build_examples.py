"""Build configs/examples from its task folders, by running the tests of every task and of every candidate.

    python scripts/build_examples.py             write tasks*.jsonl, predictions*.jsonl and expected*.jsonl
    python scripts/build_examples.py --check     the same, but compare with what is there and write nothing

The gates come from two runs of the base and two of the fix. The verdict of each candidate in its task.toml must be the
one that a plain grading shows: `git apply`, the tests of the project put back, the test patch, the test command. No
code of the product takes part, so the expected verdicts can be held against it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "configs" / "examples"
RECORDERS = Path(__file__).resolve().parent / "recorders"
MODEL = "example-small-1"
PRICES = {
    "input_tokens": 0.25,
    "cached_tokens": 0.025,
    "output_tokens": 2.0,
}  # dollars a million, as invented as the model
STEERING = re.compile(
    r"(^|/)(conftest\.py|sitecustomize\.py|usercustomize\.py|pytest\.ini|tox\.ini|setup\.cfg)$|\.pth$"
)
GIT = ("git", "-c", "user.name=Example", "-c", "user.email=example@example.invalid")


@dataclass(frozen=True)
class Candidate:
    """One patch, what it is, and which (arm, seed) handed it in."""

    name: str
    kind: str
    outcome: str
    why: str
    by: tuple[tuple[str, int], ...]
    same_as: str | None
    patch: bytes


@dataclass(frozen=True)
class Example:
    """One task folder."""

    instance_id: str
    folder: Path
    facts: Mapping[str, Any]
    gold: bytes
    test_patch: bytes
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Run:
    """What one test run showed."""

    tests: Mapping[str, str]
    exit_status: int | None
    timed_out: bool = False


class Problem(Exception):
    """A task folder says something that its tests do not confirm."""


def load(folder: Path) -> Example:
    """Read one task folder."""
    facts = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
    gold = (folder / "gold.patch").read_bytes()
    fixed = {"gold": gold, "empty": b"", "whitespace": b"\n  \n"}
    candidates = []
    for row in facts.pop("candidates"):
        name = row["name"]
        patch = fixed[name] if name in fixed else (folder / "candidates" / f"{name}.patch").read_bytes()
        by = tuple((arm, int(seed)) for arm, seed in (entry.split("/") for entry in row["by"]))
        candidates.append(Candidate(name, row["kind"], row["outcome"], row["why"], by, row.get("same_as"), patch))
    test_patch = (folder / "test.patch").read_bytes()
    return Example(folder.name, folder, facts, gold, test_patch, tuple(candidates))


def git(tree: Path, *arguments: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git in `tree`; the caller looks at the exit status."""
    return subprocess.run([*GIT, *arguments], cwd=tree, input=data, capture_output=True, check=False)


def lay_out(example: Example, tree: Path) -> None:
    """Make `tree` the base of the task, with one commit."""
    shutil.copytree(example.folder / "tree", tree, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        if git(tree, *arguments).returncode != 0:
            raise Problem(f"{example.instance_id}: git {arguments[0]} failed")


def apply(tree: Path, patch: bytes) -> bool:
    """Apply `patch` with git, else with patch(1) and fuzz; False when neither takes all of it."""
    if git(tree, "apply", "-", data=patch).returncode == 0:
        return True
    command = ["patch", "--batch", "--forward", "--fuzz=5", "-p1", "-i", "-"]
    taken = subprocess.run(command, cwd=tree, input=patch, capture_output=True, check=False).returncode == 0
    if not taken:
        git(tree, "checkout", "-q", "--", ".")
        git(tree, "clean", "-qfd")
    return taken


def put_tests_back(tree: Path) -> None:
    """Undo every change of a file that steers the tests: new ones go, others come back."""
    changed = git(tree, "status", "--porcelain", "-z", "-uall").stdout.decode().split("\0")
    for path in (entry[3:] for entry in changed if entry):
        if STEERING.search(path) or path.startswith(("tests/", "test/")):
            (tree / path).unlink(missing_ok=True)
            git(tree, "checkout", "-q", "HEAD", "--", path)


def run_tests(example: Example, tree: Path, scratch: Path) -> Run:
    """Run the test command in `tree` and read what the recorder wrote (or TAP from the output)."""
    results = scratch / "results.json"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        "PATH": path, "HOME": str(scratch), "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
        "EXAMPLE_RESULTS": str(results),
    }  # fmt: skip
    command = example.facts["test_cmd"]
    if example.facts["log_format"] == "pytest":
        environment |= {"PYTHONPATH": str(RECORDERS), "PYTEST_PLUGINS": "pytest_recorder"}
    elif example.facts["log_format"] == "unittest":
        command = command.replace("python -m unittest", f"python '{RECORDERS / 'unittest_recorder.py'}'")
    process = subprocess.Popen(
        ["/bin/bash", "-c", command], cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=example.facts["timeout_s"])
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Run({}, None, timed_out=True)
    if example.facts["log_format"] == "node-tap":
        return Run(read_tap(output.decode()), process.returncode)
    return Run(json.loads(results.read_text()) if results.exists() else {}, process.returncode)


def read_tap(text: str) -> dict[str, str]:
    """{name: passed or failed} of the tests in the TAP that node:test writes; nested names are joined with " > "."""
    tests: dict[str, str] = {}
    open_names: list[str] = []
    closed_depth = -1
    for line in text.splitlines():
        depth = (len(line) - len(line.lstrip(" "))) // 4
        words = line.strip()
        if words.startswith("# Subtest: "):
            del open_names[depth:]
            open_names.append(words.removeprefix("# Subtest: ").replace("\\#", "#").replace("\\\\", "\\"))
            closed_depth = -1
        elif re.match(r"(not )?ok \d+ - ", words) and len(open_names) > depth:
            if closed_depth <= depth:  # nothing was nested in it: a test, not a suite
                tests[" > ".join(open_names[: depth + 1])] = "passed" if words.startswith("ok") else "failed"
            closed_depth = depth
    return tests


def grade(example: Example, patch: bytes) -> tuple[str, Run]:
    """The verdict of a plain, honest grading (before the gates are looked at) and what was seen."""
    if not patch.strip():
        return "empty_patch", Run({}, None)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        lay_out(example, tree)
        if not apply(tree, patch):
            return "does_not_apply", Run({}, None)
        put_tests_back(tree)
        if not apply(tree, example.test_patch):
            raise Problem(f"{example.instance_id}: the test patch does not apply")
        run = run_tests(example, tree, Path(scratch))
        return "timed_out" if run.timed_out else "completed", run


def fools_a_naive_grader(example: Example, patch: bytes) -> bool:
    """Whether the tests end with status 0 when nothing is put back: what makes a cheat worth its name."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        lay_out(example, tree)
        apply(tree, patch)
        git(tree, "apply", "-", data=example.test_patch)
        return run_tests(example, tree, Path(scratch)).exit_status == 0


def gates(example: Example) -> tuple[list[str], list[str]]:
    """FAIL_TO_PASS and PASS_TO_PASS, from two runs of the base and two of the fix."""
    with tempfile.TemporaryDirectory() as scratch:
        before = []
        for number in range(2):
            tree = Path(scratch) / f"tree{number}"
            lay_out(example, tree)
            apply(tree, example.test_patch)
            before.append(run_tests(example, tree, Path(scratch)).tests)
    after = [grade(example, example.gold)[1].tests for _ in range(2)]
    if before[0] != before[1] or after[0] != after[1]:
        raise Problem(f"{example.instance_id}: two runs differ")
    passed = sorted(name for name, status in after[0].items() if status == "passed")
    if len(passed) != len(after[0]):
        raise Problem(f"{example.instance_id}: the fix does not pass every test")
    fail_to_pass = [name for name in passed if before[0].get(name) != "passed"]
    pass_to_pass = [name for name in passed if before[0].get(name) == "passed"]
    if not fail_to_pass or not pass_to_pass:
        raise Problem(f"{example.instance_id}: an empty gate")
    return fail_to_pass, pass_to_pass


def confirm(example: Example, candidate: Candidate, expected_passes: list[str]) -> None:
    """Raise Problem unless an honest grading gives the candidate the verdict that its row states."""
    honest = candidate
    if candidate.same_as is not None:
        honest = next(other for other in example.candidates if other.name == candidate.same_as)
    outcome, run = grade(example, honest.patch)
    failed: dict[str, str] = {}
    if outcome == "completed":
        failed = {name: run.tests.get(name, "missing") for name in expected_passes if run.tests.get(name) != "passed"}
        outcome = "not_resolved" if failed else "resolved"
    where = f"{example.instance_id}: {candidate.name}"
    if outcome != candidate.outcome:
        raise Problem(f"{where}: {outcome}, not {candidate.outcome}; not passed: {failed}")
    if candidate.kind == "cheat" and not fools_a_naive_grader(example, candidate.patch):
        raise Problem(f"{where}: a cheat that fools nobody")


def task_row(example: Example, fail_to_pass: list[str], pass_to_pass: list[str]) -> dict[str, Any]:
    """The row of tasks.jsonl."""
    facts = example.facts
    return {
        "instance_id": example.instance_id,
        "repo": facts["repo"],
        "base_commit": None,
        "created_at": facts["created_at"],
        "language": facts["language"],
        "problem_statement": facts["problem_statement"],
        "tree": f"tasks/{example.instance_id}/tree",
        "patch": example.gold.decode(),
        "test_patch": example.test_patch.decode(),
        "test_cmd": facts["test_cmd"],
        "log_format": facts["log_format"],
        "test_files": facts["test_files"],
        "timeout_s": facts["timeout_s"],
        "FAIL_TO_PASS": fail_to_pass,
        "PASS_TO_PASS": pass_to_pass,
    }


def handed_in(examples: list[Example]) -> Iterator[tuple[Example, Candidate, str, int]]:
    """Every candidate handed in, arm by arm. Raises Problem unless each (task, arm, seed) has exactly one."""
    found = {(e.instance_id, arm, seed): (e, c) for e in examples for c in e.candidates for arm, seed in c.by}
    wanted = [(e.instance_id, arm, seed) for arm in ("baseline", "candidate") for seed in (1, 2, 3) for e in examples]
    count = sum(len(c.by) for e in examples for c in e.candidates)
    if set(found) != set(wanted) or count != len(wanted):
        raise Problem(f"missing or doubled: {sorted(set(wanted) ^ set(found))}")
    for key in wanted:
        yield *found[key], key[1], key[2]


def prediction_row(example: Example, candidate: Candidate, arm: str, seed: int) -> dict[str, Any]:
    """The row of predictions.jsonl. Usage and trace are invented, by a generator that always gives the same."""
    dice = random.Random(f"{example.instance_id}/{arm}/{seed}")
    more = 1.0 if arm == "baseline" else 1.3
    calls = int(more * (6 + 14 * dice.random()))
    input_tokens = int(calls * (2500 + 3000 * dice.random()))
    usage: dict[str, Any] = {
        "model": MODEL,
        "input_tokens": input_tokens,
        "cached_tokens": int(input_tokens * (0.3 + 0.3 * dice.random())),
        "output_tokens": int(calls * (250 + 400 * dice.random())),
        "calls": calls,
        "cpu_seconds": round(2 + 6 * dice.random(), 1),
        "wall_seconds": round(calls * (3 + 3 * dice.random()), 1),
    }
    usage["dollars"] = round(sum(usage[kind] * price for kind, price in PRICES.items()) / 1e6, 6)
    facts = example.facts
    late = dice.random() < (0.7 if arm == "baseline" else 0.2)  # the candidate finds the place earlier
    trace = {
        "files": ranked(facts["files"], facts["other_files"], late=late),
        "symbols": ranked(facts["symbols"], facts["other_symbols"], late=late),
    }
    return {
        "instance_id": example.instance_id,
        "model_name_or_path": f"example-{arm}",
        "arm": arm,
        "seed": seed,
        "model_patch": candidate.patch.decode(),
        "usage": usage,
        "trace": trace,
    }


def ranked(wanted: list[str], others: list[str], *, late: bool) -> list[str]:
    """A ranking with the wanted names first, or behind all but the last of the others."""
    return [*others[:-1], *wanted, *others[-1:]] if late else [*wanted, *others]


def expected_row(example: Example, candidate: Candidate, arm: str, seed: int) -> dict[str, Any]:
    """The row of expected.jsonl. A cheat may be found out or taken back: it is never resolved."""
    accepted = ["tampered", "not_resolved"] if candidate.kind == "cheat" else [candidate.outcome]
    return {
        "instance_id": example.instance_id,
        "arm": arm,
        "seed": seed,
        "candidate": candidate.name,
        "kind": candidate.kind,
        "resolved": candidate.outcome == "resolved",
        "accepted_outcomes": accepted,
        "why": candidate.why,
    }


def build(examples: list[Example], workers: int) -> dict[str, str]:
    """The three files of one language: name without suffix -> text."""
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(gates, examples))
        checks = [
            pool.submit(confirm, example, candidate, fail_to_pass + pass_to_pass)
            for example, (fail_to_pass, pass_to_pass) in zip(examples, found, strict=True)
            for candidate in example.candidates
        ]
        problems = [str(error) for error in (check.exception() for check in checks) if error is not None]
    if problems:
        raise Problem("\n".join(problems))
    entries = list(handed_in(examples))
    return {
        "tasks": as_lines(task_row(e, *both) for e, both in zip(examples, found, strict=True)),
        "predictions": as_lines(prediction_row(*entry) for entry in entries),
        "expected": as_lines(expected_row(*entry) for entry in entries),
    }


def as_lines(rows: Iterator[dict[str, Any]]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> int:
    """Build or check; 1 when something is not as it should be."""
    parser = argparse.ArgumentParser(description="Build configs/examples by running the tests.")
    parser.add_argument("--check", action="store_true", help="compare with the files that are there")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    examples = [load(path.parent) for path in sorted(EXAMPLES.glob("tasks/*/task.toml"), key=_number)]
    stale = []
    for language, suffix in (("python", ""), ("javascript", "-js")):
        mine = [example for example in examples if example.facts["language"] == language]
        if language == "javascript" and shutil.which("node") is None:
            print("javascript examples: not looked at, there is no node on this machine")
            continue
        try:
            files = build(mine, options.workers)
        except Problem as problem:
            print(problem, file=sys.stderr)
            return 1
        count = sum(len(example.candidates) for example in mine)
        print(f"{language}: {len(mine)} tasks, {count} different candidates, as expected")
        for name, text in files.items():
            target = EXAMPLES / f"{name}{suffix}.jsonl"
            if options.check and (not target.exists() or target.read_text(encoding="utf-8") != text):
                stale.append(target.name)
            elif not options.check:
                target.write_text(text, encoding="utf-8")
    if stale:
        print(f"not what the task folders give: {', '.join(stale)}; run scripts/build_examples.py", file=sys.stderr)
    return 1 if stale else 0


def _number(path: Path) -> tuple[bool, int]:
    name = path.parent.name
    return "-js-" in name, int(name.rsplit("-", 1)[1])


if __name__ == "__main__":
    raise SystemExit(main())
