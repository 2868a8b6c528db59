"""Whether what candidates are said to have cost is what the ledger of their run holds, to the last micro-dollar."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from parsimony.cost_ledger.arms import ArmCost
from parsimony.cost_ledger.entries import Kind, Total, priced
from parsimony.cost_ledger.prices import PriceTable
from parsimony.cost_ledger.rows import CostRow, RowKind
from parsimony.runs import Run, Spend

Priced = tuple[CostRow, int | None]
Identity = tuple[str, str, int, int]

ANOTHER_EXECUTION: Final = "executions under other conditions, or of earlier patches, environments or versions"
NOT_PLANNED: Final = "candidates that the run does not plan any more"


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Sums over candidates beside sums over the rows of the ledger.

    Attributes:
        llm, grading: (by candidates, by the rows of the ledger that stand for them).
        other: rows of the ledger that stand for no candidate of the results, with why, by that reason.
        attributed: all gradings, each as if it were alone.
        spent: what was executed, once per execution.
        shared: attributed again because one execution decided several candidates or conditions.
        differences: what does not agree, in words; empty = reconciled.
        rows: the rows that differ, each in words.
    """

    llm: tuple[Total, Total]
    grading: tuple[Total, Total]
    other: Mapping[str, Total]
    attributed: Total
    spent: Total
    shared: Total
    differences: tuple[str, ...]
    rows: tuple[str, ...] = ()


def reconcile(
    run: Run, arms: Iterable[ArmCost], rows: Sequence[CostRow], table: PriceTable, at: date | None = None
) -> Reconciliation:
    """Compare the costs of `arms` (of all tasks of `run`) with the cost rows of its ledger, priced independently.

    Raises:
        InputError: a row cannot be priced.
    """
    arms = list(arms)
    valued = [_valued(row, table, at) for row in rows]
    mine, other = _sorted_out(run, valued)
    spent = [one for one in valued if one[0].kind is RowKind.SPENT]
    attributed = [one for one in valued if one[0].kind is RowKind.ATTRIBUTED]
    shared, odd = _shared(attributed, spent)
    llm = _sum(arm.llm for arm in arms), _total(one for one in mine if one[0].kind is RowKind.LLM)
    grading = _sum(arm.compute for arm in arms), _total(one for one in mine if one[0].kind is RowKind.ATTRIBUTED)
    totals = _total(attributed), _total(spent), _total(shared)
    differences = (*_compared("producing", *llm), *_compared("grading", *grading), *odd)
    reasons = {why: _total(some) for why, some in other.items()}
    differing = tuple(_differing(run, mine, table, at))
    if differing and not differences:
        differences = (f"{len(differing)} rows differ, and their sums do not",)
    return Reconciliation(llm, grading, reasons, *totals, differences, differing)


def _differing(run: Run, rows: Iterable[Priced], table: PriceTable, at: date | None) -> Iterator[str]:
    """The costs of candidates that are not just one row of the ledger, and the other way round."""
    ledger: dict[tuple[RowKind, Identity], list[Priced]] = {}
    for one in rows:
        ledger.setdefault((one[0].kind, one[0].identity), []).append(one)
    for trial in run.trials:
        identity = (trial.task_id, trial.arm, trial.seed, trial.repeat)
        name = f"{trial.task_id}, arm {trial.arm}, seed {trial.seed}, repeat {trial.repeat}"
        for kind, row_kind, spend in (
            (Kind.LLM, RowKind.LLM, trial.llm if trial.repeat == 0 else None),
            (Kind.COMPUTE, RowKind.ATTRIBUTED, trial.compute),
        ):
            theirs = ledger.pop((row_kind, identity), [])
            if [row.spend for row, _ in theirs] == ([] if spend is None else [spend]):
                continue
            ours = "nothing" if spend is None else _amount(spend, priced(kind, spend, table, at, name=name)[1])
            found = " + ".join(_amount(row.spend, dollars) for row, dollars in theirs) or "nothing"
            yield f"{_TITLES[kind]} {name}: {ours} by candidates, {found} in the ledger"
    for (row_kind, _), left in ledger.items():
        for row, dollars in left:
            name = f"{row.task_id}, arm {row.arm}, seed {row.seed}, repeat {row.repeat}"
            kind = Kind.LLM if row_kind is RowKind.LLM else Kind.COMPUTE
            yield f"{_TITLES[kind]} {name}: nothing by candidates, {_amount(row.spend, dollars)} in the ledger"


_TITLES: Final = {Kind.LLM: "producing", Kind.COMPUTE: "grading"}


