"""The summary counts what a plain loop over the rows counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster.ledger import Ledger, LedgerReader
from cluster.ledger import summary as module
from cluster.ledger.disk import Disk
from cluster.ledger.summary import CostSum, OutcomeCount, summarise

Score = Callable[..., dict[str, Any]]


def test_of_several_scores_the_newest_counts(directory: Path, score: Score) -> None:
    """Across segments and journal, whatever their times say."""
    with Ledger.open(directory) as ledger:
        ledger.append("score", score(1, outcome="not_resolved", recorded_at=50.0))
        ledger.append("score", score(1, arm="b", outcome="timed_out"))
        ledger.seal()
        ledger.append("score", score(1, outcome="resolved", recorded_at=10.0))
        ledger.append("score", score(1, repeat=1, outcome="tampered"))
        ledger.append("score", score(1, task_id="other"))
        ledger.flush()
        found = summarise(directory)
    assert found.outcomes == (
        OutcomeCount("a", 1, "resolved", 2),
        OutcomeCount("a", 1, "tampered", 1),
        OutcomeCount("b", 1, "timed_out", 1),
    )
    assert found.rows["score"] == 5
    assert (found.first_at, found.last_at) == (10.0, 50.0)


def test_costs_attempts_executions_and_times(directory: Path) -> None:
    with Ledger.open(directory) as ledger:
        ledger.append("cost", {"kind": "llm", "input_tokens": 5, "micro_dollars": 7, "calls": 1})
        ledger.append("cost", {"kind": "llm", "input_tokens": 6, "cached_tokens": 2, "output_tokens": 3})
        ledger.append("cost", {"kind": "compute_spent", "cpu_seconds": 0.5, "wall_seconds": 1.5})
        for attempt, ending in enumerate([None, "done", "lost", "done"]):
            row = {"job_key": "k", "attempt": attempt, "ending": ending, "started_at": 20.0 + attempt}
            ledger.append("attempt", {**row, "ended_at": 90.0 if ending == "lost" else None})
        for outcome in ("completed", "timed_out", "completed"):
            ledger.append("execution", {"execution_key": "k", "outcome": outcome})
    found = summarise(LedgerReader(directory))
    assert found.costs == {
        "compute_spent": CostSum(1, 0, 0, 0, 0, 0, 0.5, 1.5),
        "llm": CostSum(2, 7, 11, 2, 3, 1, 0.0, 0.0),
    }
    assert found.attempts == {"done": 2, "lost": 1}
    assert found.executions == {"completed": 2, "timed_out": 1}
    assert found.rows == {"attempt": 4, "execution": 3, "score": 0, "cost": 3, "event": 0}
    assert (found.first_at, found.last_at) == (20.0, 90.0)


def test_an_empty_ledger(directory: Path) -> None:
    Ledger.open(directory).close()
    found = summarise(directory)
    assert found.outcomes == ()
    assert found.costs == {}
    assert (found.first_at, found.last_at) == (None, None)


NAMES = st.sampled_from(["a", "b", "ü", ""])
SCORES = st.lists(
    st.fixed_dictionaries(
        {
            "task_id": NAMES,
            "arm": NAMES,
            "seed": st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1]),
            "repeat": st.integers(0, 1),
            "outcome": st.sampled_from(["resolved", "missing"]),
        }
    ),
    max_size=25,
)


@pytest.mark.parametrize("code_space", [1 << 62, 1], ids=["one-integer", "renumbered"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=SCORES, sealed=st.integers(0, 25))
def test_as_a_loop_would_count(
    code_space: int,
    rows: list[dict[str, Any]],
    sealed: int,
    tmp_path_factory: pytest.TempPathFactory,
    quick_disk: Disk,
) -> None:
    """Also where keys have more combinations than an integer holds."""
    directory = tmp_path_factory.mktemp("summary")
    with Ledger.open(directory, disk=quick_disk) as ledger:
        for number, row in enumerate(rows):
            ledger.append("score", row)
            if number == sealed:
                ledger.seal()
        ledger.flush()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_CODE_SPACE", code_space)
            found = summarise(directory)
    newest = {(row["task_id"], row["arm"], row["seed"], row["repeat"]): row for row in rows}
    expected = Counter((row["arm"], row["seed"], row["outcome"]) for row in newest.values())
    assert {(item.arm, item.seed, item.outcome): item.count for item in found.outcomes} == expected
    assert list(found.outcomes) == sorted(found.outcomes, key=lambda item: (item.arm, item.seed, item.outcome))
    assert all(isinstance(item.arm, str) for item in found.outcomes)
