"""Sensitivity against a plain loop, and what it refuses."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest

from parsimony.errors import InputError
from parsimony.measurements import Record
from parsimony.scoring import Panel, freeze, score
from parsimony.sensitivity import GRID, Scenario, sensitivity

MakeRecord = Callable[..., dict[str, Any]]
Typed = Callable[..., tuple[Record, ...]]


@pytest.fixture
def records(record: MakeRecord, typed: Typed) -> tuple[Record, ...]:
    """Five agents on nine tasks, a quarter of the attempts known failures."""
    generator = random.Random(3)
    rows = []
    for task in range(9):
        for agent in "abcde":
            added, deleted = generator.randrange(60), generator.randrange(60)
            resolved = agent == "a" or generator.random() < 0.75
            rows.append(record(agent, f"t{task}", added - deleted, added + deleted, resolved=resolved))
    return typed(*rows)


def plainly(panel: Panel, records: tuple[Record, ...], scenario: Scenario) -> dict[str, list[float]]:
    """{agent: scores in the order of tasks}, written out."""
    found: dict[str, list[float]] = {}
    for record in sorted(records, key=lambda one: (one.agent, one.task_id)):
        references = [one.metrics for one in panel.tasks[record.task_id]]

        def net_of(metrics: Any) -> int:
            net: int = metrics.net_units
            return net if scenario.net_floor is None else max(net, scenario.net_floor)

        mine, metrics = record.metrics, references
        assert mine is not None
        assert mine.churn is not None
        if record.resolved:
            shares = []
            for pick in (net_of, lambda one: one.churn):
                values, value = [pick(one) for one in metrics], pick(mine)
                better = sum(one > value for one in values) + 0.5 * sum(one == value for one in values)
                shares.append(better / len(values))
            value = 1 + 99 * (scenario.net_weight * shares[0] + scenario.churn_weight * shares[1])
        else:
            scale = max(1, statistics.median(one.churn for one in metrics if one.churn is not None))
            growth = max(net_of(mine), 0)
            burdens = growth / (scale + growth), mine.churn / (scale + mine.churn)
            value = -scenario.failure_cap * (scenario.net_weight * burdens[0] + scenario.churn_weight * burdens[1])
        found.setdefault(record.agent, []).append(value)
    return found


def test_every_scenario_is_what_a_plain_loop_finds(records: tuple[Record, ...]) -> None:
    panel = freeze(records, "p")
    scores: Any = sensitivity(panel, records, draws=1)["scenario_scores"]
    assert list(scores) == [
        "net=0.8,failure_cap=25", "net=0.5,failure_cap=25", "net=0.7,failure_cap=25", "net=1,failure_cap=25",
        "net=0.8,failure_cap=10", "net=0.8,failure_cap=50", "net=0.8,failure_cap=25,net_floor=0",
    ]  # fmt: skip
    for scenario in GRID:
        wanted = {agent: statistics.fmean(values) for agent, values in plainly(panel, records, scenario).items()}
        assert scores[scenario.name] == pytest.approx(wanted, abs=1e-12)
        assert list(scores[scenario.name]) == sorted(wanted, key=lambda agent: (-wanted[agent], agent))


def test_the_baseline_is_the_score(records: tuple[Record, ...]) -> None:
    panel = freeze(records, "p")
    scores: Any = sensitivity(panel, records, draws=1)["scenario_scores"]
    assert scores[GRID[0].name] == pytest.approx({row.agent: row.score for row in score(panel, records)}, abs=1e-12)


def test_the_bootstrap_is_what_a_plain_loop_finds(records: tuple[Record, ...]) -> None:
    panel, draws = freeze(records, "p"), 120
    scores = plainly(panel, records, GRID[0])
    generator, tops = random.Random(7), dict.fromkeys(scores, 0.0)
    means: dict[str, list[float]] = {agent: [] for agent in scores}
    for _ in range(draws):
        chosen = generator.choices(range(9), k=9)
        drawn = {agent: statistics.fmean(values[task] for task in chosen) for agent, values in scores.items()}
        first = [agent for agent, mean in drawn.items() if mean >= max(drawn.values()) - 1e-12]
        for agent, mean in drawn.items():
            means[agent].append(mean)
            tops[agent] += (agent in first) / len(first) / draws
    found: Any = sensitivity(panel, records, draws=draws, seed=7)["bootstrap"]
    for agent, values in means.items():
        ends = [sorted(values)[int(p * (draws - 1))] for p in (0.025, 0.975)]
        assert found[agent]["score_ci_95"] == pytest.approx(ends, abs=1e-12)
        assert found[agent]["top_frequency"] == pytest.approx(tops[agent], abs=1e-12)


def test_equal_agents_share_the_top(record: MakeRecord, typed: Typed) -> None:
    records = typed(*(record(agent, f"t{task}", 1, 3) for agent in "ab" for task in range(3)))
    found: Any = sensitivity(freeze(records, "p"), records, draws=10)["bootstrap"]
    assert [found[agent]["top_frequency"] for agent in "ab"] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"task_id": "t9"}, "x has no record of t0"),
        ({"metrics": None, "analysis_status": "fetch_error"}, r"no complete measurement \(fetch_error\)"),
        ({"net": None, "churn": None}, "no complete measurement"),
        ({"metrics": {"excluded_files": ["pkg/core.py"]}}, "out of scope"),
        ({"resolved": False, "published_result_categories": []}, "is unknown"),
        ({"resolved": False, "published_result_categories": ["no_generation"]}, "is no_attempt"),
        ({"resolved": False, "published_result_categories": ["unresolved", "no_logs"]}, "is unknown"),
        ({"analyzer_version": "0.1"}, "the panel 9.9"),
        ({"provenance": {"repo": "o/r", "base_commit": "other"}}, "another base"),
        ({"metrics": {"mode": "patch_only"}}, "patch_only"),
    ],
)
def test_what_cannot_be_varied_is_refused(
    record: MakeRecord, typed: Typed, changes: dict[str, Any], problem: str
) -> None:
    panel = freeze(typed(record("r", "t0", 1, 1)), "p")
    given = {"net": 1, "churn": 1, "task": "t0"} | changes
    if "task_id" in given:
        given["task"] = given.pop("task_id")
    with pytest.raises(InputError, match=problem):
        sensitivity(panel, typed(record("x", **given)))


def test_no_candidate_is_refused(record: MakeRecord, typed: Typed) -> None:
    with pytest.raises(InputError, match="no candidate"):
        sensitivity(freeze(typed(record("r", "t0", 1, 1)), "p"), ())
