"""Grade candidates whose repeats disagree again, in a folder of their own inside the run's."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from cluster.plan import load
from cluster.rundir import RunFolder, write_jsonl
from cluster.sweep import TaskSource, read_sweep
from parsimony.runs import Run
from parsimony.tasks import Candidate

FOLDER: Final = "flaky"
"""Inside the run's folder: a run of its own, so that the results of the whole plan stay as they are."""
MORE: Final = 5
"""Further executions of each flaky candidate."""


def flaky_of(run: Run, arms: Collection[str]) -> set[tuple[str, str, int]]:
    """Task, arm and seed of the candidates whose repeats disagree.

    Args:
        arms: only of these; empty = of all.
    """
    seen: dict[tuple[str, str, int], set[bool]] = {}
    for trial in run.trials:
        if trial.resolved is not None and (not arms or trial.arm in arms):
            seen.setdefault((trial.task_id, trial.arm, trial.seed), set()).add(trial.resolved)
    return {key for key, verdicts in seen.items() if len(verdicts) > 1}


def rerun_flaky(root: Path, flaky: set[tuple[str, str, int]], *, as_json: bool) -> bool:
    """Execute each of the `flaky` candidates `MORE` times more; whether there was one.

    Under the sweep of the run, as far as it says how to grade. A second call adds as many again.
    """
    from cluster.grading import grade_sweep  # what grading needs is slow to load, and seldom wanted here
    from cluster.logs import configure_logs
    from parsimony.cli.progress import make_observer

    sweep = read_sweep(RunFolder.existing(root).sweep)
    chosen = [c for c in load(sweep).candidates if (c.instance_id, c.arm, c.seed) in flaky]
    if not chosen:
        return False
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    rows = folder / "predictions.jsonl"
    write_jsonl(rows, [_row(candidate) for candidate in chosen])
    before = read_sweep(folder / "sweep.yaml").repeats if (folder / "sweep.yaml").exists() else 0
    tasks = TaskSource(
        file=sweep.tasks.file,
        defaults=sweep.tasks.defaults,
        only=tuple(dict.fromkeys(candidate.instance_id for candidate in chosen)),
    )
    again = sweep.model_copy(
        update={
            "name": f"{sweep.name[:50]} flaky",
            "tasks": tasks,
            "predictions": (rows.resolve(),),
            "arms": None,
            "seeds": None,
            "repeats": min(100, before + MORE),
            "footprint": "off",
            "variants": (),
        }
    )
    configure_logs()
    with make_observer(as_json=as_json) as observer:
        grade_sweep(again, folder, observer)
    return True


def _row(candidate: Candidate) -> dict[str, object]:
    return {
        "instance_id": candidate.instance_id,
        "arm": candidate.arm,
        "seed": candidate.seed,
        "model_patch": candidate.patch.decode("utf-8", "surrogateescape"),
    }
