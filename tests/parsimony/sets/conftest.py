"""Tasks, comparisons and a store to put them in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parsimony.records import (
    ABComparison,
    Arm,
    ComparisonResult,
    Cost,
    FrozenConfig,
    Recommendation,
    Side,
    Significance,
)
from parsimony.sets import SetStore
from parsimony.tasks import Task

SPRING = "2026-05-02T09:00:00Z"

MakeTasks = Callable[..., list[Task]]
MakeComparison = Callable[..., ABComparison]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "parsimony-ledger.jsonl"


@pytest.fixture
def store(ledger: Path) -> SetStore:
    return SetStore.open(ledger)


@pytest.fixture(scope="session")
def make_tasks() -> MakeTasks:
    """`make_tasks("a b")`: tasks of these names, each with a content of its own (or with the `statement` given)."""

    def make(
        names: str, *, created_at: str | None = SPRING, statement: str | None = None, row: dict[str, Any] | None = None
    ) -> list[Task]:
        return [
            Task(
                instance_id=name,
                repo="examples/demo",
                base_commit=None,
                fail_to_pass=("tests/test_it.py::test_it",),
                pass_to_pass=(),
                log_format="pytest",
                test_cmd="pytest",
                image="demo",
                created_at=created_at,
                problem_statement=f"mend {name}" if statement is None else statement,
                row=row or {},
            )
            for name in names.split()
        ]

    return make


@pytest.fixture(scope="session")
def make_comparison() -> MakeComparison:
    """`make_comparison("change", Recommendation.KEEP)`: a comparison of that change."""

    def make(change: str, recommendation: Recommendation = Recommendation.KEEP) -> ABComparison:
        cost = Cost(tokens=1, calls=1, cpu=1.0, wall_time=1.0, dollars=1.0)
        arms = tuple(
            Arm(
                name=side,
                harness_version="1",
                resolved=(1, 2),
                mean=0.5,
                variance=0.1,
                confidence_interval=(0.0, 1.0),
                cost=cost,
            )
            for side in Side
        )
        frozen = FrozenConfig(
            model="m",
            temperature=0.0,
            token_budget=1,
            tool_budget=1,
            task_set="sha256:0",
            environment_image="sha256:1",
            timeout=1.0,
            candidate_count=1,
        )
        result = ComparisonResult(delta=0.1, significant=Significance.YES, recommendation=recommendation)
        return ABComparison(change_under_test=change, frozen=frozen, arms=arms, seeds=(0, 1), result=result)

    return make
