"""The A/B example of the real tasks, whose verdicts are known (PARSIMONY_TASKS names the folder)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from parsimony import ab
from parsimony.records import Recommendation, Significance
from parsimony.runs import Run, Spend, Trial
from parsimony.scorer import Outcome
from tests.parsimony.ab.conftest import STATED

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("PARSIMONY_TASKS")
    if not named:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    return Path(named)


@pytest.fixture(scope="module")
def truth(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "ab-truth.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def run(folder: Path, truth: dict[str, Any]) -> Run:
    """Trials with the verdicts that the candidates are known to have, and the cost that they tell."""
    trials = []
    for line in (folder / "predictions" / "predictions-ab.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        usage, told = row["usage"], truth["resolved"][row["instance_id"]][row["arm"]]
        spend = Spend(
            input_tokens=usage["input_tokens"],
            output_tokens=usage["output_tokens"],
            calls=usage["calls"],
            micro_dollars=round(1e6 * usage["dollars"]),
        )
        outcome = Outcome.RESOLVED if told[row["seed"] - 1] == "1" else Outcome.NOT_RESOLVED
        trials.append(Trial(row["instance_id"], row["arm"], row["seed"], 0, outcome, llm=spend))
    return Run("real", "real", "real", {}, {"baseline": STATED, "candidate": STATED}, tuple(trials))


def one(run: Run) -> ab.Comparison:
    source = ab.Source(run)
    return ab.compare([ab.align(source.grid("baseline"), source.grid("candidate"))], ["x"])[0]


def test_counts_and_cost(run: Run) -> None:
    found = one(run)
    assert [sum(arm.resolved) for arm in found.record.arms] == [25, 41]
    assert found.record.result.delta == pytest.approx(16 / 60)
    assert found.costs.ratio == pytest.approx(1.35, abs=0.1)
    assert found.advice.price is ab.Price.DEFENSIBLE


def test_the_tasks_that_changed_are_the_ones_where_the_candidate_is_better(run: Run, truth: dict[str, Any]) -> None:
    found = one(run)
    assert {change.task_id for change in found.changes} == set(truth["better"])
    assert {change.side for change in found.changes} == {"won"}


def test_the_seeds_tell_the_arms_apart_and_twelve_tasks_are_too_few_for_others(run: Run) -> None:
    """4 of 12 tasks differ, all one way: 2 / 2^4. On these tasks, the seeds leave little doubt."""
    found = one(run)
    assert found.p_value == 0.125
    assert found.record.result.significant is Significance.UNDETERMINED
    assert found.record.result.recommendation is Recommendation.PARE_BACK
    assert found.tests is not None
    assert found.tests.seeds is not None
    assert found.tests.seeds.p_value is not None
    assert found.tests.seeds.p_value < 0.01
