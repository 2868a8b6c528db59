"""Sums, ratios, rankings and reconciliation: exact, and unknown is never zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.cost_ledger import (
    ArmCost,
    CandidateCost,
    ComputePrice,
    CostRow,
    Kind,
    ModelPrice,
    PriceTable,
    Reconciliation,
    RowKind,
    Total,
    by_arm,
    entries,
    rank,
    reconcile,
    spent_by_arm,
    with_prices,
    wording,
)
from parsimony.errors import InputError
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome

DAY = date(2026, 6, 1)
TABLE = PriceTable(
    (ModelPrice("m", Fraction("0.25"), Fraction("0.025"), Fraction(2), date(2026, 1, 1), file="p.yaml"),),
    (ComputePrice(Fraction("0.036"), date(2026, 1, 1)),),
    ("p.yaml",),
)
OUTCOMES = {True: Outcome.RESOLVED, False: Outcome.NOT_RESOLVED, None: Outcome.MISSING}


def trial(arm: str, task: int, solved: bool | None, *, dollars: int | None = 10, repeat: int = 0) -> Trial:
    key = f"{arm}-{task}-{repeat}"
    llm = Spend(1, 2, 3, 4, 5.0, 60.0, dollars, "m", day=DAY)
    compute = Spend(cpu_seconds=50.0, wall_seconds=9.0, day=DAY)
    return Trial(f"t-{task}", arm, 1, repeat, OUTCOMES[solved], "sha256:1", key, llm=llm, compute=compute)


def run_of(*trials: Trial) -> Run:
    return Run("r", "n", "s", {}, {one.arm: Settings() for one in trials}, trials)


def test_costs_of_an_arm() -> None:
    """Producing counts once per candidate; the ledger holds every repeat of a grading, its cost is their mean."""
    repeats = [trial("x", 1, True, repeat=n) for n in range(2)]
    (arm,) = by_arm(run_of(*repeats, trial("x", 2, False)), TABLE)
    assert (arm.candidates, arm.resolved, arm.llm.rows, arm.compute.rows) == (2, 1, 2, 3)
    assert (arm.llm.tokens, arm.llm.calls, arm.llm.micro_dollars, arm.compute.micro_dollars) == (12, 8, 20, 1500)
    assert [arm.micro_dollars, arm.per_candidate, arm.days] == [1020, 510, (DAY, DAY)]
    assert arm.ratios() == {
        "resolved_per_dollar": pytest.approx(1 / 0.00102), "resolved_per_million_tokens": pytest.approx(1e6 / 12),
        "resolved_per_wall_hour": pytest.approx(30.0), "resolved_per_cpu_second": pytest.approx(1 / 110),
        "dollars_per_resolved": pytest.approx(0.00102),
    }  # fmt: skip


def test_repeats_give_one_verdict_and_an_exact_mean() -> None:
    """Two of three repeats are resolved; the gradings cost 500, 500 and 501 micro-dollars."""
    repeats = [trial("x", 1, solved, repeat=n) for n, solved in enumerate((True, False, True))]
    repeats[2] = replace(repeats[2], compute=Spend(cpu_seconds=50.1, day=DAY))
    (arm,) = by_arm(run_of(*repeats), TABLE)
    assert (arm.candidates, arm.resolved, arm.micro_dollars) == (1, 1, 10 + Fraction(1501, 3))


def test_grading_is_left_out_where_computing_has_no_price() -> None:
    (arm,) = by_arm(run_of(trial("x", 1, True)), PriceTable())
    assert (arm.with_grading, arm.micro_dollars, arm.compute.unpriced) == (False, 10, 1)
    assert "producing alone" in wording.basis(rank([arm]))


def test_nothing_was_executed_for_an_empty_patch() -> None:
    empty = replace(trial("x", 1, None), outcome=Outcome.EMPTY_PATCH, execution_key=None, compute=None)
    (arm,) = by_arm(run_of(empty), TABLE)
    assert [arm.micro_dollars, arm.rate] == [10, 0]


def test_an_unknown_part_makes_the_whole_unknown() -> None:
    silent = replace(trial("x", 1, True), llm=None)
    (arm,) = by_arm(run_of(silent, trial("x", 2, True)), TABLE)
    assert [arm.untold, arm.dollars, arm.ratios()["resolved_per_dollar"], arm.rate] == [1, None, None, 1]
    unmeasured = replace(trial("x", 1, True), compute=None)
    (arm,) = by_arm(run_of(unmeasured), TABLE)
    assert (arm.dollars, arm.ratios()["dollars_per_resolved"]) == (None, None)


def test_a_missing_verdict_leaves_bounds() -> None:
    (arm,) = by_arm(run_of(trial("x", 1, True), trial("x", 2, None), trial("x", 3, False)), TABLE)
    assert (arm.rate, arm.bounds, arm.missing, arm.dollars) == (None, (Fraction(1, 3), Fraction(2, 3)), 1, None)
    assert set(arm.ratios().values()) == {None}


def test_the_day_of_each_row_decides_unless_one_is_named() -> None:
    doubled = replace(TABLE.models[0], input=Fraction("0.5"), output=Fraction(4), valid_from=date(2026, 7, 1))
    table = PriceTable((replace(TABLE.models[0], valid_until=date(2026, 6, 30)), doubled))
    early, late = trial("x", 1, True, dollars=None), trial("x", 2, True, dollars=None)
    late = replace(late, llm=Spend(1000, 0, 1000, model="m", day=date(2026, 7, 1)))
    early = replace(early, llm=Spend(1000, 0, 1000, model="m", day=DAY))
    (arm,) = by_arm(run_of(early, late), table)
    assert [one.llm for one in arm.each] == [2250, 4500]
    assert arm.days == (DAY, date(2026, 7, 1))
    (arm,) = by_arm(run_of(early, late), table, date(2026, 8, 1))
    assert [one.llm for one in arm.each] == [4500, 4500]


def test_a_candidate_without_a_price_is_named() -> None:
    with pytest.raises(InputError, match="t-2, arm x, seed 1: no price of the model 'm' on 2026-06-01"):
        by_arm(run_of(trial("x", 1, True), trial("x", 2, True, dollars=None)), PriceTable(files=("p.yaml",)))
    dayless = replace(trial("x", 1, True), llm=Spend(input_tokens=3, model="m"))
    with pytest.raises(InputError, match="no day whose price could hold; name one with --as-of"):
        by_arm(run_of(dayless), TABLE)


def test_without_any_prices_dollars_are_not_known() -> None:
    run = run_of(trial("x", 1, True), trial("x", 2, True, dollars=None))
    (arm,) = by_arm(run, PriceTable())
    assert (arm.dollars, arm.untold, arm.llm.unpriced) == (None, 1, 1)
    assert with_prices(run, PriceTable()) is run


def test_a_run_with_its_dollars() -> None:
    """What is told stays; the rest has the price of its day."""
    dear = replace(trial("x", 2, True), llm=Spend(input_tokens=1000, model="m", day=DAY))
    priced = with_prices(run_of(trial("x", 1, True), dear, replace(trial("x", 3, None), llm=None, compute=None)), TABLE)
    assert [one.llm and one.llm.micro_dollars for one in priced.trials] == [10, 250, None]
    assert [one.compute and one.compute.micro_dollars for one in priced.trials] == [500, 500, None]
    with pytest.raises(InputError, match="t-1, arm x, seed 1: no price of the model 'other'"):
        with_prices(run_of(replace(dear, task_id="t-1", llm=Spend(input_tokens=1, model="other", day=DAY))), TABLE)


def test_a_row_for_each_candidate_and_each_grading() -> None:
    found = list(entries(run_of(*(trial("x", 1, True, repeat=n) for n in range(3))), TABLE))
    assert [(one.kind, one.repeat, one.micro_dollars) for one in found] == [
        (Kind.LLM, 0, 10), *((Kind.COMPUTE, n, 500) for n in range(3)),
    ]  # fmt: skip


# ---- ranking


def arm(name: str, resolved: int, dollars: float | None, *, missing: int = 0, candidates: int = 100) -> ArmCost:
    micro = None if dollars is None else round(dollars * 1e6)
    each = [CandidateCost("t", n, True, 0, 0, 0, 0.0, 0.0) for n in range(candidates - 1)]
    each.append(CandidateCost("t", candidates, True, micro, 0, 0, 0.0, 0.0))
    return ArmCost(name, candidates, resolved, missing, Total(), Total(), int(dollars is None), False, tuple(each))


def test_equal_rates_at_ten_times_the_cost_are_not_equal() -> None:
    ranked = rank([arm("dear", 40, 400.0), arm("cheap", 40, 40.0), arm("twin", 40, 40.0), arm("dark", 40, None)])
    assert [(one.cost.arm, one.rank) for one in ranked] == [("cheap", 1), ("twin", 1), ("dear", 3), ("dark", 4)]
    assert [one.dominated_by for one in ranked] == ["", "", "cheap", ""]
    assert [wording.standing(one) for one in ranked] == [
        "worth its price", "worth its price", "dominated by cheap", "cost not known",
    ]  # fmt: skip


def test_the_last_micro_dollar_breaks_a_tie() -> None:
    ranked = rank([arm("a", 40, 40.000001), arm("b", 40, 40.0)])
    assert [(one.cost.arm, one.rank) for one in ranked] == [("b", 1), ("a", 2)]


def test_cost_is_weighed_per_candidate() -> None:
    """Twice the candidates at twice the cost is the same."""
    ranked = rank([arm("many", 80, 80.0, candidates=200), arm("few", 40, 40.0)])
    assert [one.rank for one in ranked] == [1, 1]


def test_an_arm_with_missing_verdicts_has_no_rank() -> None:
    ranked = rank([arm("open", 90, 1.0, missing=5), arm("whole", 40, 40.0)])
    assert [(one.cost.arm, one.rank, one.dominated_by) for one in ranked] == [("whole", 1, ""), ("open", None, "")]
    assert wording.notes(ranked)[0].startswith("open: 5 of 100 verdicts are missing")


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 50)), min_size=1, max_size=8))
def test_a_better_rank_is_never_worse_in_both(points: list[tuple[int, int]]) -> None:
    ranked = rank([arm(f"a{n}", resolved, float(dollars)) for n, (resolved, dollars) in enumerate(points)])
    for before, after in pairwise(ranked):
        one, other = ((r.cost.rate, -(r.cost.per_candidate or 0)) for r in (before, after))
        assert one >= other
        assert (before.rank == after.rank) == (one == other)
    assert ranked[0].rank == 1
    assert not ranked[0].dominated_by


# ---- reconciliation


def rows_of(run: Run, *, shared: bool = False) -> list[CostRow]:
    """What a ledger holds of a run; with `shared`, all gradings of a task are one execution."""
    rows, spent = [], set()
    for one in run.trials:
        identity = (one.task_id, one.arm, one.seed, one.repeat)
        if one.llm is not None and one.repeat == 0:
            rows.append(CostRow(RowKind.LLM, *identity, one.execution_key, one.llm))
        if one.compute is not None:
            if one.execution_key not in spent:
                rows.append(CostRow(RowKind.SPENT, *identity, one.execution_key, one.compute))
                spent.add(one.execution_key)
            rows.append(CostRow(RowKind.ATTRIBUTED, *identity, one.execution_key, one.compute))
    return rows


def settled(run: Run, rows: list[CostRow]) -> Reconciliation:
    return reconcile(run, by_arm(run, TABLE), rows, TABLE)


RUN = run_of(trial("x", 1, True), trial("x", 2, False), replace(trial("y", 1, True), execution_key="x-1-0"))


def test_candidates_and_ledger_agree() -> None:
    """Three gradings are attributed; one execution decided two of them."""
    found = settled(RUN, rows_of(RUN))
    assert not found.differences
    assert (found.llm[1].micro_dollars, found.grading[0].micro_dollars) == (30, 1500)
    assert (found.attributed.micro_dollars, found.spent.micro_dollars, found.shared.micro_dollars) == (1500, 1000, 500)
    assert "$0.001500 attributed = $0.001000 spent on 2 executions + $0.000500 again" in wording.reconciled(found)[2]


def test_rows_of_other_executions_are_told_apart() -> None:
    """Grading under another condition, and a candidate that the sweep has no more."""
    spend = Spend(cpu_seconds=10.0, day=DAY)
    more = [CostRow(kind, "t-1", "x", 1, 0, "variant", spend) for kind in (RowKind.SPENT, RowKind.ATTRIBUTED)]
    gone = CostRow(RowKind.LLM, "t-9", "x", 1, 0, None, Spend(micro_dollars=77))
    found = settled(RUN, [*rows_of(RUN), *more, gone])
    assert not found.differences
    assert sorted(total.micro_dollars for total in found.other.values()) == [77, 100]


def test_an_execution_is_spent_by_the_arm_that_asked_first() -> None:
    found = spent_by_arm(rows_of(RUN), {"t-1", "t-2"}, TABLE)
    assert {arm: (total.rows, total.micro_dollars) for arm, total in found.items()} == {"x": (2, 1000)}
    assert spent_by_arm(rows_of(RUN), {"t-2"}, TABLE)["x"].rows == 1


def change(rows: list[CostRow], kind: RowKind, how: Callable[[CostRow], list[CostRow]]) -> list[CostRow]:
    at = next(n for n, row in enumerate(rows) if row.kind is kind)
    return [*rows[:at], *how(rows[at]), *rows[at + 1 :]]


@pytest.mark.parametrize(
    ("kind", "how", "words"),
    [
        (RowKind.LLM, lambda row: [], "producing, micro-dollars: 30 by candidates, 20 in the ledger"),
        (RowKind.LLM, lambda row: [row, row], "producing, rows: 3 by candidates, 4 in the ledger"),
        (
            RowKind.LLM,
            lambda row: [replace(row, spend=replace(row.spend, micro_dollars=11))],
            "producing, micro-dollars: 30 by candidates, 31 in the ledger",
        ),
        (
            RowKind.LLM,
            lambda row: [replace(row, spend=replace(row.spend, calls=5))],
            "producing, calls: 12 by candidates, 13 in the ledger",
        ),
        (RowKind.ATTRIBUTED, lambda row: [row, row], "grading, rows: 3 by candidates, 4 in the ledger"),
        (RowKind.SPENT, lambda row: [], "execution x-1-0 is attributed and never spent"),
        (RowKind.SPENT, lambda row: [row, row], "execution x-1-0 is spent 2 times"),
        (
            RowKind.SPENT,
            lambda row: [row, replace(row, execution_key="z")],
            "execution z is spent and attributed to nobody",
        ),
        (
            RowKind.SPENT,
            lambda row: [replace(row, spend=replace(row.spend, cpu_seconds=1.0))],
            "execution x-1-0 is attributed at another cost than it was spent",
        ),
    ],
)  # fmt: skip
def test_what_does_not_agree_is_named(kind: RowKind, how: Callable[[CostRow], list[CostRow]], words: str) -> None:
    assert words in settled(RUN, change(rows_of(RUN), kind, how)).differences


def test_the_rows_that_differ_are_named() -> None:
    """Also where their sums are the same."""
    assert not settled(RUN, rows_of(RUN)).rows
    lost = settled(RUN, change(rows_of(RUN), RowKind.LLM, lambda row: []))
    told = "producing t-1, arm x, seed 1, repeat 0: 10 micro-dollars, 6 tokens (5 CPU-s) by candidates, nothing"
    assert lost.rows == (f"{told} in the ledger",)
    first, *rest = [row for row in rows_of(RUN) if row.kind is RowKind.LLM]
    others = [row for row in rows_of(RUN) if row.kind is not RowKind.LLM]
    moved = [replace(row, spend=replace(row.spend, micro_dollars=n)) for row, n in ((first, 9), (rest[0], 11))]
    swapped = settled(RUN, [*moved, *rest[1:], *others])
    assert swapped.differences == ("2 rows differ, and their sums do not",)
    assert "10 micro-dollars, 6 tokens (5 CPU-s) by candidates, 11 micro-dollars" in swapped.rows[1]
    twice = settled(RUN, change(rows_of(RUN), RowKind.ATTRIBUTED, lambda row: [row, row])).rows
    once = "500 micro-dollars (50 CPU-s)"
    assert twice == (f"grading t-1, arm x, seed 1, repeat 0: {once} by candidates, {once} + {once} in the ledger",)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "$0.00"), (1234.5, "$1,234.50"), (1.5, "$1.50"), (0.049, "$0.0490"), (3e-6, "$0.00000300"),
     (-0.5, "−$0.500"), (1e-12, "$0.000000000")],
)  # fmt: skip
def test_amounts_in_words(value: float | None, text: str) -> None:
    assert wording.dollars(value) == text


def test_amounts_to_the_last_micro_dollar() -> None:
    assert [wording.exact(n) for n in (0, 12_345_678_901, -5)] == ["$0.000000", "$12,345.678901", "−$0.000005"]
