"""Replay: the same grading once more, kept so that a person can look into it."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.grading import judge_of, sandbox_spec
from cluster.plan import Inputs, Work, load, make_plan
from cluster.session import environments
from cluster.sweep import Sweep
from parsimony import runner
from parsimony.errors import InputError
from parsimony.execution import SandboxResult
from parsimony.runner import GradingOrder, build_order
from parsimony.scorer import Verdict

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replayed:
    """A grading that was run again.

    Attributes:
        same_work: False when task, image or limits changed meanwhile, so that this is other work than before.
        look: lines that tell how to look into it; empty when nothing was kept.
    """

    verdict: Verdict
    same_work: bool
    look: tuple[str, ...]


def replay_one(sweep: Sweep, line: Line, *, keep: Path | None) -> Replayed:
    """Grade the candidate of an outcome line again, with the inputs as they are on disk today.

    Args:
        keep: folder for what went in and came out; None = keep nothing.

    Raises:
        InputError: the candidate is not among the inputs any more.
        TemporaryError, PermanentError: the machinery failed, which is no verdict.
    """
    inputs = load(sweep)
    return asyncio.run(_replay(sweep, inputs, line, keep=keep))


async def _replay(sweep: Sweep, inputs: Inputs, line: Line, *, keep: Path | None) -> Replayed:
    task = inputs.tasks.get(line["task_id"])
    if task is None:
        raise InputError("is not among the tasks any more", mend="put its row back", file=line["task_id"])
    sandbox = await sandbox_spec(sweep).open(1)
    try:
        known = await environments(sweep, [task], sandbox.environment_digest)
        only = Inputs({task.instance_id: task}, inputs.candidates, (), inputs.reference)
        work = _work(sweep, only, known, line)
        order = build_order(
            work.task, work.patch, key=work.key, run_id="replay", attempt=0, limits=work.limits,
            policy=sweep.policy.runner, labels={},
        )  # fmt: skip
        result = await sandbox.run(order.request)
    finally:
        await sandbox.close()
    execution = runner.read(order, result, sandbox=sweep.sandbox.kind)
    verdict = judge_of(sweep, inputs).verdict(work, execution, line["patch_ref"])
    look = _keep(keep, order, result, sweep.sandbox.kind) if keep is not None else ()
    return Replayed(verdict, work.key == line["execution_key"], look)


def _keep(folder: Path, order: GradingOrder, result: SandboxResult, kind: str) -> tuple[str, ...]:
    """Write the inbox, the outbox and the log, and say how to get a shell where the tests would start."""
    inbox, outbox = folder / "in", folder / "out"
    for place, files in ((inbox, order.request.files), (outbox, result.outputs)):
        shutil.rmtree(place, ignore_errors=True)
        for name, data in files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (folder / "tests.log").write_bytes(result.log.head + result.log.tail)
    where = [f"kept in {folder}: in/ (what went in), out/ (what came out), tests.log"]
    if kind != "process":
        mounts = f"-v {shlex.quote(str(inbox.resolve()))}:/parsimony/in"
        here = result.image_digest if kind == "docker" else None  # a node's digest means nothing to this engine
        image = shlex.quote(here or order.request.image or "")
        setting = (
            "-e PARSIMONY_LOOK=1 -e PARSIMONY_IN=/parsimony/in -e PARSIMONY_OUT=/tmp -e PARSIMONY_WORK=/parsimony/work"
        )
        shell = f"docker run --rm -it --network none {mounts} {setting} {image} sh /parsimony/in/run.sh"
    else:
        work = "$(mktemp -d)"
        setting = f"PARSIMONY_IN={shlex.quote(str(inbox.resolve()))} PARSIMONY_OUT={work} PARSIMONY_WORK={work}"
        shell = f'env PARSIMONY_LOOK=1 {setting} sh "{inbox.resolve()}/run.sh"'
    return (*where, "a shell in the tree as it was graded, before the tests:", f"  {shell}")


def _work(sweep: Sweep, inputs: Inputs, known: Mapping[Any, Any], line: Line) -> Work:
    plan = make_plan(sweep, inputs, known)
    wanted = (line["task_id"], line["arm"], line["seed"], line["repeat"])
    unit = next((u for u in plan.units if u.identity == wanted), None)
    if unit is None or unit.key is None:
        reasons = "; ".join(unit.reasons) if unit else "it is not planned"
        raise InputError(
            f"cannot be replayed: {reasons}", mend="put back what it was graded with", file=line["task_id"]
        )
    return plan.work[unit.key]
