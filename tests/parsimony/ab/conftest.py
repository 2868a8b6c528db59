"""Runs made by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from parsimony import ab
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

STATED = Settings(
    harness_version="h1",
    model="model-1",
    temperature=0.0,
    token_budget=1000,
    tool_budget=50,
    task_set="sha256:tasks",
    environment_image="sha256:image",
    timeout=60.0,
    candidate_count=3,
)

Table = Sequence[Sequence[bool | int | None]]
"""Verdicts (tasks, seeds); None = missing."""

OUTCOMES = {None: Outcome.MISSING, True: Outcome.RESOLVED, False: Outcome.NOT_RESOLVED}


def task(name: str, repo: str | None = None) -> Task:
    return Task(
        instance_id=name,
        repo=repo or f"owner/{name}",
        base_commit="c",
        fail_to_pass=("a",),
        pass_to_pass=(),
        log_format="pytest",
        test_cmd="pytest",
        image="image:1",
    )


def make_run(
    tables: Mapping[str, Table],
    *,
    run_id: str = "run-1",
    source: str = "runs/one",
    repos: int | None = None,
    spend: Mapping[str, Spend] | None = None,
    settings: Mapping[str, Settings] | None = None,
    first: int = 0,
    patch: str = "",
) -> Run:
    """A run of tables of verdicts by arm, tasks named t0, t1, ... from `first`, seeds from 1."""
    trials, tasks = [], {}
    for arm, table in tables.items():
        for row, verdicts in enumerate(table, first):
            name = f"t{row}"
            tasks[name] = task(name, None if repos is None else f"owner/r{row % repos}")
            for seed, verdict in enumerate(verdicts, 1):
                outcome = OUTCOMES[None if verdict is None else bool(verdict)]
                key = f"{patch}{name}-{arm}-{seed}"
                llm = (spend or {}).get(arm)
                trials.append(
                    Trial(name, arm, seed, 0, outcome, patch_ref=key, execution_key=key, llm=llm, log=f"logs/{key}.log")
                )
    return Run(run_id, "made", source, tasks, settings or dict.fromkeys(tables, STATED), tuple(trials))


def grids(run: Run) -> tuple[ab.Grid, ab.Grid]:
    source = ab.Source(run)
    first, second = run.arms
    return source.grid(first), source.grid(second)


def compared(tables: Mapping[str, Table], **more: Any) -> ab.Comparison:
    """The comparison of the first arm with the second."""
    options = more.pop("options", ab.Options())
    (one,) = ab.compare([ab.align(*grids(make_run(tables, **more)))], ["the change"], options)
    return one


def by_counts(counts: Sequence[int], tasks: int, seed: int = 0) -> list[list[int]]:
    """A table whose seeds resolve that many tasks, drawn."""
    chance = random.Random(seed)
    columns = [set(chance.sample(range(tasks), count)) for count in counts]
    return [[int(row in column) for column in columns] for row in range(tasks)]
