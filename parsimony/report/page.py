"""The report page: numbers come from the summary and the outcome lines, the look from `page.html.j2`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.report import graded_footprints, plots
from parsimony.sets import NO_LEDGER, Decision, refused

Line = Mapping[str, Any]

LISTED: Final = 300
"""How many candidates without a verdict of `resolved` the page explains; all of them are in outcomes.jsonl."""
MATRIX: Final = 400
"""How many tasks the matrix shows."""


def write_report(
    path: Path,
    summary: Mapping[str, Any],
    lines: Sequence[Line],
    footprints: Sequence[Line] = (),
    claim: Decision | None = None,
) -> None:
    """Write the page of a run to `path`, by rename.

    Args:
        summary: of summary.json. lines: of outcomes.jsonl. footprints: of footprints.jsonl.
        claim: whether its rates may be called generalization; without one the page refuses the word.
    """
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "percent": _percent,
        "seconds": _seconds,
        "mib": _mib,
        "plain": _plain,
        "units": _units,
        "ratio": _ratio,
    }
    page = environment.get_template("page.html.j2").render(
        summary=summary,
        arms=list(summary["arms"]),
        rates=plots.rates(summary["arms"]),
        outcomes=plots.outcomes(summary["arms"]),
        colours=plots.OUTCOME_COLOURS,
        used=[o for o in plots.OUTCOME_COLOURS if summary["outcomes"].get(o)],
        matrix=_matrix(lines, list(summary["arms"])),
        tasks=len({line["task_id"] for line in lines}),
        explained=_explained(lines),
        listed=LISTED,
        footprints=_footprints(footprints) if summary.get("footprint") else None,
        claim=claim or refused(NO_LEDGER),
        version=__version__,
    )
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.write_text(page, encoding="utf-8", errors="replace")
    fresh.replace(path)


def _matrix(lines: Sequence[Line], arms: Sequence[str]) -> list[tuple[str, list[list[Line]]]]:
    """Tasks in their order, each with the lines of every arm by seed and repeat."""
    rows: dict[str, dict[str, list[Line]]] = {}
    for line in lines:
        rows.setdefault(line["task_id"], {arm: [] for arm in arms})[line["arm"]].append(line)
    ordered = [
        (task, [sorted(by_arm[arm], key=lambda x: (x["seed"], x["repeat"])) for arm in arms])
        for task, by_arm in rows.items()
    ]
    return ordered[:MATRIX]


def _explained(lines: Sequence[Line]) -> list[Line]:
    """What did not resolve, the surprising first."""
    order = ["tampered", "missing", "out_of_memory", "timed_out", "does_not_apply", "not_resolved", "empty_patch"]
    others = [line for line in lines if line["outcome"] != "resolved"]
    return sorted(others, key=lambda x: (order.index(x["outcome"]), x["task_id"], x["arm"], x["seed"]))[:LISTED]


def _footprints(raw: Sequence[Line]) -> dict[str, Any] | None:
    if not raw:
        return None
    return {
        "plot": graded_footprints.plot(raw),
        "rows": graded_footprints.by_task(raw),
        "most": graded_footprints.MOST_TASKS,
    }


def _units(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}".removesuffix(".0")


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"× {value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"


def _mib(value: int | None) -> str:
    return "–" if value is None else f"{value / (1 << 20):,.0f} MiB"


def _plain(outcome: str) -> str:
    return outcome.replace("_", " ")
