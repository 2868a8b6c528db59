"""Each ablation shows the effect that the build spec names (§8.3), and says so when a run has nothing to show."""

from __future__ import annotations

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.ablation import Ablation, Evidence, Verdict, ablate, claims
from parsimony.ablation.model import key_of
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

FIX = b"--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-old\n+new\n"
OTHER = FIX.replace(b"+new", b"+other").replace(b"-old", b"-away")


def task(number: int, **more: object) -> Task:
    facts = {"patch": FIX, "created_at": f"2026-0{number + 1}-01", **more}
    return Task(f"t-{number}", f"o/r{number}", None, ("a",), ("b",), "pytest", test_cmd="pytest", **facts)  # type: ignore[arg-type]


def trial(
    number: int, arm: str, seed: int, outcome: Outcome, *, broken: int = 0, dollars: int | None = 1_000_000
) -> Trial:
    solved = outcome is Outcome.RESOLVED or broken
    return Trial(
        f"t-{number}", arm, seed, 0, outcome, "sha256:1", f"key {number} {arm} {seed}", regressions=broken,
        fail_to_pass=(int(bool(solved)), 1), pass_to_pass=(1 - broken, 1), llm=Spend(micro_dollars=dollars),
    )  # fmt: skip


GOOD, BAD = Outcome.RESOLVED, Outcome.NOT_RESOLVED


def evidence(trials: list[Trial], tasks: list[Task] | None = None, **more: object) -> Evidence:
    known = {one.instance_id: one for one in tasks or [task(number) for number in range(6)]}
    arms = dict.fromkeys(one.arm for one in trials)
    return Evidence(Run("r", "n", "s", known, {arm: Settings() for arm in arms}, tuple(trials)), **more)  # type: ignore[arg-type]


def of(found: list[Ablation], number: int) -> Ablation:
    return next(one for one in found if one.number == number)


@pytest.fixture
def found() -> list[Ablation]:
    """Six tasks, two arms, two seeds. The first arm solves three tasks on one seed, and the other three and one more on
    the other."""
    trials = [trial(n, "x", s, GOOD if (n + s) % 2 or (n, s) == (5, 1) else BAD) for n in range(6) for s in (0, 1)]
    trials += [trial(n, "y", seed, GOOD if n == 0 else BAD, broken=int(n == 5)) for n in range(6) for seed in (0, 1)]
    log = {key_of(one): one.outcome is GOOD or one.task_id == "t-1" for one in trials}
    patches = {key_of(one): FIX if one.task_id in {"t-0", "t-1"} else OTHER for one in trials}
    recall = {key_of(one): 0.51 if one.arm == "x" else 0.62 for one in trials}
    return ablate(evidence(trials, read_from_log=log, patches=patches, stages={"file recall": recall}))


def test_every_mechanism_is_taken_away_in_the_order_of_the_specification(found: list[Ablation]) -> None:
    assert [one.number for one in found] == list(range(9))
    assert {one.verdict for one in found} == {Verdict.KEEP}


def test_the_plane_against_nothing(found: list[Ablation]) -> None:
    assert (of(found, 0).with_it, of(found, 0).without) == (0, 15)


def test_one_side_of_the_gate_lets_a_broken_test_through(found: list[Ablation]) -> None:
    assert of(found, 1).without == 2
    assert "break 2 tests" in of(found, 1).tells


def test_without_a_scorecard_a_gain_is_no_change(found: list[Ablation]) -> None:
    assert of(found, 2).without == 11.0
    assert "file recall moved by +11.0 points" in of(found, 2).tells


def test_choosing_and_reporting_on_one_set_is_too_good(found: list[Ablation]) -> None:
    assert (of(found, 3).without or 0) > 10


def test_memory_counts_as_skill_without_dates(found: list[Ablation]) -> None:
    assert of(found, 4).without == 16.7


def test_runs_of_one_system_are_promoted_without_variance(found: list[Ablation]) -> None:
    assert (of(found, 5).with_it, of(found, 5).without) == (0, 1)


def test_ten_times_the_price_stays_out_of_sight(found: list[Ablation]) -> None:
    assert of(found, 6).without == pytest.approx(9 * 24 / 9, abs=0.01)


def test_a_scorer_that_reads_prints_accepts_forgeries(found: list[Ablation]) -> None:
    assert of(found, 7).without == 3


def test_plausible_is_not_correct(found: list[Ablation]) -> None:
    assert (of(found, 8).without or 0) > 0


def test_noise_is_promoted_by_counts_and_not_by_the_test() -> None:
    trials = [trial(n, "x", seed, GOOD if n < 2 + seed else BAD) for n in range(6) for seed in (0, 1)]
    noise = of(ablate(evidence(trials)), 5)
    assert (noise.with_it, noise.without, noise.verdict) == (0, 1, Verdict.KEEP)


def test_what_a_run_cannot_show_is_not_decided() -> None:
    bare = [Trial("t-0", "x", 0, 0, Outcome.MISSING)]
    found = ablate(evidence(bare, [task(0, created_at=None)]))
    assert {one.verdict for one in found} == {None}


def test_a_mechanism_that_changes_nothing_is_deleted() -> None:
    trials = [trial(0, "x", 0, GOOD)]
    assert of(ablate(evidence(trials)), 1).verdict is Verdict.DELETE


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=2, max_size=4))
def test_the_gap_of_one_set_is_that_of_all_splits(verdicts: list[list[bool]]) -> None:
    """By its definition, split by split: choose the best version on one half, look at the other."""
    trials = [
        trial(number, "x", seed, GOOD if solved else BAD)
        for seed, row in enumerate(verdicts)
        for number, solved in enumerate(row)
    ]
    gaps = []
    for half in itertools.combinations(range(5), 2):
        best = max(verdicts, key=lambda row: sum(row[number] for number in half))
        outside = [best[number] for number in range(5) if number not in half]
        gaps.append(sum(best[number] for number in half) / 2 - sum(outside) / 3)
    assert claims.sets(evidence(trials)).without == round(100 * statistics.fmean(gaps), 1)
