"""The footprint page: scores against a panel beside the footprints they come from, task by task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.footprint.leaderboard import SOLVED_MEANS, means
from parsimony.measurements import Record, by_agent
from parsimony.report import footprint_plots as plots
from parsimony.scoring import SCORE_VERSION, AgentScore, Panel, State, TaskScore, rank_intervals, score

MATRIX: Final = 400
"""How many tasks the matrix shows."""
TOLD: Final = 12
"""How many tasks of each agent are told at each end of its contributions."""


def footprint_page(
    panel: Panel, records: Sequence[Record], *, panel_sha256: str, draws: int = 2000, seed: int = 42
) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        records: of the candidates; tasks beside the panel are left out.
        panel_sha256: hex, of the panel's file.
        draws, seed: of the paired bootstrap over tasks.

    Raises:
        InputError: as `parsimony.scoring.score`.
    """
    scores = score(panel, records)
    inside = [record for record in records if record.task_id in panel.tasks]
    rows = _rows(scores, rank_intervals(scores, draws=draws, seed=seed), means(inside, draws=draws, seed=seed))
    known = by_agent(inside)
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"percent": _percent, "number": _number, "plain": _plain}
    return environment.get_template("footprint.html.j2").render(
        panel=panel,
        panel_sha256=panel_sha256,
        references=sum(len(one) for one in panel.tasks.values()),
        uncalibrated=sum(not one for one in panel.tasks.values()),
        score_version=SCORE_VERSION,
        ordering=SOLVED_MEANS,
        rows=rows,
        complete=sum(row["score"] is not None for row in rows),
        draws=draws,
        seed=seed,
        plots={
            "ranks": plots.ranks(rows),
            "score_by_rate": plots.score_by_rate(rows),
            "footprint_by_rate": plots.footprint_by_rate(rows),
            "states": plots.states(rows),
        }
        if rows
        else {},
        colours=plots.STATE_COLOURS,
        used=[state for state in plots.STATE_COLOURS if any(row["states"].get(state) for row in rows)],
        matrix=_matrix(panel, scores),
        contributions=[(row.agent, _contributions(row, known.get(row.agent, {}))) for row in scores],
        version=__version__,
    )


def _rows(
    scores: Sequence[AgentScore], ranked: Sequence[Mapping[str, object]], board: Sequence[Mapping[str, object]]
) -> list[dict[str, Any]]:
    """One row an agent in the order of scores, with score, rank and footprint."""
    footprints = {row["agent"]: row for row in board}
    absent = {"mean_net_units": None, "mean_churn": None, "measured_tasks": 0, "attempts": 0, "coverage": None}
    rows = []
    for row, place in zip(scores, ranked, strict=True):
        footprint = footprints.get(row.agent, absent)
        rows.append(
            {
                **{name: footprint[name] for name in absent},
                **place,
                "resolve_rate": row.published_resolve_rate,
                "rate": shown_rate(row),
                "success_credit": row.success_credit,
                "failure_penalty": row.failure_penalty,
                "scored_tasks": row.scored_tasks,
                "states": Counter(task.state.value for task in row.tasks.values()),
            }
        )
    return rows


def shown_rate(row: AgentScore) -> float | None:
    """The published resolve rate, else that of the panel's tasks as far as their outcomes are known."""
    if row.published_resolve_rate is not None:
        return row.published_resolve_rate
    known = [task for task in row.tasks.values() if task.state is not State.UNKNOWN]
    return sum(task.state is State.RESOLVED for task in known) / len(known) if known else None


def _matrix(panel: Panel, scores: Sequence[AgentScore]) -> list[tuple[str, int, list[tuple[str, str, str]]]]:
    """Per task: its id, its number of references, and (agent, colour, what is known) of each agent by score."""
    return [
        (task, len(references), [(row.agent, _colour(row.tasks[task]), _told(row.tasks[task])) for row in scores])
        for task, references in list(panel.tasks.items())[:MATRIX]
    ]


def _colour(task: TaskScore) -> str:
    if task.state is State.RESOLVED and task.score is not None:
        return plots.success_colour(task.score)
    return plots.STATE_COLOURS[task.state.value]


def _told(task: TaskScore) -> str:
    if task.score is not None:
        return f"{_plain(task.state.value)}: {_number(task.score)}"
    return f"{_plain(task.state.value)}: between {task.lower} and {task.upper}"


def _contributions(row: AgentScore, records: Mapping[str, Record]) -> dict[str, Any]:
    """The tasks that brought an agent most and least, each with its footprint and its part of the score."""
    lines = [_contribution(name, task, len(row.tasks), records.get(name)) for name, task in row.tasks.items()]
    known = sorted(
        (line for line in lines if line["score"] is not None), key=lambda line: (-line["score"], line["task"])
    )
    unknown = [line for line in lines if line["score"] is None]
    if len(known) > 2 * TOLD:
        return {"first": known[:TOLD], "left_out": len(known) - 2 * TOLD, "last": known[-TOLD:], "unknown": unknown}
    return {"first": known, "left_out": 0, "last": [], "unknown": unknown}


def _contribution(name: str, task: TaskScore, tasks: int, record: Record | None) -> dict[str, Any]:
    metrics = record.measured if record is not None else None
    return {
        "task": name,
        "state": task.state.value,
        "score": task.score,
        "lower": task.lower,
        "upper": task.upper,
        "part": None if task.score is None else task.score / tasks,
        "net": metrics.net_units if metrics is not None else None,
        "churn": metrics.churn if metrics is not None else None,
        "net_percentile": task.parts.get("net_percentile"),
        "churn_percentile": task.parts.get("churn_percentile"),
        "status": record.analysis_status if record is not None else "no record",
    }


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _number(value: float | None, digits: int = 2) -> str:
    if value is None:
        return "–"
    # No "-0.00": a failure that left nothing behind costs nothing.
    return f"{value:,}" if isinstance(value, int) else f"{round(value, digits) + 0.0:,.{digits}f}"


def _plain(state: str) -> str:
    return state.replace("_", " ")
