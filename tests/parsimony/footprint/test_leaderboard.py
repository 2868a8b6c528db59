"""Leaderboards: medians as described, means with what surrounds them, and intervals of ranks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from parsimony.errors import InputError
from parsimony.footprint.leaderboard import leaderboard, means
from parsimony.measurements import Record, parse_records


def raw(agent: str, task: str, net: int | None = 0, churn: int | None = 0, **changes: Any) -> dict[str, Any]:
    units = ((churn + net) // 2, (churn - net) // 2) if net is not None and churn is not None else (None, None)
    metrics = {
        "units_added": units[0],
        "units_deleted": units[1],
        "net_units": net,
        "churn": churn,
        "mode": "full_file",
        "touched_files": ["a.py"],
        "excluded_files": [],
    }
    resolved = changes.get("resolved", True)
    return {
        "agent": agent,
        "task_id": task,
        "resolved": True,
        "published_result_categories": ["resolved" if resolved else "unresolved"],
        "analysis_status": "ok",
        "metrics": metrics | changes.pop("metrics", {}),
        "analyzer_version": "9.9",
        "python_version": "3.12.1",
        "resolve_rate": 0.5,
        "provenance": {},
    } | changes


def typed(*rows: dict[str, Any]) -> tuple[Record, ...]:
    return parse_records(rows)


OUT: dict[str, Any] = {"metrics": {"excluded_files": ["a.py"]}}


def test_medians_are_over_analysed_successes() -> None:
    (row,) = leaderboard(
        typed(
            raw("a", "t1", 1, 3, model_human_ratio=2.0, metrics={"ast_delta": 4, "complexity_delta": -1}),
            raw("a", "t2", 4, 4, metrics={"files_changed": 2}),
            raw("a", "t3", None, None, metrics={"token_churn": 7, "net_tokens": -7}),
            raw("a", "t4", 90, 90, resolved=False),
            raw("a", "t5", 90, 90, analysis_status="error"),
        )
    )
    assert row == {
        "agent": "a", "comparison": "individual", "mode": "full_file", "resolve_rate": 0.5,
        "successful_tasks_analyzed": 3, "task_ids": ["t1", "t2", "t3"], "human_ratio_tasks": 1, "structure_tasks": 1,
        "median_model_human_ratio": 2.0, "median_net_units": 2.5, "median_churn": 3.5, "median_net_tokens": -7,
        "median_token_churn": 7, "median_files_changed": 2, "median_ast_delta": 4, "median_complexity_delta": -1,
    }  # fmt: skip


def test_order_is_by_median_net_and_the_unknown_come_last() -> None:
    rows = leaderboard(typed(raw("d", "t", 3, 3), raw("c", "t", -1, 1), raw("b", "t", 3, 3), raw("a", "t", None, None)))
    assert [row["agent"] for row in rows] == ["c", "b", "d", "a"]


def test_shared_tasks_are_those_of_all_chosen_agents() -> None:
    records = typed(raw("a", "t1", 1, 1), raw("a", "t2", 9, 9), raw("b", "t1", 2, 2), raw("c", "t3", 2, 2))
    rows = leaderboard(records, agents=["a", "b"], shared=True)
    assert [(row["agent"], row["task_ids"], row["comparison"]) for row in rows] == [
        ("a", ["t1"], "shared"),
        ("b", ["t1"], "shared"),
    ]
    assert [row["successful_tasks_analyzed"] for row in leaderboard(records, shared=True)] == [0, 0, 0]


def test_estimates_from_hunks_are_a_mode_of_their_own() -> None:
    records = typed(raw("a", "t1", 1, 1), raw("a", "t2", 5, 5, metrics={"mode": "patch_only"}))
    assert [leaderboard(records, mode=mode)[0]["median_net_units"] for mode in ("full_file", "patch_only")] == [1, 5]
    assert means(records, draws=0)[0]["mean_net_units"] == 1


def test_means_are_over_measured_successes_in_scope() -> None:
    (row,) = means(
        typed(
            raw("a", "t1", 1, 3),
            raw("a", "t2", 4, 4),
            raw("a", "t3", 0, 0, **OUT),
            raw("a", "t4", None, None),
            raw("a", "t5", 5, 5, analysis_status="error"),
            raw("a", "t6", 90, 90, resolved=False),
        )
    )
    assert row == {
        "agent": "a", "ordering": "measured-net-mean-v1", "comparison": "individual", "resolve_rate": 0.5, "rank": 1,
        "rank_interval_95": [1, 1], "mean_net_units": 2.5, "mean_churn": 3.5, "attempts": 5, "solved": 5,
        "measured_tasks": 2, "out_of_scope": 1, "coverage": 0.4,
    }  # fmt: skip


def test_all_measured_counts_every_measured_attempt() -> None:
    (row,) = means(
        typed(
            raw("a", "t1", 1, 3),
            raw("a", "t2", -6, 6, resolved=False),
            raw("a", "t3", 2, 2, resolved=False, published_result_categories=[]),
            raw("a", "t4", resolved=False, published_result_categories=["no_generation"]),
        ),
        include_failed=True,
    )
    assert (row["ordering"], row["mean_net_units"], row["attempts"], row["solved"]) == ("all-measured", -1, 3, 1)


def test_an_agent_without_a_measurement_has_no_rank() -> None:
    rows = means(typed(raw("a", "t", None, None), raw("b", "t", 9, 9)), agents=["a", "b", "z"])
    assert [(row["agent"], row["rank"], row["rank_interval_95"], row["coverage"]) for row in rows] == [
        ("b", 1, [1, 1], 1.0),
        ("a", None, None, 0.0),
        ("z", None, None, None),
    ]
    assert means(()) == []


def test_equal_means_share_a_rank() -> None:
    rows = means(typed(raw("b", "t", 1, 1), raw("a", "t", 1, 1), raw("c", "t", 2, 2)), draws=0)
    assert [(row["agent"], row["rank"], row["rank_interval_95"]) for row in rows] == [
        ("a", 1, None),
        ("b", 1, None),
        ("c", 3, None),
    ]


def test_shared_means_take_the_mix_of_tasks_out() -> None:
    records = typed(raw("a", "easy", 1, 1), raw("b", "easy", 2, 2), raw("b", "hard", 90, 90), raw("a", "out", **OUT))
    assert [row["mean_net_units"] for row in means(records, shared=True)] == [1, 2]
    assert [row["measured_tasks"] for row in means(records, shared=True)] == [1, 1]


def test_rank_intervals_are_those_of_a_plain_loop() -> None:
    generator = random.Random(5)
    nets = {
        agent: {f"t{task}": generator.randrange(-20, 40) for task in range(12) if generator.random() < 0.8}
        for agent in "abcd"
    }
    rows = means(
        typed(*(raw(agent, task, net, abs(net)) for agent, one in nets.items() for task, net in one.items())),
        draws=101,
        seed=9,
    )
    drawer = random.Random(9)
    seen: dict[str, list[int]] = {agent: [] for agent in nets}
    tasks = sorted({task for one in nets.values() for task in one})
    for _ in range(101):
        chosen = drawer.choices(tasks, k=len(tasks))
        drawn = {agent: [one[task] for task in chosen if task in one] for agent, one in nets.items()}
        mean = {agent: sum(one) / len(one) if one else float("inf") for agent, one in drawn.items()}
        for agent, ranks in seen.items():
            ranks.append(1 + sum(other < mean[agent] - 1e-12 for other in mean.values()))
    for row in rows:
        ordered = sorted(seen[str(row["agent"])])
        assert row["rank_interval_95"] == [ordered[2], ordered[97]]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"task_id": "t1"}, "is there twice"),
        ({"measurement_track": {"language": "go"}}, "another track"),
        ({"resolve_rate": 0.9}, "states the rate 0.9"),
    ],
)
def test_what_cannot_be_compared(changes: dict[str, Any], problem: str) -> None:
    records = typed(raw("a", "t1"), raw("a", "t2") | changes)
    for board in (leaderboard, means):
        with pytest.raises(InputError, match=problem):
            board(records)


def test_means_never_pool_analyzers() -> None:
    with pytest.raises(InputError, match=r"has 0\.1, the records before it 9\.9"):
        means(typed(raw("a", "t1"), raw("b", "t1", analyzer_version="0.1")))
