"""Kill points of a whole run, without killing anything: what the disk and the machine hold before each step of it.

SIGKILL runs no handler and flushes nothing: a killed driver leaves what its files and its sandboxes were just then. So
one run that is never disturbed tells every state that a kill can leave, if they are copied on the way: before each
change of a name below the folder (by an audit hook of the interpreter), and before each step of a sandbox. A file that
was written last is also cut anywhere in what is new, as in the middle of the write.

Everything is the real thing (plan, driver, dispatcher, recorder, ledger, results) but the sandbox, whose containers
live in a `World` that outlives drivers, and the reader of its reports.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

from cluster import grading, session
from cluster.agent import AgentSpec
from cluster.dispatch import Policy, RunEnding
from cluster.engines import Engine
from cluster.engines.local import LocalEngine
from cluster.grading import Graded, grade_sweep
from cluster.ledger import LedgerReader
from cluster.rundir import write_atomically
from cluster.sandboxes.fake import FakeSandbox, ended
from cluster.sandboxes.ownership import own_labels
from cluster.sweep import Sweep
from parsimony.cli.progress import Quiet
from parsimony.errors import SandboxUnavailable
from parsimony.execution import (
    ApplyRecord,
    Evidence,
    Execution,
    ExecutionOutcome,
    ExecutionRequest,
    SandboxResult,
    TestResult,
    TestStatus,
)
from parsimony.runner import GradingOrder

Identity = tuple[str, str, int, int]
PATCH: Final = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-old\n+{}\n"
WORDS: Final = ("fixed", "wrong", "breaks", "other", "")
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES: Final = frozenset({"os.rename", "os.link", "os.remove", "os.mkdir", "os.truncate", "os.rmdir"})


def read_order(order: GradingOrder, result: SandboxResult, /, *, sandbox: str) -> Execution:
    """What the tests did, by the word in the patch."""
    added = order.request.files.get("candidate.0", b"")
    fixed, broken = b"+fixed" in added, b"+breaks" in added
    tests = {"a": fixed or broken, "b": not broken}
    statuses = {name: TestStatus.PASSED if good else TestStatus.FAILED for name, good in tests.items()}
    return Execution(
        execution_key=order.request.execution_key,
        outcome=ExecutionOutcome.COMPLETED,
        exit_status=0,
        tests={name: TestResult(status, 0.1) for name, status in statuses.items()},
        evidence=Evidence.REPORT,
        reasons=(),
        apply=ApplyRecord("git-apply"),
        usage=result.usage,
        phases=result.phases,
        log=result.log,
        sandbox=sandbox,
        runner_version="1",
        started_at=1.0,
        applied_patch=added,
        base_files=dict.fromkeys(order.reading.sources, b"old\n"),
    )


@dataclass
class World:
    """What outlives a driver: containers, and what was ever begun.

    Attributes:
        containers: labels by name.
        begun: executions begun, by their key.
        faults: chance that the first try at an execution meets a fault.
    """

    faults: float = 0.0
    containers: dict[str, Mapping[str, str]] = field(default_factory=dict)
    begun: Counter[str] = field(default_factory=Counter)

    def copy(self) -> World:
        return World(self.faults, dict(self.containers), Counter(self.begun))


class WorldSandbox(FakeSandbox):
    """A sandbox of containers that nobody but their driver, or a reaper, removes."""

    def __init__(self, world: World, step: Callable[[], None]) -> None:
        super().__init__(self._end)
        self.world = world
        self.abandoned = dict(world.containers)
        self._step = step
        self._removals: list[asyncio.Task[None]] = []

    async def run(self, request: ExecutionRequest) -> SandboxResult:
        key = request.execution_key
        self._step()
        self.world.begun[key] += 1
        self.world.containers[request.name] = own_labels(request, 0.0)
        self._step()
        try:
            return await super().run(request)
        finally:
            self._removals.append(asyncio.create_task(self._remove(request.name)))

    async def _remove(self, name: str) -> None:
        """Off the critical path, as real ones are: results are recorded meanwhile."""
        await asyncio.sleep(0.02)
        self._step()
        self.world.containers.pop(name, None)
        self._step()

    async def close(self) -> None:
        await asyncio.gather(*self._removals)
        await super().close()

    def _end(self, request: ExecutionRequest) -> SandboxResult | Exception:
        key = request.execution_key
        if self.world.begun[key] == 1 and random.Random(key).random() < self.world.faults:
            return SandboxUnavailable("the engine was restarted", retry_after=0.0)
        return ended(log=f"log of {key}\n".encode())

    async def reap(self, run_id: str | None = None, *, dry_run: bool = False) -> list[str]:
        self._step()
        removed = await super().reap(run_id, dry_run=dry_run)
        for name in removed:
            self.world.containers.pop(name, None)
            self._step()
        return removed


@dataclass
class Benchmark:
    """Inputs of a run, drawn by a seed: tasks, arms, seeds, repeats, patches that are the same or empty."""

    root: Path
    seed: int
    sweep: Sweep = field(init=False)
    faults: float = field(init=False)

    def __post_init__(self) -> None:
        draw = random.Random(self.seed)
        names = [f"t-{number}" for number in range(draw.randint(1, 3))]
        task = {
            "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": ["b"], "test_cmd": "pytest", "log_format": "pytest",
            "image": "img:1", "patch": PATCH.format("fixed"), "test_patch": "",
        }  # fmt: skip
        rows = [
            {
                "instance_id": name,
                "arm": arm,
                "seed": seed,
                "model_patch": PATCH.format(word) if word else "",
                "usage": {"input_tokens": 7, "output_tokens": 5},
            }
            for name in names
            for arm in ("x", "y")
            for seed in range(draw.randint(1, 2))
            for word in [draw.choice(WORDS)]
        ]
        self.root.mkdir()
        self._write("tasks.jsonl", [{"instance_id": name, **task} for name in names])
        self._write("predictions.jsonl", rows)
        data = {
            "name": "kills", "tasks": "tasks.jsonl", "predictions": ["predictions.jsonl"],
            "concurrency": draw.randint(1, 3), "repeats": draw.randint(1, 2),
            "footprint": draw.choice(["off", "units-v1"]),
            "policy": {"max_attempts": 3}, "variants": draw.choice([[], [], ["timezone"]]),
        }  # fmt: skip
        self.sweep = Sweep.model_validate(data).resolved(self.root)
        self.faults = draw.choice([0.0, 0.5])

    def _write(self, name: str, rows: list[dict[str, Any]]) -> None:
        (self.root / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def grade(self, out: Path, world: World, step: Callable[[], None] = lambda: None) -> Graded:
        """Run or resume, as `parsimony run` does; but the page is a plain one, and nothing waits before another try."""

        def engine(_: Sweep) -> Engine:
            class Factory:
                async def open(self, slots: int) -> FakeSandbox:
                    return WorldSandbox(world, step)

            return LocalEngine(AgentSpec(Factory(), read_order, 2))

        with (
            mock.patch.object(session, "_write_report", lambda folder, *_: write_atomically(folder.report, b"page")),
            mock.patch.object(grading, "Policy", partial(Policy, backoff_seconds=0.0)),
        ):
            return grade_sweep(self.sweep, out, Quiet(), engine=engine)


class Watch:
    """Tells `visit` of every change of a name below `folder`, just before it is made. One at a time in a process."""

    active: Watch | None = None
    _installed = False

    def __init__(self, folder: Path, visit: Callable[[], None]) -> None:
        self.folder, self.visit = str(folder), visit
        self._inside = False

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        if not Watch._installed:  # a hook stays for the life of the interpreter
            sys.addaudithook(_hook)
            Watch._installed = True
        assert Watch.active is None
        Watch.active = self
        try:
            yield
        finally:
            Watch.active = None

    def step(self) -> None:
        """Something other than a change of a name is about to happen."""
        if not self._inside:
            self._inside = True
            try:
                self.visit()
            finally:
                self._inside = False

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        changes = event in _CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING)
        if changes and any(isinstance(one, str | Path) and str(one).startswith(self.folder) for one in arguments[:2]):
            self.step()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if Watch.active is not None and (event == "open" or event in _CHANGES):
        Watch.active.heard(event, arguments)


@dataclass(frozen=True)
class Left:
    """What a kill left.

    Attributes:
        number: of the step before which it came.
        torn: files were cut in the middle of a write.
    """

    number: int
    folder: Path
    world: World
    torn: bool = False


class Snapshots:
    """Copies what a kill would leave, at the steps that `wanted` picks."""

    def __init__(self, folder: Path, store: Path, world: World, wanted: Callable[[int], bool], chance: random.Random):
        self.folder, self.store, self.world = folder, store, world
        self.wanted, self.chance = wanted, chance
        self.steps = 0
        self.taken: list[Left] = []
        # By inode: a file that got another name was not written again.
        self._sizes = {stat.st_ino: stat.st_size for stat in (path.stat() for path in _files(folder))}

    def visit(self) -> None:
        found = {path.relative_to(self.folder): path.stat() for path in _files(self.folder)}
        if self.wanted(self.steps):
            self._take(torn=False)
            old = {path: self._sizes.get(stat.st_ino, 0) for path, stat in found.items()}
            grown = [path for path, size in old.items() if found[path].st_size > size]
            if grown:  # writes come one after the other: only the last one can have been under way (clocks are coarse)
                last = max(grown, key=lambda path: (found[path].st_mtime_ns, path.parts[0] == "ledger"))
                os.truncate(self._take(torn=True) / last, self.chance.randrange(old[last], found[last].st_size))
        self._sizes = {stat.st_ino: stat.st_size for stat in found.values()}
        self.steps += 1

    def _take(self, *, torn: bool) -> Path:
        copy = self.store / f"{len(self.taken)}-at-{self.steps}"
        if self.folder.exists():
            shutil.copytree(self.folder, copy)
        self.taken.append(Left(self.steps, copy, self.world.copy(), torn))
        return copy


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def watched(benchmark: Benchmark, out: Path, world: World, snapshots: Snapshots) -> Graded:
    """A run of which `snapshots` are taken."""
    watch = Watch(out, snapshots.visit)
    with watch.on():
        return benchmark.grade(out, world, watch.step)


def on_a_full_disk(benchmark: Benchmark, out: Path, world: World, at: int) -> Exception | None:
    """A run whose disk takes no new name from step `at` on. Returns what it raised."""
    steps = 0

    def visit() -> None:
        nonlocal steps
        steps += 1
        if steps > at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    try:
        with Watch(out, visit).on():
            benchmark.grade(out, world)
    except Exception as error:  # judged by who asks
        return error
    return None


def outcomes(out: Path) -> dict[Identity, str]:
    """What became of each planned candidate."""
    lines = map(json.loads, (out / "outcomes.jsonl").read_text().splitlines())
    return {(x["task_id"], x["arm"], x["seed"], x["repeat"]): x["outcome"] for x in lines}


def durable(folder: Path) -> set[str]:
    """Keys of the executions that the ledger of a folder holds."""
    if not list((folder / "ledger").glob("MANIFEST-*.json")):
        return set()
    return {row["execution_key"] for row in LedgerReader(folder / "ledger").rows("execution", ["execution_key"])}


def finish(benchmark: Benchmark, left: Left, expected: Mapping[Identity, str]) -> None:
    """Give the command again on what a kill left, and check that nothing is lost, double or left behind."""
    before, begun = durable(left.folder), Counter(left.world.begun)
    graded = benchmark.grade(left.folder, left.world)
    assert graded.ending is RunEnding.COMPLETED, left
    check(left.folder, left.world, expected, left)
    again = {key for key in before if left.world.begun[key] != begun[key]}
    assert not again, f"executed again although durable: {again}, {left}"


def check(out: Path, world: World, expected: Mapping[Identity, str], where: object) -> None:
    """A finished run: verdicts as expected, every row once, nothing left in the world or beside the results."""
    assert outcomes(out) == expected, where
    reader = LedgerReader(out / "ledger")
    reader.verify()
    executions = list(reader.rows("execution", ["execution_key", "log_file"]))
    _once([row["execution_key"] for row in executions], where)
    for row in executions:
        assert (out / row["log_file"]).read_text() == f"log of {row['execution_key']}\n", where
    _once([(row["job_key"], row["attempt"]) for row in reader.rows("attempt", ["job_key", "attempt"])], where)
    names = ("task_id", "arm", "seed", "repeat")
    scores = list(reader.rows("score", [*names, "score_key"]))
    _once([(*(row[name] for name in names), row["score_key"]) for row in scores], where)
    costs = list(reader.rows("cost", [*names, "kind", "execution_key"]))
    told = [(row["task_id"], row["arm"], row["seed"]) for row in costs if row["kind"] == "llm"]
    _once(told, where)
    assert set(told) == {identity[:3] for identity in expected}, where
    _once([row["execution_key"] for row in costs if row["kind"] == "compute_spent"], where)
    assert {row["execution_key"] for row in executions} == {
        row["execution_key"] for row in costs if row["kind"] == "compute_spent"
    }, where
    assert not world.containers, where
    assert [path.name for path in _files(out) if path.name.endswith(".new")] == [], where


def _once(keys: list[Any], where: object) -> None:
    double = [key for key, count in Counter(keys).items() if count > 1]
    assert not double, f"double: {double}, {where}"
