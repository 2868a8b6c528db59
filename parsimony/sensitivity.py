"""How much scores depend on choices and on luck: a grid over weights and cap, and a paired bootstrap over tasks.

It covers neither the panel's composition nor how tasks were selected. Every candidate must be measured in full on
every task of the panel; an entry with bounds has no single value that could be varied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parsimony.errors import InputError
from parsimony.measurements import Evaluation, Record, by_agent
from parsimony.modulecommand import DONE, RECORDS_HELP, count, parser, read_all, run, write_json
from parsimony.resampling import TIE, Floats, interval_95, mean_draws
from parsimony.scoring import Panel, floored, measured_in_full, units
from parsimony.scoring.commands import read_panel

STATUS: Final = "beta-exploratory-conditional-on-fixed-tasks-and-reference-panel"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One choice of what the rule leaves to preference."""

    net_weight: float
    churn_weight: float
    failure_cap: int
    net_floor: int | None = None

    @property
    def name(self) -> str:
        """As results name it."""
        floor = "" if self.net_floor is None else f",net_floor={self.net_floor}"
        return f"net={self.net_weight:g},failure_cap={self.failure_cap}{floor}"


BASELINE: Final = Scenario(0.8, 0.2, 25)
GRID: Final = (
    BASELINE,
    Scenario(0.5, 0.5, 25),
    Scenario(0.7, 0.3, 25),
    Scenario(1, 0, 25),
    Scenario(0.8, 0.2, 10),
    Scenario(0.8, 0.2, 50),
    Scenario(0.8, 0.2, 25, net_floor=0),
)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Per (task, agent): was it solved, and the parts of its value for net and for churn, before any weight."""

    solved: NDArray[np.bool_]
    net: Floats
    churn: Floats

    def scores(self, scenario: Scenario) -> Floats:
        blended = scenario.net_weight * self.net + scenario.churn_weight * self.churn
        return np.where(self.solved, 1 + 99 * blended, -scenario.failure_cap * blended)


def sensitivity(panel: Panel, records: Sequence[Record], *, draws: int = 2000, seed: int = 42) -> dict[str, object]:
    """Mean scores of every agent in each scenario (best first), and a 95 % interval of the baseline's mean.

    `top_frequency` is the share of draws in which an agent has the best mean; agents within 1e-12 share a draw.

    Args:
        draws: of all tasks with replacement, the same ones for every agent.

    Raises:
        InputError: there is no candidate, or one has no measured success or known failure on a task of the panel.
    """
    agents = by_agent(records)
    if not agents:
        raise InputError("there is no candidate", mend="give results of `parsimony analyze`")
    for agent, tasks in agents.items():
        for task in panel.tasks:
            _require_value(panel, agent, task, tasks.get(task))
    parts = {floor: _parts(panel, agents, floor) for floor in {scenario.net_floor for scenario in GRID}}
    baseline = parts[BASELINE.net_floor].scores(BASELINE)
    return {
        "bootstrap": _bootstrap(list(agents), baseline, draws, seed),
        "draws": draws,
        "scenario_scores": {
            scenario.name: _ranked(agents, parts[scenario.net_floor].scores(scenario)) for scenario in GRID
        },
        "seed": seed,
        "status": STATUS,
        "task_count": len(panel.tasks),
    }


def _require_value(panel: Panel, agent: str, task: str, record: Record | None) -> None:
    if record is None:
        raise InputError(f"{agent} has no record of {task}", mend="measure every task of the panel")
    panel.require_comparable(record)
    mend = "leave the agent out, or use `python -m parsimony.scoring ranks`, which takes bounds"
    if record.evaluation not in {Evaluation.RESOLVED, Evaluation.FAILED}:
        raise record.error(f"is {record.evaluation}, neither resolved nor known to have failed", mend)
    metrics = measured_in_full(record)
    if metrics is None:
        raise record.error(f"has no complete measurement ({record.analysis_status})", mend)
    if metrics.out_of_scope:
        raise record.error("touches only files that are out of scope", mend)
    if not panel.tasks[task]:
        raise record.error("is on a task without references", mend)


def _parts(panel: Panel, agents: Mapping[str, Mapping[str, Record]], net_floor: int | None) -> _Parts:
    shape = len(panel.tasks), len(agents)
    solved, net, churn = np.zeros(shape, dtype=np.bool_), np.zeros(shape), np.zeros(shape)
    for row, task in enumerate(panel.tasks):
        scale = panel.scale(task, net_floor=net_floor)
        assert scale is not None
        for column, tasks in enumerate(agents.values()):
            record = tasks[task]
            assert record.metrics is not None
            delta, moved = units(record.metrics)
            delta = floored(delta, net_floor)
            solved[row, column] = record.resolved
            found = scale.percentiles(delta, moved) if record.resolved else scale.burdens(delta, moved)
            net[row, column], churn[row, column] = found
    return _Parts(solved, net, churn)


def _ranked(agents: Mapping[str, object], scores: Floats) -> dict[str, float]:
    means = dict(zip(agents, scores.mean(axis=0).tolist(), strict=True))
    return dict(sorted(means.items(), key=lambda one: (-one[1], one[0])))


def _bootstrap(agents: Sequence[str], scores: Floats, draws: int, seed: int) -> dict[str, object]:
    means = mean_draws(scores, draws, seed)
    on_top = np.abs(means - means.max(axis=1, keepdims=True)) <= TIE
    frequency = (on_top / on_top.sum(axis=1, keepdims=True)).mean(axis=0)
    lower, upper = interval_95(means)
    return {
        agent: {
            "score_ci_95": [float(lower[column]), float(upper[column])],
            "top_frequency": float(frequency[column]),
        }
        for column, agent in enumerate(agents)
    }


def main(words: Sequence[str]) -> int:
    """The command."""
    command = parser(
        "parsimony.sensitivity", __doc__, "  python -m parsimony.sensitivity panel.json results.jsonl --output out.json"
    )
    command.add_argument("panel", metavar="PANEL", help="a panel of `python -m parsimony.scoring freeze`")
    command.add_argument("records", metavar="RECORDS", nargs="+", help=RECORDS_HELP)
    command.add_argument("--draws", type=count, default=2000, help="draws of tasks (default 2000)")
    command.add_argument("--seed", type=int, default=42, help="of the draws (default 42)")
    command.add_argument("--output", metavar="FILE", help="where the JSON goes (default: stdout)")
    options = command.parse_args(words)
    panel, sha256 = read_panel(options.panel)
    records, _ = read_all(options.records)
    found = sensitivity(panel, records, draws=options.draws, seed=options.seed)
    write_json({**found, "panel_sha256": sha256}, options.output)
    return DONE


if __name__ == "__main__":
    run(main)
