"""Cells, frontiers, ranks and scaffolds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.cost_ledger import ArmCost, PriceTable, by_arm
from parsimony.errors import InputError
from parsimony.matrix import (
    Cell,
    Matrix,
    Place,
    PublishedRow,
    RunRow,
    measured,
    midranks,
    parse_row,
    scaffold_effects,
    standings,
    wording,
)
from parsimony.runs import Run, Settings, Spend, Trial
from parsimony.scorer import Outcome
from parsimony.statistics import wilson
from tests.parsimony.matrix.conftest import cell

PLACE = {"model": "m", "benchmark": "b", "scaffold": "s"}
OUTCOMES = {None: Outcome.MISSING, True: Outcome.RESOLVED, False: Outcome.NOT_RESOLVED}


def test_rows_of_both_forms() -> None:
    assert parse_row({**PLACE, "run": "runs/one", "arm": "a"}) == RunRow(Place("m", "b", "s"), "runs/one", "a")
    told = parse_row({**PLACE, "accuracy": 0.1, "dollars": 12.35, "n": 300, "source": "a table"})
    assert told == PublishedRow(Place("m", "b", "s"), Fraction(1, 10), 300, 12_350_000, "a table")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"accuracy": 0.1}, "n"),
        ({}, "accuracy"),
        ({"accuracy": 41.2, "n": 10}, "accuracy"),
        ({"accuracy": float("nan"), "n": 10}, "accuracy"),
        ({"accuracy": True, "n": 10}, "accuracy"),
        ({"accuracy": "0.4", "n": 10}, "accuracy"),
        ({"accuracy": 0.1, "n": 0}, "n"),
        ({"accuracy": 0.1, "n": 10**9}, "n"),
        ({"accuracy": 0.1, "n": 2.5}, "n"),
        ({"accuracy": 0.1, "n": 10, "dollars": -1}, "dollars"),
        ({"accuracy": 0.1, "n": 10, "dollars": float("inf")}, "dollars"),
        ({"accuracy": 0.1, "n": 10, "cost": 1}, "cost"),
        ({"accuracy": 0.1, "n": 10, "arm": "a"}, "arm"),
        ({"accuracy": 0.1, "run": "r"}, "accuracy"),
        ({"run": 7}, "run"),
        ({"run": "r", "model": 4}, "model"),
        ({"run": "r", "scaffold": " "}, "scaffold"),
        ({"run": "a\0b"}, "run"),
        ({"run": "r", "model": "a\nb"}, "model"),
        ({"run": "r", "benchmark": "\ud800"}, "benchmark"),
    ],
)
def test_a_bad_row_names_its_field(fields: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_row({**PLACE, **fields})
    assert caught.value.place.field == field


def cost_of(table: list[list[bool | None]], spends: list[int | None]) -> ArmCost:
    """An arm of verdicts (tasks, seeds); the candidates of a task cost the same."""
    trials = tuple(
        Trial(f"t{row}", "a", seed, 0, OUTCOMES[verdict], "sha256:1",
              llm=None if spends[row] is None else Spend(output_tokens=1, micro_dollars=spends[row]))
        for row, verdicts in enumerate(table)
        for seed, verdict in enumerate(verdicts)
    )  # fmt: skip
    (cost,) = by_arm(Run("r", "n", "s", {}, {"a": Settings()}, trials), PriceTable())
    return cost


def test_a_run_is_a_cell_of_tasks_however_many_seeds_it_has() -> None:
    """Four tasks, two seeds: the interval is that of four, and the cost is of one candidate."""
    table: list[list[bool | None]] = [[True, True], [True, False], [False, False], [True, True]]
    found = measured(Place("m", "b", "s"), cost_of(table, [100, 200, 300, 400]), "run")
    assert found.accuracy == Fraction(5, 8)
    assert found.per_task == 250
    assert (found.n, found.seeds, found.missing) == (4, 2, 0)
    assert found.interval == wilson(2, 4)  # 2.5 is rounded half to even


def test_missing_verdicts_are_bounds_and_unknown_costs_are_unknown() -> None:
    found = measured(Place("m", "b", "s"), cost_of([[True], [None]], [100, None]), "run")
    assert found.accuracy is None
    assert found.bounds == (Fraction(1, 2), Fraction(1))
    assert (found.per_task, found.missing, found.unknown) == (None, 1, 1)
    low, high = found.interval
    assert (low, high) == ((wilson(1, 2) or (0, 0))[0], (wilson(2, 2) or (0, 0))[1])
    (placed,) = Matrix((found,)).placed("b")
    assert (placed.frontier, placed.convex, placed.dominated_by) == (False, False, None)


def test_frontiers_of_a_benchmark() -> None:
    """B is worth its price beside A and D; C is under the line from B to D; B and C beat E."""
    cells = [
        cell("A", "x", "s", "1/10", 10),
        cell("B", "x", "s", "4/10", 20),
        cell("C", "x", "s", "45/100", 40),
        cell("D", "x", "s", "6/10", 50),
        cell("E", "x", "s", "3/10", 45),
        cell("dark", "x", "s", "9/10"),
    ]
    placed = {one.cell.place.model: one for one in Matrix(tuple(cells)).placed("x")}
    assert [name for name, one in placed.items() if one.frontier] == ["D", "C", "B", "A"]
    assert [name for name, one in placed.items() if one.convex] == ["D", "B"]  # half of the tasks to B beat A
    assert (placed["E"].dominated_by or ("",))[0] == "C"  # the best of those that do
    assert wording.standing(placed["dark"]) == "cost not known"


@given(st.lists(st.tuples(st.integers(0, 100), st.one_of(st.none(), st.integers(1, 30))), min_size=1, max_size=14))
def test_what_is_on_no_frontier_is_dominated_and_the_convex_part_is_of_the_plain_one(
    results: list[tuple[int, int | None]],
) -> None:
    cells = [cell(f"m{n}", "x", "s", Fraction(share, 100), dollars) for n, (share, dollars) in enumerate(results)]
    placed = Matrix(tuple(cells)).placed("x")
    assert len(placed) == len(cells)
    by_place = {one.cell.place: one for one in placed}
    for one in placed:
        known = one.cell.per_task is not None
        assert one.frontier == (known and one.dominated_by is None)
        assert one.frontier or not one.convex
        if one.dominated_by is not None:
            better = by_place[one.dominated_by].cell
            assert better.bounds[0] >= one.cell.bounds[0]
            assert (better.per_task or 0) <= (one.cell.per_task or 0)
            assert (better.bounds, better.per_task) != (one.cell.bounds, one.cell.per_task)
    priced = [one for one in placed if one.cell.per_task is not None]
    if priced:
        best = max(one.cell.bounds[0] for one in priced)
        assert any(one.frontier and one.cell.bounds[0] == best for one in priced)


def test_empty_cells_are_gaps_and_no_zeros() -> None:
    cells = (cell("A", "x", "s", "1/2"), cell("B", "x", "t", "1/2"), cell("A", "y", "s", "1/2"))
    found = Matrix(cells)
    assert found.columns == [("x", "s"), ("x", "t"), ("y", "s")]
    assert found.gaps == [Place("B", "x", "s"), Place("A", "x", "t"), Place("B", "y", "s")]
    assert "3 of 6 cells are empty" in (wording.gaps(found) or "")
    assert wording.gaps(Matrix(cells[:1])) is None


def test_ranks_are_at_equal_scaffold_and_a_model_with_gaps_comes_after() -> None:
    cells = [
        cell("A", "x", "s", "6/10"), cell("B", "x", "s", "4/10"), cell("C", "x", "s", "4/10"),
        cell("A", "x", "t", "1/10"), cell("B", "x", "t", "9/10"),
        cell("A", "y", "s", "3/10"), cell("B", "y", "s", "5/10"),
        cell("C", "z", "s", "9/10"),
    ]  # fmt: skip
    found = {one.model: one for one in standings(Matrix(tuple(cells)))}
    assert list(found) == ["B", "A", "C"]
    assert found["A"].mean_rank == (Fraction(1 + 2, 2) + 2) / 2
    assert found["B"].mean_rank == (Fraction(5, 2) / 2 + Fraction(1, 2) + 1) / 2
    assert (found["C"].mean_rank, found["C"].ranked, found["C"].of) == (Fraction(5, 2), 1, 2)
    assert not found["C"].complete


@given(st.dictionaries(st.text(max_size=3), st.fractions(0, 1, max_denominator=5), min_size=1, max_size=8))
def test_midranks_always_sum_to_the_same(scores: dict[str, Fraction]) -> None:
    ranks = midranks(scores)
    n = len(scores)
    assert sum(ranks.values()) == Fraction(n * (n + 1), 2)
    for one, mine in scores.items():
        for other, theirs in scores.items():
            assert (ranks[one] < ranks[other]) == (mine > theirs)


def test_a_model_alone_has_no_rank() -> None:
    (only,) = standings(Matrix((cell("A", "x", "s", "1/2"),)))
    assert (only.mean_rank, only.of, only.complete) == (None, 0, False)


def test_scaffolds_are_compared_where_model_and_benchmark_are_the_same() -> None:
    cells = [
        cell("A", "x", "s", "2/10", 10), cell("A", "x", "t", "5/10", 40),
        cell("B", "x", "s", "2/10", 10), cell("B", "x", "t", "2/10", 10),
        cell("A", "y", "s", "8/10", 10), cell("A", "y", "t", "5/10"),
        cell("C", "y", "t", "9/10", 10),
    ]  # fmt: skip
    (effect,) = scaffold_effects(Matrix(tuple(cells)))
    assert (effect.one, effect.other, effect.counts, effect.priced) == ("s", "t", (1, 1, 1), 2)
    assert effect.mean == pytest.approx(0.0)
    assert effect.cost_ratio == pytest.approx(2.0)  # geometric mean of 4 and 1
    assert effect.interval is not None
    assert scaffold_effects(Matrix((cell("A", "x", "s", "1/2"), cell("B", "x", "t", "1/2")))) == []


def test_results_of_other_tasks_are_told_apart() -> None:
    cells = (cell("A", "x", "s", "1/2", n=300), cell("B", "x", "s", "1/2", n=500))
    assert any("300, 500 tasks" in line for line in wording.notes(Matrix(cells)))
    free = (cell("A", "x", "s", "1/2", 0),)
    assert any("cost nothing" in line for line in wording.notes(Matrix(free)))
    sets = tuple(
        Cell(Place(name, "x", "s"), (Fraction(1), Fraction(1)), 5, None, task_set=name, measured=True) for name in "AB"
    )
    assert any("2 different sets" in line for line in wording.notes(Matrix(sets)))
