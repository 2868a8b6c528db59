"""Whole comparisons of runs made by hand."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from parsimony import ab
from parsimony.errors import InputError
from parsimony.records import ABComparison, Recommendation, Side, Significance
from parsimony.runs import Spend, Trial
from parsimony.scorer import Outcome
from parsimony.statistics import clopper_pearson, mcnemar_exact, paired_test, pass_at_k, pass_hat_k, wilson
from tests.parsimony.ab.conftest import STATED, Table, by_counts, compared, grids, make_run

CHEAP = Spend(input_tokens=900, output_tokens=100, calls=3, cpu_seconds=1.0, wall_seconds=2.0, micro_dollars=10_000)
DEAR = replace(CHEAP, micro_dollars=100_000)
LEVEL = {"baseline": CHEAP, "candidate": CHEAP}


def better(tasks: int = 40, won: int = 12) -> dict[str, list[list[int]]]:
    """The candidate resolves `won` tasks more, on all of its three seeds."""
    return {
        "baseline": [[int(row < 10)] * 3 for row in range(tasks)],
        "candidate": [[int(row < 10 + won)] * 3 for row in range(tasks)],
    }


def test_the_record_is_exact_and_survives_json() -> None:
    one = compared(better(), spend=LEVEL)
    record = one.record
    assert ABComparison.from_json_text(record.to_json_text()) == record
    assert record.change_under_test == "the change"
    assert [arm.name for arm in record.arms] == [Side.BASELINE, Side.CANDIDATE]
    assert record.arms[0].resolved == (10, 10, 10)
    assert record.arms[1].resolved == (22, 22, 22)
    assert record.seeds == (1, 2, 3)
    assert record.result.delta == pytest.approx(12 / 40)
    assert record.arms[1].mean - record.arms[0].mean == pytest.approx(record.result.delta)


def test_cost_stands_on_both_arms() -> None:
    one = compared(better(), spend={"baseline": CHEAP, "candidate": DEAR})
    cost = one.record.arms[1].cost
    assert (cost.tokens, cost.calls, cost.cpu, cost.wall_time) == (120_000, 360, 120, 240)
    assert cost.dollars == pytest.approx(12.0)
    assert one.record.arms[0].cost.dollars == pytest.approx(1.2)
    assert one.costs.ratio == pytest.approx(10)
    assert one.costs.incremental == pytest.approx((12 - 1.2) / 36)
    spread = one.costs.arms[1].distributions["dollars"]
    assert (spread.median, spread.p90, spread.largest, spread.total) == pytest.approx((0.1, 0.1, 0.1, 12))


def test_a_real_gain_is_kept_and_one_that_costs_too_much_is_not() -> None:
    assert compared(better(), spend=LEVEL).record.result.recommendation is Recommendation.KEEP
    dear = {"baseline": CHEAP, "candidate": replace(CHEAP, micro_dollars=1_000_000)}
    one = compared(better(), spend=dear)
    assert one.record.result.significant is Significance.YES
    assert one.record.result.recommendation is Recommendation.PARE_BACK
    allowed = ab.Options(bound=ab.Bound(amount=10.0))
    assert compared(better(), spend=dear, options=allowed).record.result.recommendation is Recommendation.KEEP


def test_a_loss_is_rejected_though_it_is_cheaper() -> None:
    tables = better()
    swapped = {"baseline": tables["candidate"], "candidate": tables["baseline"]}
    one = compared(swapped, spend={"baseline": DEAR, "candidate": CHEAP})
    assert one.record.result.recommendation is Recommendation.REJECT
    assert one.advice.price is ab.Price.CHEAPER


def test_the_same_everywhere_is_measurably_no_gain() -> None:
    table = by_counts((30, 30, 30), 60)
    one = compared({"baseline": table, "candidate": table}, spend=LEVEL)
    assert one.record.result.significant is Significance.NO
    assert one.record.result.recommendation is Recommendation.REJECT
    cheaper = compared({"baseline": table, "candidate": table}, spend={"baseline": DEAR, "candidate": CHEAP})
    assert cheaper.record.result.recommendation is Recommendation.KEEP


def test_one_seed_establishes_nothing() -> None:
    """35 of 100 against 38 of 100, and even every task won."""
    one = compared({"a": by_counts((35,), 100, 1), "b": by_counts((38,), 100, 2)}, spend={"a": CHEAP, "b": CHEAP})
    assert one.record.result.significant is Significance.NO
    assert one.record.result.recommendation is Recommendation.PARE_BACK
    every = compared({"a": [[0]] * 50, "b": [[1]] * 50})
    assert every.p_value < 1e-9
    assert every.record.result.significant is Significance.NO


def test_five_seeds_have_a_verdict_backed_by_variance() -> None:
    tables = {"a": by_counts((33, 36, 35, 34, 37), 100, 1), "b": by_counts((36, 39, 38, 40, 37), 100, 2)}
    one = compared(tables, spend={"a": CHEAP, "b": CHEAP})
    arms = one.record.arms
    assert (arms[0].mean, arms[1].mean) == pytest.approx((0.35, 0.38))
    assert [arm.variance for arm in arms] == pytest.approx([2.5 / 100**2] * 2)
    assert arms[0].confidence_interval == pytest.approx((0.35 - 0.0196324, 0.35 + 0.0196324), abs=1e-6)
    assert one.tests is not None
    assert one.tests.seeds is not None
    assert one.tests.seeds.p_value == pytest.approx(0.0170717, abs=1e-7)
    assert one.record.result.significant in {Significance.YES, Significance.UNDETERMINED}


def test_the_decision_is_that_of_the_paired_test_over_repositories() -> None:
    chance = random.Random(4)
    tables = {
        arm: [[int(chance.random() < share) for _ in range(4)] for _ in range(60)]
        for arm, share in [("a", 0.4), ("b", 0.6)]
    }
    one = compared(tables, repos=12)
    expected = paired_test(tables["a"], tables["b"], [row % 12 for row in range(60)])
    assert expected is not None
    assert (one.clusters.name, one.clusters.number) == ("repository", 12)
    assert one.p_value == expected.p_value
    assert one.interval == expected.difference.interval
    assert one.low.moving <= 12


def test_few_repositories_are_not_clustered_by_and_that_is_said() -> None:
    one = compared(better(), repos=5)
    assert (one.clusters.name, one.clusters.number) == ("task", 40)
    assert any("5 repositories are too few" in note for note in one.notes)
    assert one.record.result.significant is Significance.YES


def test_intervals_of_an_arm() -> None:
    one = compared({"a": by_counts((13,), 27), "b": by_counts((14,), 27)})
    assert one.arms[0].wilson == wilson(13, 27)
    assert one.arms[0].clopper_pearson == clopper_pearson(13, 27)
    assert one.arms[0].interval == wilson(13, 27)  # one seed says nothing about other seeds


def test_mcnemar_for_single_seeds() -> None:
    tables = {"a": [[1]] * 3 + [[0]] * 10 + [[1]] * 4, "b": [[0]] * 3 + [[1]] * 10 + [[1]] * 4}
    one = compared(tables)
    assert one.tests is not None
    assert one.tests.mcnemar == (3, 10, mcnemar_exact(3, 10))
    assert mcnemar_exact(3, 10) == pytest.approx(0.0922852, abs=1e-7)


def test_pass_at_k_and_pass_hat_k() -> None:
    one = compared({"a": [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]], "b": [[1] * 5, [0] * 5]})
    for k in range(1, 6):
        expected = (pass_at_k(5, 2, k) + pass_at_k(5, 1, k)) / 2
        assert one.arms[0].at_k[k - 1] == pytest.approx((expected, expected))
        hat = (pass_hat_k(5, 2, k) + pass_hat_k(5, 1, k)) / 2
        assert one.arms[0].hat_k[k - 1] == pytest.approx((hat, hat))


# ---- missing


def with_missing(tables: Mapping[str, Table], arm: str, row: int, seed: int) -> dict[str, list[list[int | None]]]:
    found: dict[str, list[list[int | None]]] = {name: [list(line) for line in table] for name, table in tables.items()}
    found[arm][row][seed] = None
    return found


def test_what_is_missing_is_no_failure() -> None:
    whole = better()
    one = compared(with_missing(whole, "candidate", 0, 0), spend=LEVEL)
    assert not one.complete
    assert one.missing == (0, 1)
    low, high = one.delta_bounds
    assert (low, high) == pytest.approx((0.3 - 1 / 120, 0.3))
    assert one.record.result.delta == pytest.approx((low + high) / 2)
    assert one.record.arms[1].resolved == (21, 22, 22)
    assert one.arms[1].bounds == pytest.approx((65 / 120, 66 / 120))
    assert one.record.result.significant is Significance.YES  # nothing that is missing could change it
    assert one.tests is None
    assert any("none counts as a failure" in note for note in one.notes)


def test_what_is_missing_and_could_change_the_verdict_leaves_it_open() -> None:
    tables = {"a": [[0, 0]] * 20, "b": [[1, 1]] * 6 + [[0, 0]] * 14}
    assert compared(tables).record.result.significant is Significance.YES  # 2 / 2^6
    one = compared(with_missing(with_missing(tables, "b", 0, 0), "b", 0, 1))
    assert one.record.result.significant is Significance.UNDETERMINED
    assert one.decided_by_missing
    assert one.record.result.recommendation is Recommendation.PARE_BACK
    assert "missing verdicts could change it" in ab.details(one)["significance"]


def test_a_yes_must_keep_its_direction() -> None:
    """Half of all verdicts missing can make either arm the better one, each significantly."""
    tables: dict[str, Table] = {"a": [[None, None]] * 30, "b": [[1, 1]] * 15 + [[0, 0]] * 15}
    one = compared(tables)
    assert one.low.delta < 0 < one.high.delta
    assert one.record.result.significant is Significance.UNDETERMINED


def test_bounds_of_pass_at_k() -> None:
    one = compared({"a": [[None, 0]], "b": [[1, 1]]})
    assert one.arms[0].at_k == ((0.0, 0.5), (0.0, 1.0))


# ---- several candidates, several looks


def test_several_candidates_are_one_family() -> None:
    tables = {"base": [[0, 0]] * 20, "six": [[1, 1]] * 6 + [[0, 0]] * 14, "none": [[0, 0]] * 20}
    source = ab.Source(make_run(tables))
    pairs = [ab.align(source.grid("base"), source.grid(name)) for name in ("six", "none")]
    six, none = ab.compare(pairs, ["six", "none"])
    alone = compared({"base": tables["base"], "six": tables["six"]})
    assert alone.p_value == 2 / 2**6
    assert six.p_value == pytest.approx(2 * alone.p_value)  # Holm, the smallest of two
    assert six.record.result.significant is Significance.UNDETERMINED
    assert none.p_value == 1
    assert six.level == 0.975


def test_an_early_look_asks_for_more() -> None:
    tables = {"a": [[0, 0]] * 20, "b": [[1, 1]] * 6 + [[0, 0]] * 14}
    first = compared(tables, options=ab.Options(look=ab.Look(1, 4)))
    assert first.alpha < 0.001
    assert first.record.result.significant is Significance.UNDETERMINED
    pocock = ab.Look(1, 4, "pocock").alpha(0.05)
    assert 0.001 < pocock < 0.05
    assert ab.Look(4, 4).alpha(0.05) == pytest.approx(0.043, abs=2e-3)
    assert ab.Look().alpha(0.05) == 0.05


def test_a_look_that_spends_next_to_nothing_still_has_intervals() -> None:
    one = compared(better(), options=ab.Options(look=ab.Look(1, 100)))
    assert one.alpha < 1e-15
    assert one.level < 1
    assert one.record.result.significant is Significance.UNDETERMINED


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (ab.Options(alpha=0), "alpha"),
        (ab.Options(alpha=float("nan")), "alpha"),
        (ab.Options(smallest_effect=1), "smallest_effect"),
        (ab.Options(power=1.5), "power"),
        (ab.Options(bound=ab.Bound(-1)), "cost_bound"),
        (ab.Options(bound=ab.Bound(amount=float("nan"))), "most_per_task"),
        (ab.Options(look=ab.Look(3, 2)), "look"),
        (ab.Options(look=ab.Look(1, 2, "haybittle")), "spending"),
    ],
)
def test_options_that_make_no_sense(options: ab.Options, field: str) -> None:
    with pytest.raises(InputError) as caught:
        compared(better(), options=options)
    assert caught.value.place.field == field


# ---- what changed, what flakes


def test_tasks_that_changed_sides_come_with_both_logs() -> None:
    one = compared({"a": [[1, 1, 1], [0, 0, 1], [1, 1, 0]], "b": [[1, 1, 1], [1, 0, 1], [0, 0, 0]]})
    lost, won = one.changes
    assert (lost.task_id, lost.side, lost.baseline, lost.candidate, lost.seed) == ("t2", "lost", 2, 0, 1)
    assert lost.logs == ("logs/t2-a-1.log", "logs/t2-b-1.log")
    assert lost.outcomes == ("resolved", "not_resolved")
    assert (won.task_id, won.side, won.seed) == ("t1", "won", 1)


def test_a_count_can_change_and_the_side_not() -> None:
    (change,) = compared({"a": [[1, 1, 1]], "b": [[1, 1, 0]]}).changes
    assert (change.side, change.seed) == (None, 3)


def identity(trial: Trial) -> tuple[str, str, int]:
    return trial.task_id, trial.arm, trial.seed


def test_flaky_candidates_are_listed_and_their_variance_told_apart() -> None:
    run = make_run({"a": [[1, 0]] * 8, "b": [[1, 1]] * 8})
    again = tuple(
        replace(
            t, repeat=1, outcome=Outcome.NOT_RESOLVED if (t.task_id, t.arm, t.seed) == ("t3", "b", 2) else t.outcome
        )
        for t in run.trials
    )
    (one,) = ab.compare([ab.align(*grids(replace(run, trials=run.trials + again)))], ["x"])
    (flake,) = one.flakes
    assert (flake.task_id, flake.arm, flake.seed, flake.resolved) == ("t3", "b", 2, False)
    assert flake.outcomes == {"resolved": 1, "not_resolved": 1}
    assert one.record.arms[1].resolved == (8, 7)
    assert one.arms[0].components is not None
    assert one.arms[0].components.flake == 0
    assert one.arms[1].components is not None
    assert one.arms[1].components.flake == pytest.approx(0.5 / 16)


# ---- cost


def test_cost_is_weighed_in_what_everybody_tells() -> None:
    assert compared(better(), spend=LEVEL).costs.unit is ab.Unit.DOLLARS
    untold = replace(CHEAP, micro_dollars=None)
    one = compared(better(), spend={"baseline": CHEAP, "candidate": untold})
    assert one.costs.unit is ab.Unit.TOKENS
    assert any("tells its dollars" in note for note in one.notes)
    run = make_run(better())
    graded = tuple(replace(t, compute=Spend(cpu_seconds=2.0)) for t in run.trials)
    (one,) = ab.compare([ab.align(*grids(replace(run, trials=graded)))], ["x"])
    assert one.costs.unit is ab.Unit.CPU
    assert compared(better()).costs.unit is None
    assert compared(better()).advice.price is ab.Price.UNKNOWN


def test_equal_resolve_at_ten_times_the_cost_is_no_tie() -> None:
    """With a real spread of costs: the interval of the ratio is about 10."""
    table = by_counts((20, 20), 40)
    run = make_run({"a": table, "b": table})
    chance = random.Random(1)
    trials = tuple(
        replace(t, llm=Spend(micro_dollars=int(chance.uniform(5e3, 2e4)) * (10 if t.arm == "b" else 1)))
        for t in run.trials
    )
    (one,) = ab.compare([ab.align(*grids(replace(run, trials=trials)))], ["x"])
    assert one.costs.interval is not None
    assert 5 < one.costs.interval[0] < 10 < one.costs.interval[1] < 20
    assert one.advice.price is ab.Price.EXCESSIVE
    assert one.record.result.recommendation is Recommendation.REJECT


# ---- words and data


def test_details_are_json() -> None:
    several: list[Mapping[str, Table]] = [better(), {"a": [[None]], "b": [[0]]}, {"a": [[0]], "b": [[0]]}]
    for tables in several:
        text = json.dumps(ab.details(compared(tables)), allow_nan=False)
        assert json.loads(text)["headline"]


def test_what_would_be_needed_is_told() -> None:
    assert "a second seed" in ab.details(compared({"a": by_counts((9,), 20), "b": by_counts((12,), 20)}))["outlook"]
    assert "Nothing is known" in ab.details(compared({"a": [[0]], "b": [[1]]}))["outlook"]
    chance = random.Random(2)
    noisy = {arm: [[int(chance.random() < 0.5) for _ in range(3)] for _ in range(200)] for arm in "ab"}
    one = compared(noisy, options=ab.Options(smallest_effect=0.06))
    assert one.power.seeds is not None
    assert one.power.seeds > 3
    assert f"take {one.power.seeds} seeds per arm" in ab.details(one)["outlook"]


def test_too_few_tasks_that_differ_is_told_as_such() -> None:
    tables = {"a": [[0, 0]] * 12, "b": [[1, 1]] * 4 + [[0, 0]] * 8}
    one = compared(tables)
    assert one.p_value == 2 / 2**4
    assert "Only 4 of 12 tasks differ, and fewer than 6 cannot reach it" in ab.details(one)["significance"]


def test_nothing_depends_on_the_order_of_the_trials() -> None:
    run = make_run(better(), spend=LEVEL)
    source = ab.Source(run)
    mixed = list(run.trials)
    random.Random(5).shuffle(mixed)
    other = ab.Source(replace(run, trials=tuple(mixed)))
    found = [
        ab.compare([ab.align(one.grid("baseline"), one.grid("candidate"))], ["x"])[0].record.to_json_text()
        for one in (source, other)
    ]
    assert found[0] == found[1]


def test_a_trial_more_in_each_arm_is_a_seed_more() -> None:
    run = make_run({"a": [[1]], "b": [[0]]})
    more = tuple(Trial(t.task_id, t.arm, 7, 0, t.outcome) for t in run.trials)
    pair = ab.align(*grids(replace(run, trials=run.trials + more)))
    assert pair.baseline.seeds == (1, 7)


def test_settings_are_not_a_record_of_arms() -> None:
    """The harness is the only thing of the settings that stands on an arm."""
    names = {field.name for field in dataclasses.fields(STATED)}
    assert names - {"harness_version"} == set(compared(better()).record.frozen.field_names())