def _amount(spend: Spend, micro_dollars: int | None) -> str:
    dollars = "no dollars" if micro_dollars is None else f"{micro_dollars:,} micro-dollars"
    tokens = f", {spend.tokens:,} tokens" if spend.tokens else ""
    return f"{dollars}{tokens} ({spend.cpu_seconds:g} CPU-s)"


def _valued(row: CostRow, table: PriceTable, at: date | None) -> Priced:
    kind = Kind.LLM if row.kind is RowKind.LLM else Kind.COMPUTE
    name = f"{row.task_id}, arm {row.arm}, seed {row.seed} (in the ledger)"
    return row, priced(kind, row.spend, table, at, name=name)[1]


def _sorted_out(run: Run, rows: Iterable[Priced]) -> tuple[list[Priced], Mapping[str, list[Priced]]]:
    """The rows that stand for the trials of a run, and the others by why they do not. Rows of executions as spent are
    neither: they stand for no single candidate."""
    keys = {(trial.task_id, trial.arm, trial.seed, trial.repeat): trial.execution_key for trial in run.trials}
    mine: list[Priced] = []
    other: dict[str, list[Priced]] = {}
    for one in rows:
        row = one[0]
        if row.kind is RowKind.SPENT:
            continue
        if row.identity not in keys:
            other.setdefault(NOT_PLANNED, []).append(one)
        elif row.kind is RowKind.ATTRIBUTED and row.execution_key != keys[row.identity]:
            other.setdefault(ANOTHER_EXECUTION, []).append(one)
        else:
            mine.append(one)
    return mine, other


def _shared(attributed: Sequence[Priced], spent: Sequence[Priced]) -> tuple[list[Priced], tuple[str, ...]]:
    """The attributed rows beyond the first of each execution, and what breaks `attributed = spent + shared`."""
    once = {row.execution_key: (row, dollars) for row, dollars in spent}
    seen: Counter[str | None] = Counter()
    shared, odd = [], []
    for row, dollars in attributed:
        seen[row.execution_key] += 1
        paid = once.get(row.execution_key)
        if paid is None:
            odd.append(f"execution {_short(row.execution_key)} is attributed and never spent")
        elif _measured(*paid) != _measured(row, dollars):
            odd.append(f"execution {_short(row.execution_key)} is attributed at another cost than it was spent")
        if seen[row.execution_key] > 1:
            shared.append((row, dollars))
    odd += [f"execution {_short(key)} is spent and attributed to nobody" for key in once if key not in seen]
    twice = Counter(row.execution_key for row, _ in spent)
    odd += [f"execution {_short(key)} is spent {n} times" for key, n in twice.items() if n > 1]
    return shared, tuple(dict.fromkeys(odd))


def _measured(row: CostRow, dollars: int | None) -> tuple[float, float, int | None]:
    return row.spend.cpu_seconds, row.spend.wall_seconds, dollars


def _short(key: str | None) -> str:
    return (key or "without a key")[:23]


_COUNTS: Final[Mapping[str, Callable[[Total], int]]] = {
    "rows": lambda total: total.rows,
    "micro-dollars": lambda total: total.micro_dollars,
    "rows without a price": lambda total: total.unpriced,
    "tokens": lambda total: total.tokens,
    "calls": lambda total: total.calls,
}


def _compared(what: str, ours: Total, theirs: Total) -> list[str]:
    """Integers must be the same; seconds are sums of sums of floats, the same to a millionth of a second a row."""
    found = [
        f"{what}, {name}: {of(ours):,} by candidates, {of(theirs):,} in the ledger"
        for name, of in _COUNTS.items()
        if of(ours) != of(theirs)
    ]
    for name in ("cpu_seconds", "wall_seconds"):
        mine, its = getattr(ours, name), getattr(theirs, name)
        if abs(mine - its) > 1e-6 * max(1, ours.rows):
            found.append(f"{what}, {name.replace('_', ' ')}: {mine:.6f} by candidates, {its:.6f} in the ledger")
    return found


def _total(some: Iterable[Priced]) -> Total:
    return Total.of((row.spend, dollars) for row, dollars in some)


def _sum(totals: Iterable[Total]) -> Total:
    found = list(totals)
    return Total(
        sum(one.rows for one in found),
        sum(one.tokens for one in found),
        sum(one.calls for one in found),
        math.fsum(one.cpu_seconds for one in found),
        math.fsum(one.wall_seconds for one in found),
        sum(one.micro_dollars for one in found),
        sum(one.unpriced for one in found),
    )
