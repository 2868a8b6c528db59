"""Results of a run, derived from its ledger: outcome lines, scores, the summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from cluster.ledger import LedgerReader
from cluster.plan import Unit
from cluster.rundir import SCHEMA
from parsimony.cost_ledger import Kind, PriceTable, Total
from parsimony.cost_ledger.entries import priced
from parsimony.cost_ledger.rows import CostRow, RowKind
from parsimony.runs import Spend
from parsimony.scorer import Outcome
from parsimony.statistics import quantile, wilson

Row = Mapping[str, Any]
Identity = tuple[str, str, int, int]

NO_PRICES: Final = PriceTable()


def identity(row: Row) -> Identity:
    """Task, arm, seed, repeat of a ledger row or an outcome line."""
    return row["task_id"], row["arm"], row["seed"], row["repeat"]


def outcome_lines(
    units: Iterable[Unit],
    score_rows: Iterable[Row],
    *,
    score_key: Callable[[Unit], str],
    missing: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    """A line per planned unit, in the order of the plan: the census holds by construction.

    A unit without a terminal record is `missing`: it is shown, and never counted as a failure.

    Args:
        score_key: the key of the score that holds for a unit today; rows of other keys (an older scorer, another
            reference) are history.
        missing: reasons by execution key for jobs that have no execution.
    """
    rows = {(identity(row), row["score_key"]): row for row in score_rows}
    lines = []
    for unit in units:
        row = rows.get((unit.identity, score_key(unit)))
        if row is not None:
            lines.append(_line(row))
        else:
            lines.append(_line_of_missing(unit, missing.get(unit.key or "", ())))
    return lines


def _line(row: Row) -> dict[str, Any]:
    return {
        "task_id": row["task_id"],
        "arm": row["arm"],
        "seed": row["seed"],
        "repeat": row["repeat"],
        "execution_key": row["execution_key"],
        "patch_ref": row["patch_ref"],
        "outcome": row["outcome"],
        "evidence": row["evidence"],
        "reasons": list(row["reasons"] or ()),
        "attempts": row["attempts"],
        "wall_seconds": row["wall_seconds"],
        "cpu_seconds": row["cpu_seconds"],
        "peak_memory_bytes": row["peak_memory_bytes"],
        "apply_strategy": row["apply_strategy"],
        "score": json.loads(row["score"]) if row["score"] else None,
    }


def _line_of_missing(unit: Unit, reasons: Sequence[str]) -> dict[str, Any]:
    return {
        "task_id": unit.task.instance_id,
        "arm": unit.arm,
        "seed": unit.seed,
        "repeat": unit.repeat,
        "execution_key": unit.key,
        "patch_ref": unit.candidate.patch_ref if unit.candidate else None,
        "outcome": Outcome.MISSING.value,
        "evidence": "none",
        "reasons": list(unit.reasons or reasons) or ["not graded yet"],
        "attempts": 0,
        "wall_seconds": None,
        "cpu_seconds": None,
        "peak_memory_bytes": None,
        "apply_strategy": None,
        "score": None,
    }


def summarise(
    lines: Sequence[Row],
    *,
    name: str,
    rejected: int,
    costs: Iterable[CostRow],
    executions: Iterable[Row],
    wall_seconds: float,
    quarantined: Mapping[str, Sequence[str]] = MappingProxyType({}),
    prices: PriceTable = NO_PRICES,
) -> dict[str, Any]:
    """The summary of a run.

    Args:
        quarantined: tasks that failed their audit, with the reasons: they are in the census and the outcomes, and in no
            rate.
        lines: of `outcome_lines`.
        costs: rows of the ledger. executions: need `phases` and `execution_key` only.
        prices: what costs that tell no dollars cost.
        wall_seconds: of all drivers that worked on this run, together.
    """
    outcomes = Counter(line["outcome"] for line in lines)
    missing = outcomes[Outcome.MISSING.value]
    counted = [line for line in lines if line["task_id"] not in quarantined]
    left_out = Counter(line["task_id"] for line in lines if line["task_id"] in quarantined)
    return {
        "schema": SCHEMA,
        "name": name,
        "census": {
            "planned": len(lines),
            "recorded": len(lines) - missing,
            "missing": missing,
            "rejected_rows": rejected,
            "complete": missing == 0,
        },
        "outcomes": {outcome.value: outcomes[outcome.value] for outcome in Outcome},
        "arms": {arm: _arm([x for x in counted if x["arm"] == arm]) for arm in dict.fromkeys(x["arm"] for x in lines)},
        "quarantined": [
            {"task_id": task, "planned": planned, "reasons": list(quarantined[task])}
            for task, planned in left_out.items()
        ],
        "flaky": flaky(lines),
        "cost": _cost(costs, prices),
        "phases": _phases(executions),
        "wall_seconds": round(wall_seconds, 3),
    }


def _arm(lines: Sequence[Row]) -> dict[str, Any]:
    seeds = sorted({line["seed"] for line in lines})
    return {
        **_rate(lines),
        "tasks": len({line["task_id"] for line in lines}),
        "seeds": {str(seed): _rate([x for x in lines if x["seed"] == seed]) for seed in seeds},
    }


def _rate(lines: Sequence[Row]) -> dict[str, Any]:
    """Counts, and the resolve rate: a point with its Wilson interval, or bounds when something is missing."""
    planned = len(lines)
    resolved = sum(line["outcome"] == Outcome.RESOLVED.value for line in lines)
    missing = sum(line["outcome"] == Outcome.MISSING.value for line in lines)
    complete = missing == 0 and planned > 0
    return {
        "planned": planned,
        "resolved": resolved,
        "missing": missing,
        "outcomes": dict(sorted(Counter(line["outcome"] for line in lines).items())),
        "rate": resolved / planned if complete else None,
        "wilson_95": list(wilson(resolved, planned) or ()) if complete else None,
        "bounds": [resolved / planned, (resolved + missing) / planned] if planned else None,
    }


def flaky(lines: Iterable[Row]) -> list[dict[str, Any]]:
    """Candidates whose repeats disagree."""
    by_candidate: dict[tuple[str, str, int], list[str]] = {}
    for line in lines:
        if line["outcome"] != Outcome.MISSING.value:
            by_candidate.setdefault((line["task_id"], line["arm"], line["seed"]), []).append(line["outcome"])
    return [
        {"task_id": task, "arm": arm, "seed": seed, "outcomes": dict(Counter(found))}
        for (task, arm, seed), found in by_candidate.items()
        if len(set(found)) > 1
    ]


def _cost(rows: Iterable[CostRow], prices: PriceTable) -> dict[str, Any]:
    """LLM and compute apart; spent (what was paid) beside attributed (what each candidate would have cost alone).

    Dollars that nobody knows are null, never zero; `unpriced` counts the rows that the others leave out.
    """
    found: dict[str, list[tuple[Spend, int | None]]] = {}
    for row in rows:
        kind = Kind.LLM if row.kind is RowKind.LLM else Kind.COMPUTE
        name = f"{row.task_id}, arm {row.arm}, seed {row.seed}"
        found.setdefault(row.kind.value, []).append((row.spend, priced(kind, row.spend, prices, None, name=name)[1]))
    kinds = {kind: _total(Total.of(some)) for kind, some in found.items()}
    unpriced = kinds.get(RowKind.LLM.value, {}).get("unpriced", 0)
    return {"kinds": kinds, "llm_rows_without_dollars": unpriced, "prices": [Path(file).name for file in prices.files]}


def _total(total: Total) -> dict[str, Any]:
    return {
        "rows": total.rows,
        "tokens": total.tokens,
        "calls": total.calls,
        "cpu_seconds": round(total.cpu_seconds, 3),
        "wall_seconds": round(total.wall_seconds, 3),
        "micro_dollars": total.micro_dollars if total.unpriced < total.rows else None,
        "unpriced": total.unpriced,
    }


def _phases(executions: Iterable[Row]) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {}
    for row in executions:
        for phase, value in json.loads(row["phases"] or "{}").items():
            seconds.setdefault(phase, []).append(value)
    return {
        phase: {
            "total_s": round(sum(values), 3),
            "p50_s": round(quantile(values, 0.5) or 0.0, 4),
            "p95_s": round(quantile(values, 0.95) or 0.0, 4),
        }
        for phase, values in seconds.items()
    }


def live_counts(reader: LedgerReader) -> dict[str, Any]:
    """What a run's ledger holds now, also while the run goes on."""
    from cluster.ledger.summary import summarise as summarise_ledger  # noqa: PLC0415 - Arrow takes a while to load

    found = summarise_ledger(reader)
    planned = None
    for row in reader.rows("event", ["name", "data"]):
        if row["name"] == "run.planned":
            planned = json.loads(row["data"])["units"]
    by_outcome: Counter[str] = Counter()
    for entry in found.outcomes:
        by_outcome[entry.outcome] += entry.count
    return {
        "planned": planned,
        "recorded": sum(by_outcome.values()),
        "outcomes": dict(sorted(by_outcome.items())),
        "executions": found.rows["execution"],
        "attempts": found.rows["attempt"],
        "first_at": found.first_at,
        "last_at": found.last_at,
    }


def execution_of(reader: LedgerReader, key: str | None) -> dict[str, Any] | None:
    """The execution row of a key: the first, as everywhere; None when there is none."""
    if key is None:
        return None
    return next(iter(reader.find("execution", "execution_key", key)), None)
