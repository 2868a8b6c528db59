"""Commands that grade: run, grade, calibrate, replay, regrade."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from cluster.calibration import Calibration, calibrate_tasks
from cluster.dispatch import RunEnding
from cluster.grading import Graded, grade_sweep, regrade_run
from cluster.logs import configure_logs
from cluster.replay import replay_one
from cluster.rundir import RunFolder
from cluster.sweep import Sweep, read_sweep
from parsimony.cli import DONE, NO, PARTIAL, screen
from parsimony.cli.clusters import sandbox_choice
from parsimony.cli.progress import make_observer
from parsimony.cli.reading import find_line, print_summary
from parsimony.errors import InputError


@dataclass(frozen=True, slots=True)
class OneOff:
    """The options of a command that grades without a sweep file."""

    tasks: Path
    predictions: tuple[Path, ...]
    sandbox: str
    workers: int | None
    engine: str
    address: str | None
    only: tuple[str, ...]
    image: str | None
    repeats: int
    timeout: float | None

    def sweep(self, name: str) -> Sweep:
        """The same as a sweep, paths resolved against the current folder."""
        data: dict[str, Any] = {
            "name": name,
            "tasks": {"file": self.tasks, "defaults": {"image": self.image} if self.image else {}},
            "predictions": self.predictions or (os.devnull,),  # calibrating reads none
            "sandbox": sandbox_choice(self.sandbox),
            "engine": {"kind": "ray", "address": self.address} if self.address else {"kind": self.engine},
            "repeats": self.repeats,
        }
        if self.only:
            data["tasks"]["only"] = self.only
        if self.workers:
            data["concurrency"] = self.workers
        if self.timeout:
            data["limits"] = {"timeout_s": self.timeout}
        return Sweep.model_validate(data).resolved(Path.cwd())


def run_sweep(path: Path, out: Path, *, as_json: bool, metrics: tuple[str, int] | None = None) -> int:
    """Grade a sweep file, and meanwhile serve metrics at an address and port."""
    return _grade(read_sweep(path), out, as_json=as_json, metrics=metrics)


def grade(one_off: OneOff, out: Path, *, as_json: bool) -> int:
    """Grade files."""
    return _grade(one_off.sweep(out.resolve().name or "grade"), out, as_json=as_json)


def _grade(sweep: Sweep, out: Path, *, as_json: bool, metrics: tuple[str, int] | None = None) -> int:
    configure_logs()
    with make_observer(as_json=as_json) as observer:
        if metrics is None:
            finished = grade_sweep(sweep, out, observer)
        else:
            from parsimony.cli.metrics import served_beside

            with served_beside(out, observer, *metrics) as watched:
                finished = grade_sweep(sweep, out, watched)
    return _tell(finished, RunFolder(out), as_json=as_json)


def _tell(finished: Graded, folder: RunFolder, *, as_json: bool) -> int:
    summary = finished.summary
    if as_json:
        screen.print_json(
            {"ending": finished.ending.value, "reason": finished.reason, "folder": str(folder.root), **summary}
        )
    else:
        print_summary(summary, folder)
    census = summary["census"]
    if not as_json and not (census["complete"] and finished.ending is RunEnding.COMPLETED):
        why = f"{finished.ending.value}: {finished.reason}" if finished.reason else finished.ending.value
        screen.console(stderr=True).print(
            Text(f"{census['missing']} have no verdict ({why}); the same command again goes on with them")
        )
    whole = census["complete"] and finished.ending is RunEnding.COMPLETED
    return DONE if whole and not census["rejected_rows"] else PARTIAL


def regrade(root: Path, *, as_json: bool) -> int:
    """Verdicts again."""
    configure_logs()
    folder = RunFolder.existing(root)
    with make_observer(as_json=as_json) as observer:
        finished = regrade_run(read_sweep(folder.sweep), root, observer)
    if not as_json:
        screen.console().print(Text(f"{finished.changed} of {finished.summary['census']['planned']} outcomes changed"))
    return _tell(finished, folder, as_json=as_json)


def replay(root: Path, task: str, arm: str | None, seed: int | None, *, keep: bool) -> int:
    """The same grading again."""
    configure_logs()
    folder = RunFolder.existing(root)
    line = find_line(folder, task, arm, seed)
    if line["execution_key"] is None:
        mend = f"its outcome is `{line['outcome']}`, which needs no execution"
        raise InputError("has nothing to replay", mend=mend, file=line["task_id"])
    place = folder.root / "replay" / f"{line['task_id']}-{line['arm']}-{line['seed']}".replace("/", "_")
    again = replay_one(read_sweep(folder.sweep), line, keep=place if keep else None)
    out = screen.console()
    same = again.verdict.outcome == line["outcome"]
    if not again.same_work:
        out.print(Text("the task, its image, its limits or the policy changed since: this is other work than before"))
    out.print(Text.assemble("before: ", screen.outcome_text(line["outcome"])))
    out.print(
        Text.assemble("now:    ", screen.outcome_text(again.verdict.outcome.value), "" if same else "  (not the same)")
    )
    for reason in again.verdict.reasons:
        out.print(Text(f"  · {reason}"))
    for hint in again.look:
        out.print(Text(hint))
    return DONE if same else NO


def calibrate(one_off: OneOff, out: Path | None, *, as_json: bool) -> int:
    """Make the reference of a task file."""
    configure_logs()
    sweep = one_off.sweep("calibrate")
    with make_observer(as_json=as_json) as observer:
        found = calibrate_tasks(sweep, out or sweep.reference or Path("reference.json"), observer)
    if as_json:
        screen.print_json(found.as_json())
    else:
        _print_calibration(found)
    return DONE if not found.unsound and not found.missing else NO if found.unsound else PARTIAL


def _print_calibration(found: Calibration) -> None:
    out = screen.console()
    for one in found.tasks:
        state = Text("unsound", style="red") if one.problems else Text("sound", style="green")
        unstable = f", {len(one.unstable)} unstable tests" if one.unstable else ""
        out.print(Text.assemble(state, f"  {one.instance_id}  ({screen.seconds(one.seconds)} each{unstable})"))
        for problem in one.problems:
            out.print(Text(f"  · {problem}"))
        for test in sorted(one.unstable)[:5]:
            out.print(Text(f"  · unstable: {test}"))
    for name, reasons in found.missing.items():
        out.print(Text.assemble(Text("missing", style="yellow"), f"  {name}: {'; '.join(reasons)}"))
    out.print(
        Text(f"{len(found.tasks) - len(found.unsound)} of {len(found.tasks)} tasks are sound; written to {found.path}")
    )
